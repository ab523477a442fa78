"""Payloads of a day at a course, and steps of a pipeline: time, pauses, closings, watched names, counts."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import event, select

from bot.channels import watches
from bot.channels.conditions.choices import MEETINGS
from bot.channels.watches import WatchedName
from bot.db.engine import database_now
from bot.db.tables import OutboxMessage, WatchKind
from bot.events.event import Topic
from bot.operations.jobs import routine_jobs
from bot.outbox import ledger
from bot.outbox.held_channels import close_channel, pause_channel
from tests.clock import DAY, now, set_ahead


def result(race_id="rc_1", *, placings=("Blue Moon", "Red Sky"), **race):
    runners = [{"position": place, "horse": horse} for place, horse in enumerate(placings, start=1)]
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "result.received", "race": race | ({"runners": runners} if runners else {})}


def abandonment(race_id="rc_1", *, reason="frost", **race):
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "race.abandoned", "race": race, "reason": reason}


def meeting(*race_ids, meeting_id="mt_1", reason="frost", **more):
    card = {"meeting_id": meeting_id, "course": "Ascot", "date": DAY, "region": "GB"} | more
    races = [{"race_id": race_id, "title": f"Title {race_id}"} for race_id in race_ids]
    return {"event": "meeting.abandoned", "meeting": card, "reason": reason} | ({"races": races} if races else {})


async def tell_two_in_ireland(pipeline):
    """Two abandonments of one fan-out. Fan-out claims no second message of a channel: a claim of all channels does."""
    for race_id, off in (("rc_i", "14:30"), ("rc_j", "15:00")):
        await pipeline.deliver(abandonment(race_id, region="IRE", course="Cork", off_time=off))
    await pipeline.post_all()


async def tell(pipeline, *payloads):
    """Deliver each payload, and post every message before the next payload."""
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
        await pipeline.post_all()


def shown(message):
    """The text and the blocks of a message."""
    return f"{message.text}\n{message.blocks}"


def edits(slack):
    """The number of edited messages, by the calls."""
    return [call for call in slack.calls if call.method == "chat.update" and call.ok]


CALLS = {"post": "chat.postMessage", "edit": "chat.update", "look": "conversations.history"}
"""Kinds of calls of Slack, each in a word."""

WORDS = {method: word for word, method in CALLS.items()} | {"conversations.replies": "thread"}


async def wait(pipeline, seconds):
    """Time passes, by the clock of the database too, and no loop has a turn."""
    clock = pipeline.clock
    if not pipeline.database.is_sqlite:
        # The server's clock goes on by itself.
        clock.now = max(clock.now, await pipeline.database.read(lambda session: database_now(session, clock)))
    clock.forward(seconds)
    await set_ahead(pipeline.database, clock.now - now())


async def turns(pipeline, seconds):
    """Time passes, with a turn of the poster whenever work is due. Second → the calls of Slack."""
    begun, calls = pipeline.clock.now, pipeline.slack.calls
    end = begun + timedelta(seconds=seconds)
    asked: dict[float, str] = defaultdict(str)
    while True:
        before = len(calls)
        due = await pipeline.post_all()
        second = round((pipeline.clock.now - begun).total_seconds(), 1)
        asked[second] += " ".join(WORDS.get(call.method, call.method) for call in calls[before:])
        if due is None or due > end:
            break
        await wait(pipeline, max(0.001, (due - pipeline.clock.now).total_seconds()))
    await wait(pipeline, (end - pipeline.clock.now).total_seconds())
    return dict(asked)


async def step(pipeline, times=1):
    """Begin all due work, and carry the work out to the end."""
    for _ in range(times):
        await pipeline.poster.start_due()
        await pipeline.poster.finish()


def fail(pipeline, **scripts):
    """Slack's answers to the next calls of each kind; a single failure counts for all calls."""
    for word, script in scripts.items():
        always = None if isinstance(script, list) else script
        pipeline.slack.script(CALLS[word], script if always is None else [], then_always=always)


def count(pipeline, word):
    """How often Slack was asked."""
    return sum(WORDS.get(call.method) == word for call in pipeline.slack.calls)


async def write(pipeline, work, *what, **how):
    """Carry `work` out in a separate transaction."""
    return await pipeline.database.write(lambda session: work(session, *what, **how))


async def fan_out(pipeline, *payloads):
    """Deliver the payloads, and fan out once, without a post."""
    for payload in payloads:
        await pipeline.deliver(payload)
    await pipeline.fanout.run_once()


async def pause(pipeline, channel_id="CGB", until=None):
    return await write(pipeline, pause_channel, channel_id, until, pipeline.clock())


async def close(pipeline, channel_id="CGB", why="is_archived"):
    await write(pipeline, close_channel, pipeline.notices, channel_id, why, pipeline.clock())


async def resume(pipeline, channel_id="CGB"):
    await write(pipeline, pipeline.reopening.resume, channel_id, pipeline.clock())
    await pipeline.post_all()


async def reopen(pipeline, channel_id="CGB"):
    started = await write(pipeline, pipeline.reopening.reopen, channel_id, pipeline.clock())
    await pipeline.post_all()
    return started


async def run_job(job, database):
    """The number of changes. Where the job's look finds nothing, the run must change nothing."""
    finds = await database.read(job.look)
    changed = await job.run()
    assert finds or not changed
    return changed


KEEP_HOURS = 72


async def expire(pipeline, hours=KEEP_HOURS):
    """Run the job that gives up messages after so many hours in a closed or paused channel. Returns their number."""
    return await routine_jobs.expire_queue(pipeline.database, pipeline.notices, hours, pipeline.clock).run()


async def tell_due(pipeline):
    """Runs the job `tell_due`. The number of told channels."""
    job = routine_jobs.tell_due(pipeline.database, pipeline.reopening, pipeline.clock, pipeline.poster.wake)
    told = await run_job(job, pipeline.database)
    await pipeline.post_all()
    return told


async def watch(pipeline, channel_id, *names, kind=WatchKind.HORSE, person_id=None):
    if channel_id not in pipeline.slack.channels and person_id is None:
        pipeline.slack.add_channel(channel_id, channel_id.lower())
    chosen = [WatchedName(kind, name) for name in names]
    await write(pipeline, watches.add, channel_id, chosen, user_id="U1", now=pipeline.clock(), person_id=person_id)
    pipeline.clock.forward(1)


async def traced(pipeline, wanted="rc_1", channel_id=None):
    return await pipeline.database.read(
        lambda s: ledger.trace(s, wanted, database_now(s, pipeline.clock), channel_id=channel_id)
    )


async def posts(pipeline, channel_id="CGB"):
    """All rows of a channel's messages, by the order of making."""

    def read(session):
        return list(session.execute(select(OutboxMessage).order_by("id")).scalars())

    return [post for post in await pipeline.database.read(read) if post.channel_id == channel_id]


async def states(pipeline, channel_id="CGB"):
    return [post.state for post in await posts(pipeline, channel_id)]


def kinds(pipeline, channel_id="CGB"):
    """The first word of each message after the lines of a watch: Result, ABANDONED, Racecard."""
    return [re.sub("^⭐ .*?[.] (?=Result|Racecard)", "", text).split(":")[0] for text in pipeline.texts(channel_id)]


async def show_meetings(pipeline, channel_id="CGB"):
    """The channel has live messages, with results in their threads."""
    await pipeline.subscribe(channel_id, "GB", frozenset(Topic), show=(MEETINGS,))


def flat_and_threads(pipeline, channel_id="CGB"):
    """The texts in the channel, and the texts in threads."""
    messages = pipeline.slack.messages(channel_id)
    return [one.text for one in messages if not one.thread_ts], [one.text for one in messages if one.thread_ts]


LEFT = timedelta(hours=2)
"""Until the channel's hour: the end of quiet hours, a digest, an eve."""


def quiet_now(pipeline):
    """Quiet hours around the present moment, by UTC."""
    return (f"{pipeline.clock() - timedelta(hours=1):%H:%M}-{pipeline.clock() + LEFT:%H:%M}",)


def hour(pipeline):
    """The time of day (UTC) when the wait is over."""
    return f"{pipeline.clock() + LEFT:%H:%M}"


async def at_the_hour(pipeline):
    """Runs the job at the channel's hour. The number of told channels."""
    await wait(pipeline, LEFT.total_seconds())
    return await tell_due(pipeline)


def card(course="York", **race):
    race = {"race_id": "rc_9", "course": course, "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "racecard.published", "meeting_id": "mt_9", "race": race}


def card_of(date, course="Ascot", meeting_id="mt_1", **second):
    """The card of a meeting on a day; with `second`, of two races."""
    races = [{"race_id": f"rc_{meeting_id}", "off_time": "14:30"}]
    races += [{"race_id": f"rc_{meeting_id}_2", "off_time": "15:00"} | second] if second else []
    meeting = {"meeting_id": meeting_id, "course": course, "date": date, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": meeting}


# Counts of statements, with BEGIN and SAVEPOINT, and counts of commits


@dataclass
class Counted:
    """The statements of a database."""

    statements: list[str] = field(default_factory=list)
    commits: int = 0

    def __str__(self) -> str:
        """Each statement's beginning, for whoever reads a failure."""
        head = f"{len(self.statements)} statements, {self.commits} commits:"
        return "\n".join([head, *(statement[:100] for statement in self.statements)])


@contextmanager
def counting(database) -> Iterator[Counted]:
    """Count the driver's statements. A statement for many rows counts once."""
    counted = Counted()

    def executed(_connection, _cursor, statement, _values, _context, _many):
        counted.statements.append(" ".join(statement.split()))

    def begun(_connection):
        counted.statements.append("BEGIN")

    def committed(_connection):
        counted.commits += 1

    listeners: list[tuple[str, Any]] = [("before_cursor_execute", executed), ("begin", begun), ("commit", committed)]
    engines = (database.writer, database._reader)
    for engine in engines:
        for name, listener in listeners:
            event.listen(engine, name, listener)
    yield counted
    for engine in engines:
        for name, listener in listeners:
            event.remove(engine, name, listener)

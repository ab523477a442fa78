"""Stories: what happens, step by step, and which messages stand in the channels at the end.

A step is a delivery, which is posted before the next step; a tuple of deliveries, which are posted together; or a
function of this file. A message is described by parts, as "^Result: Ascot | 1 Blue Moon | +Class 4 | !Soft":

- `^Result`: the text begins so, an edit's mark left out
- `1 Blue Moon`: the text contains the words
- `+Class 4`: the text or the blocks contain the words
- `!Soft`: neither contains the words
- `>2`: the text or the blocks link the channel's second message, after the step `links`
- `~2`: the message is in the thread of the channel's second message; without such a part the message is in the channel
- `@14:30 15:05`: the live message has lines of the races at these times alone
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from bot.channels import subscriptions
from bot.db.tables import Acknowledgement
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race
from bot.outbox import acknowledgements, backlog, escalations
from bot.racedata import lexicon, race_book_store
from bot.racedata.client.records import KnownCourse
from sandbox.slack import failures
from sandbox.slack.failures import Failure
from tests.clock import DAY
from tests.integration.pipeline.steps import CALLS, hour, quiet_now, resume, shown, wait, write
from tests.integration.pipeline.steps import edits as edits_of
from tests.said import as_posted

REGIONS = {"CGB": "GB", "CIRE": "IRE", "CALL": "*"}
"""Each channel's subscription, unless a step subscribes the channel."""

Step = Any
Do = Callable[[Any], Awaitable[Any]]


class Story:
    """`stands`: for each channel the messages at the end. `edits`: how many edits Slack carried out.

    `waiting`: at the end, how many messages of each state wait or are given up. A channel of `stands` and of REGIONS is
    subscribed at the beginning, unless the `channels` of a step have the channel.
    """

    def __init__(
        self, *steps: Step, edits: int | None = None, waiting: Mapping[str, int] | None = None, **stands: Sequence[str]
    ) -> None:
        self.steps = steps
        self.end = so_far(edits=edits, waiting=waiting or {}, **stands)
        self.channels = (REGIONS.keys() & stands.keys()) - {
            one for step in steps for one in getattr(step, "channels", ())
        }


def rows(stories: Mapping[str, Story], *on_both: str) -> Any:
    """A row for each story on SQLite; on PostgreSQL too for the names `on_both`."""
    cases = [("sqlite", name) for name in stories] + [("postgresql", name) for name in on_both]
    params = [
        pytest.param(engine, stories[name], id=name if engine == "sqlite" else f"{name}, {engine}")
        for engine, name in cases
    ]
    return pytest.mark.parametrize(("database", "story"), params, indirect=["database"])


async def play(pipeline: Any, story: Story) -> None:
    for channel in story.channels:
        await pipeline.subscribe(channel, REGIONS[channel])
    await take(pipeline, *story.steps, story.end)


async def take(pipeline: Any, *steps: Step) -> None:
    for step in steps:
        if callable(step):
            await step(pipeline)
            continue
        for delivery in step if isinstance(step, tuple) else (step,):
            await pipeline.deliver(delivery)
            pipeline.clock.forward(0.001)
        await pipeline.post_all()


def so_far(*, edits: int | None = None, waiting: Mapping[str, int] | None = None, **stands: Sequence[str]) -> Do:
    async def do(pipeline: Any) -> None:
        faults = [fault for channel, all_parts in stands.items() for fault in _faults(pipeline, channel, all_parts)]
        assert not faults, faults
        counted = len(edits_of(pipeline.slack)), await pipeline.waiting()
        wanted = counted[0] if edits is None else edits, counted[1] if waiting is None else waiting
        assert counted == wanted, counted

    return do


def _faults(pipeline: Any, channel: str, described: Sequence[str]) -> Iterator[str]:
    messages = pipeline.slack.messages(channel)
    if len(messages) != len(described):
        yield f"{channel} has {[message.text for message in messages]}"
        return
    by_ts = {message.ts: message for message in messages}
    for message, parts in zip(messages, described, strict=True):
        replies_to = messages.index(by_ts[message.thread_ts]) + 1 if message.thread_ts else None
        thread = next((int(part[1:]) for part in parts.split(" | ") if part.startswith("~")), None)
        if replies_to != thread:
            yield f"{channel}: {message.text} is in the thread of {replies_to}"
        for part in filter(None, parts.split(" | ")):
            if not _holds(message, part, messages):
                yield f"{channel}: {part!r} of {shown(message)}"


def _holds(message: Any, part: str, messages: Sequence[Any]) -> bool:
    sign, words = part[0], part[1:]
    if sign == "^":
        return message.text.startswith(words) or as_posted(message.text).startswith(words)
    if sign == ">":
        return messages[int(words) - 1].ts.replace(".", "") in shown(message)
    if sign == "~":
        return True
    if sign == "@":
        lines = [line for block in message.blocks for line in block["text"]["text"].split("\n")]
        return [line.split(" ")[0] for line in lines if line[:1].isdecimal()] == words.split(" ")
    if sign in "+!":
        return (words in shown(message)) == (sign == "+")
    return part in message.text


async def links(pipeline: Any) -> None:
    """From here on messages link each other."""
    pipeline.poster.claim_sender.render.identity.workspace_url = "https://example.slack.com/"


async def unsubscribes(pipeline: Any) -> None:
    """The channel, from all that waits too."""

    def stop(session: Any) -> None:
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", pipeline.clock())
        pipeline.reopening.resume(session, "CGB", pipeline.clock())

    await pipeline.database.write(stop)
    await pipeline.post_all()


async def resumes(pipeline: Any) -> None:
    """Resumes late: a summary has the waiting messages."""
    await wait(pipeline, 4 * 3_600)
    await resume(pipeline)


def subscribes(channel: str, region: str | None = None, *topics: Any, **filters: Any) -> Do:
    async def do(pipeline: Any) -> None:
        chosen = {"topics": frozenset(topics)} if topics else {}
        await pipeline.subscribe(channel, region or REGIONS[channel], **chosen, **filters)

    do.channels = {channel}  # type: ignore[attr-defined]
    return do


def chooses(choice: str, region: str = "GB", **more: Any) -> Do:
    """CGB has events wait until an hour, two hours from now. `choice`: quiet, digest or cards."""

    async def do(pipeline: Any) -> None:
        hours = {"quiet": quiet_now(pipeline)} if choice == "quiet" else {choice: (hour(pipeline),)}
        await pipeline.subscribe("CGB", region, frozenset(Topic), **hours, **more)

    do.channels = {"CGB"}  # type: ignore[attr-defined]
    return do


def does(step: Callable[..., Awaitable[Any]], *what: Any, gives: Any = ..., **how: Any) -> Do:
    """A function of a pipeline as a step. `gives`: the result that the function must have."""

    async def do(pipeline: Any) -> None:
        done = await step(pipeline, *what, **how)
        assert gives is ... or done == gives, (step.__name__, done)

    return do


def goes_on(seconds: float) -> Do:
    """Time passes for the bot."""

    async def do(pipeline: Any) -> None:
        pipeline.clock.forward(seconds)

    return do


def is_stored(payload: Any) -> Do:
    """A delivery is stored and answered. Then the process dies."""

    async def do(pipeline: Any) -> None:
        await pipeline.deliver(payload)

    return do


def passes(seconds: float) -> Do:
    async def do(pipeline: Any) -> None:
        await wait(pipeline, seconds)
        await pipeline.post_all()

    return do


def slack_answers(method: str, *codes: str | Failure, always: str | None = None) -> Do:
    """To the next calls of a method of METHODS; `always`: to each later call."""
    script = [failures.slack_error(code) if isinstance(code, str) else code for code in codes]
    rest = failures.slack_error(always) if always else None

    async def do(pipeline: Any) -> None:
        pipeline.slack.script(METHODS[method], script, then_always=rest)

    return do


METHODS = CALLS | {"thread": "conversations.replies"}


def bare(event: str = "race.abandoned", race_id: str = "rc_1", **said: Any) -> dict[str, Any]:
    """A delivery that names the race by its id alone."""
    return {"event": event, "race_id": race_id} | said


def listed(race_id: str = "rc_1", *, off: str | None = "14:30", course: str = "Ascot", **more: Any) -> Race:
    """As the data service lists a race."""
    values = {"title": "Title rc_1", "race_date": DAY, "region": "GB", "race_class": "4"} | more
    return Race(race_id=race_id, course=Course(name=course), off=OffTime(text=off), **values)


async def read_list(pipeline: Any, *races: Race, region: str | None = "GB") -> None:
    """The race book reads a list of the data service."""
    await pipeline.database.write(lambda session: race_book_store.put(session, races, pipeline.clock(), region=region))


def lists(*races: Race, region: str | None = "GB") -> Do:
    async def do(pipeline: Any) -> None:
        await read_list(pipeline, *races, region=region)
        await pipeline.post_all()

    return do


GB_ASCOT = KnownCourse(course_id="cr_asc", name="Ascot", region="GB")
AUS_ASCOT = KnownCourse(course_id="cr_aus", name="Ascot", region="AUS")
KEMPTON = KnownCourse(name="Kempton", region="GB")


def knows(*courses: Any, regions: Sequence[str] = ("AUS", "FR", "GB", "IRE"), countries: Sequence[Any] = ()) -> Do:
    """The bot reads the data service's lists of regions, courses and countries."""

    def keep(session: Any, now: Any) -> None:
        if regions:
            lexicon.REGIONS.put(session, regions, now)
        lexicon.COURSES.put(session, courses, now)
        lexicon.COUNTRIES.put(session, countries, now)

    async def do(pipeline: Any) -> None:
        await pipeline.database.write(lambda session: keep(session, pipeline.clock()))

    return do


# A channel that asks for acknowledgements: presses, the job of escalations, and who has an abandonment


TOLD = "Nobody has taken it"
BUTTON = "I have it"
ASKS, SILENT, TAKEN = f"+{BUTTON}", f"!{BUTTON}", f"<@UALICE> has it since | !{BUTTON}"
"""Messages of a story: with the button, without the button, and with the person who has the abandonment."""


def asks(*escalate, channel="CGB", also=(), minutes=10):
    """`also`: channels that are told and not subscribed."""
    do = subscribes(channel, "GB", *Topic, ack=(f"{minutes}m",), escalate=escalate)
    do.channels |= {*also, *escalate}  # type: ignore[attr-defined]
    return do


def later(minutes, steps=...):
    return does(after, minutes, gives=steps)


def acks(*states):
    return does(asked, gives=sorted(states))


def presses(number, user="UALICE", *, finds=None, of="CGB"):
    """A person presses the button that the message has or had. `finds`: the person who has the abandonment already."""

    async def do(pipeline):
        taken = await press(pipeline, pipeline.slack.messages(of)[number - 1], user)
        assert (taken.by, taken.is_news) == (finds or user, finds is None)

    return do


async def ask(pipeline, *escalate, channel_id="CGB", minutes=10):
    await pipeline.subscribe(channel_id, "GB", frozenset(Topic), ack=(f"{minutes}m",), escalate=escalate)
    return pipeline


async def after(pipeline, minutes, absent=()):
    """Run the job so many minutes from now; then post all due messages."""
    at = pipeline.clock() + timedelta(minutes=minutes)
    steps = await write(pipeline, escalations.escalate, at, pipeline.notices, absent)
    await pipeline.post_all()
    return steps


async def press(pipeline, message, user="UALICE"):
    """Press the button below a message, or the button with a key."""
    key = message if isinstance(message, str) else key_in(message) if BUTTON in shown(message) else post_of(message)
    taken = await write(pipeline, acknowledgements.take, key, user, pipeline.clock())
    await pipeline.post_all()
    return taken


async def give_back(pipeline, key, user="UALICE", minutes=0):
    now = pipeline.clock() + timedelta(minutes=minutes)
    given = await write(pipeline, acknowledgements.give_back, key, user, now)
    await pipeline.post_all()
    return given


def key_in(message):
    elements = [element for block in message.blocks for element in block.get("elements", ())]
    (button,) = [one for one in elements if str(one.get("action_id")).startswith("acknowledge:")]
    return button["value"]


def post_of(message):
    """The key of the message's abandonment. The key of an escalation begins with the same key."""
    return message.metadata["event_payload"]["post"].partition("!")[0]


async def asked(pipeline):
    """The states of all acknowledgements, sorted."""

    def read(session):
        return sorted(row.state for row in session.execute(select(Acknowledgement)).scalars())

    return await pipeline.database.read(read)


def messages(pipeline, *channel_ids):
    return [one for channel_id in channel_ids or ("CGB", "CALL") for one in pipeline.slack.messages(channel_id)]


def is_taken(message, by="UALICE"):
    """The message says who has the abandonment, and has no button."""
    return f"<@{by}> has it since" in message.text and BUTTON not in shown(message)


def told(pipeline, channel_id="CALL"):
    """The escalations in a channel."""
    return [one for one in pipeline.slack.messages(channel_id) if TOLD in one.text]

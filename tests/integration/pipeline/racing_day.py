"""Payloads of one day at one course, and what a test asks of the pipeline: shared by the tests of edits."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlmodel import col

from bot.db.tables import ChannelQueue, MethodHold, OutboxMessage
from tests.clock import DAY


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
    """Deliver each, and post all that there is to post before the next."""
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
        await pipeline.post_all()


def shown(message):
    """All that a message shows: its text and its blocks."""
    return f"{message.text}\n{message.blocks}"


def edits(slack):
    """How many messages were edited, by the calls that were carried out."""
    return [call for call in slack.calls if call.method == "chat.update" and call.ok]


async def states(pipeline):
    """The states of all posts, in the order in which they were made."""

    def read(session):
        return [(post.state, post.edits_id is not None) for post in session.execute(_posts()).scalars()]

    return await pipeline.database.read(read)


def _posts():
    return select(OutboxMessage).order_by(col(OutboxMessage.id))


async def free_all(pipeline):
    """As if every wait that was asked for were over."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    def free(session):
        session.execute(update(ChannelQueue).values(next_free_at=long_ago, leased_until=None, lease_token=None))
        session.execute(update(MethodHold).values(until=long_ago))

    await pipeline.database.write(free)


async def past_waits(pipeline, seconds):
    """As if so many seconds had passed, by the clock that is passed in and by PostgreSQL's own."""
    pipeline.clock.forward(seconds)
    long_ago = pipeline.clock.now.replace(year=2020)

    def move(session):
        session.execute(update(ChannelQueue).values(next_free_at=long_ago, leased_until=None, lease_token=None))
        for post in session.execute(select(OutboxMessage).where(col(OutboxMessage.deadline_at).is_not(None))).scalars():
            post.deadline_at -= timedelta(seconds=seconds)

    await pipeline.database.write(move)

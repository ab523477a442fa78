"""How many statements and commits the way of an event costs: counts are the same on every machine."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.outbox.pace import Pace
from tests.databases import on_both
from tests.integration.pipeline.counted import counting
from tests.integration.pipeline.racing_day import abandonment, meeting, result
from tests.integration.pipeline.steps import wait

ALONE_STATEMENTS, ALONE_COMMITS = 14, 3
ABANDONED_STATEMENTS, MEETING_STATEMENTS = 15, 17
"""More, by indexes: what is known of the other races of the meeting, and which of their messages are not sent yet."""

EDIT_STATEMENTS, EDIT_COMMITS = 18, 3
CHANGES = {
    "correction": (result("rc_9"), result("rc_9", placings=("Red Sky", "Blue Moon")), 2, 28, 5),
    "result of an abandoned race": (abandonment("rc_9"), result("rc_9"), 2, 33, 5),
    "meeting after one of its races": (abandonment("rc_9"), meeting(meeting_id="mt_9"), 2, 37, 5),
    "race in its meeting's message": (meeting("rc_9", meeting_id="mt_9"), abandonment("rc_9"), 1, 20, 3),
}
"""Told before, the delivery, the calls, the statements but for BEGIN, and the commits."""

THE_CLOCK = 1
"""On PostgreSQL the look for the second message asks the database for the moment."""

TOGETHER_STATEMENTS, TOGETHER_COMMITS = 14, 3
HUNDRED_STATEMENTS, HUNDRED_COMMITS = 32, 5


@asynccontextmanager
async def running(pipeline, monkeypatch):
    """The loops as the service runs them, once fan-out has looked; neither looks by itself while it is counted."""
    for name in ("bot.fanout.fanout.POLL_S", "bot.outbox.poster.POLL_S"):
        monkeypatch.setattr(name, 3_600.0)
    loops = [asyncio.create_task(pipeline.fanout.run()), asyncio.create_task(pipeline.poster.run())]
    await until(lambda: is_at_rest(pipeline))
    yield
    pipeline.fanout.stop()
    pipeline.poster.stop()
    for loop in loops:
        loop.cancel()


class Slack:
    """Takes every message at once, so that what shares a commit is the same each time."""

    def __init__(self):
        self.taken = 0

    async def post(self, channel_id, message, *, post_key, timeout_s, rev=0, thread_ts=None):
        self.taken += 1
        return f"{self.taken}.0"

    async def update(self, channel_id, message_ts, message, *, post_key, timeout_s, rev=0):
        self.taken += 1


async def told(pipeline, *payloads, posts):
    """Deliver all at the same time, and wait until so many messages are written down as sent."""
    before = pipeline.poster.claim_sender.sender.taken
    await pipeline.deliver_all(*payloads)
    await until(lambda: pipeline.poster.claim_sender.sender.taken == before + posts and not pipeline.poster._under_way)
    await until(lambda: is_at_rest(pipeline))
    # Whatever looks for more afterwards counts too.
    for _ in range(3):
        await asyncio.sleep(0)
        await pipeline.database.write(lambda _: None)


def is_at_rest(pipeline):
    return pipeline.fanout.good_turns > 0 and not pipeline.fanout._is_behind


async def until(holds):
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  the bot tells nobody when it has come to rest
            await asyncio.sleep(0.001)


@pytest.fixture
def paced(make_pipeline):
    """A pipeline that keeps buckets as in production, with room for many posts."""
    made = make_pipeline(pace=Pace(channel_s=0.0, workspace_per_minute=100_000, workspace_burst=1_000))
    made.poster.claim_sender.sender = Slack()
    return made


@pytest.mark.parametrize(
    ("payload", "statements"),
    [
        (result("rc_9"), ALONE_STATEMENTS),
        (abandonment("rc_9"), ABANDONED_STATEMENTS),
        (meeting(meeting_id="mt_9"), MEETING_STATEMENTS),
    ],
)
@on_both
async def test_delivery_that_comes_alone(paced, monkeypatch, payload, statements):
    await paced.subscribe("CGB", "GB")
    async with running(paced, monkeypatch):
        await told(paced, result("rc_0"), posts=1)
        await wait(paced, 2)
        with counting(paced.database) as counted:
            await told(paced, payload, posts=1)
    assert len(counted.statements) <= statements, str(counted)
    assert counted.commits == ALONE_COMMITS, str(counted)


@on_both
async def test_edit_that_comes_alone(paced, monkeypatch):
    await paced.subscribe("CGB", "GB")
    async with running(paced, monkeypatch):
        await told(paced, result("rc_9", going="Good"), posts=1)
        await wait(paced, 2)
        with counting(paced.database) as counted:
            await told(paced, result("rc_9", going="Soft"), posts=1)
    assert len(counted.statements) <= EDIT_STATEMENTS, str(counted)
    assert counted.commits <= EDIT_COMMITS, str(counted)


@pytest.mark.parametrize("change", CHANGES)
@on_both
async def test_delivery_that_changes_earlier_messages(paced, monkeypatch, change):
    earlier, payload, calls, statements, commits = CHANGES[change]
    more = 0 if paced.database.is_sqlite or calls == 1 else THE_CLOCK
    await paced.subscribe("CGB", "GB")
    async with running(paced, monkeypatch):
        await told(paced, earlier, posts=1)
        await wait(paced, 2)
        with counting(paced.database) as counted:
            await told(paced, payload, posts=calls)
    asked = [one for one in counted.statements if not one.startswith("BEGIN")]
    assert len(asked) <= statements + more, str(counted)
    assert counted.commits <= commits, str(counted)


@on_both
async def test_deliveries_that_come_together(paced, monkeypatch):
    """A delivery costs little more than its rows: the statements are one for all."""
    channels = [f"C{number}" for number in range(25)]
    for number, channel_id in enumerate(channels):
        await paced.subscribe(channel_id, f"R{number}")
    async with running(paced, monkeypatch):
        await told(paced, *(result(f"rc_{n}", region=f"R{n}") for n in range(25)), posts=25)
        await wait(paced, 2)
        with counting(paced.database) as counted:
            await told(paced, *(result(f"rc_b{n}", region=f"R{n}") for n in range(25)), posts=25)
    assert counted.commits <= TOGETHER_COMMITS, str(counted)
    assert len(counted.statements) <= TOGETHER_STATEMENTS, str(counted)


@on_both
async def test_event_to_a_hundred_channels(paced, monkeypatch):
    for number in range(100):
        await paced.subscribe(f"C{number}", "GB")
    async with running(paced, monkeypatch):
        await told(paced, result("rc_0"), posts=100)
        await wait(paced, 2)
        with counting(paced.database) as counted:
            await told(paced, result("rc_1"), posts=100)
    assert counted.commits <= HUNDRED_COMMITS, str(counted)
    assert len(counted.statements) <= HUNDRED_STATEMENTS, str(counted)

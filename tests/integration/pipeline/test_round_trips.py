"""How many statements and commits the way of an event costs: counts are the same on every machine."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import combinations, product

import pytest

from bot.deliveries.listed_events import MOST_EVENTS
from bot.events import event_store
from bot.events.event_bounds import EVENT_RACES_MAX, KEPT_ID_MAX
from bot.events.event_store import PLACE_EVENTS_MAX, By
from bot.events.races import Course, Race
from bot.outbox.channel_queues import POST_CALL_S
from bot.outbox.message_store import OVERRAN
from bot.outbox.message_view import MessageView
from bot.outbox.pace import Pace
from bot.outbox.poster import CALLS_AT_ONCE, ROOM_TO_CLAIM
from bot.racedata import race_book_store
from bot.racedata.race_book_store import PLACE_RACES_MAX
from sandbox.slack import failures
from tests.clock import DAY, PATIENCE_S, START
from tests.databases import on_both
from tests.integration.conftest import Pipeline
from tests.integration.pipeline.steps import abandonment, counting, fail, meeting, result, tell, turns, wait
from tests.integration.pipeline.stories import Story, knows, play, so_far, subscribes
from tests.statements import noted, plans_of

GB, REGIONS = {"CGB": "GB"}, {f"C{number}": f"R{number}" for number in range(25)}
FIRST, NEXT = ([result(f"rc_{day}{n}", region=f"R{n}") for n in range(25)] for day in "ab")
COSTS = {
    "result alone": (GB, [result("rc_0")], [result("rc_9")], 1, 14, 3),
    "abandonment alone": (GB, [result("rc_0")], [abandonment("rc_9")], 1, 15, 3),
    # More, by indexes: the known events of the meeting's other races, and the unsent messages of these events.
    "meeting alone": (GB, [result("rc_0")], [meeting(meeting_id="mt_9")], 1, 17, 3),
    "edit": (GB, [result("rc_9", going="Good")], [result("rc_9", going="Soft")], 1, 18, 3),
    "correction": (GB, [result("rc_9")], [result("rc_9", placings=("Red Sky", "Blue Moon"))], 2, 33, 5),
    "result of an abandoned race": (GB, [abandonment("rc_9")], [result("rc_9")], 2, 38, 5),
    "meeting after one of its races": (GB, [abandonment("rc_9")], [meeting(meeting_id="mt_9")], 2, 42, 5),
    "race in its meeting's message": (GB, [meeting("rc_9", meeting_id="mt_9")], [abandonment("rc_9")], 1, 23, 3),
    # A delivery costs little more than its rows: the statements are one for all. Many channels take two transactions.
    "25 results together": (REGIONS, FIRST, NEXT, 25, 14, 3),
    "a hundred channels": ({f"C{n}": "GB" for n in range(100)}, [result("rc_0")], [result("rc_1")], 100, 47, 7),
}
"""Channels, told before, the deliveries, the calls, the statements and the commits."""

ON_BOTH = ("result alone", "edit", "correction")

THE_CLOCK = 1
"""On PostgreSQL the look for further messages asks the database for the moment."""

THE_LOCK = 1
"""On PostgreSQL the lock by which replicas store letters in turn."""

GAP_S = 0.1

WAITS = 3
"""Empty transactions, by which `told` waits for the later looks."""


@asynccontextmanager
async def running(pipeline, monkeypatch):
    """The service's loops, after fan-out's first look. No loop looks by itself while statements are counted."""
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
    """Takes every message at once, so that the same outcomes share a commit each time."""

    def __init__(self):
        self.taken = 0

    async def post(self, channel_id, message, sending):
        self.taken += 1
        return f"{self.taken}.0"

    async def update(self, channel_id, message_ts, message, sending):
        self.taken += 1


async def told(pipeline, *payloads, posts):
    """Deliver all at the same time, and wait until so many messages are written down as sent."""
    before = pipeline.poster.claim_sender.sender.taken
    await pipeline.deliver_all(*payloads)
    await until(lambda: pipeline.poster.claim_sender.sender.taken == before + posts and not pipeline.poster._under_way)
    await until(lambda: is_at_rest(pipeline))
    for _ in range(WAITS):
        await asyncio.sleep(0)
        await pipeline.database.write(lambda _: None)


def is_at_rest(pipeline):
    return pipeline.fanout.good_turns > 0 and not pipeline.fanout._is_behind


async def until(holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  the bot tells nobody when it has come to rest
            await asyncio.sleep(0.001)


@pytest.fixture
def paced(make_pipeline):
    """A pipeline that keeps buckets as in production, with room for many posts."""
    made = make_pipeline(pace=Pace(channel_s=0.0, workspace_per_minute=100_000, workspace_burst=1_000))
    made.poster.claim_sender.sender = Slack()
    return made


@pytest.mark.parametrize(
    ("database", "name"), [*product(["sqlite"], COSTS), *product(["postgresql"], ON_BOTH)], indirect=["database"]
)
async def test_deliveries_cost_statements_and_commits(paced, monkeypatch, name):
    channels, before, payloads, calls, statements, commits = COSTS[name]
    more = 0 if paced.database.is_sqlite else THE_LOCK if commits == 3 else THE_LOCK + THE_CLOCK
    for channel_id, region in channels.items():
        await paced.subscribe(channel_id, region)
    async with running(paced, monkeypatch):
        await told(paced, *before, posts=max(len(channels), len(before)))
        await wait(paced, 2)
        # The outcomes of the first channels are written before fan-out goes on.
        monkeypatch.setattr(paced.fanout, "gap_s", GAP_S)
        with counting(paced.database) as counted:
            await told(paced, *payloads, posts=calls)
    assert len(counted.statements) <= statements + more + WAITS, str(counted)
    assert counted.commits == commits + WAITS, str(counted)


MANY_CHANNELS = 80


async def test_event_for_very_many_channels_takes_few_statements(pipeline):
    for number in range(MANY_CHANNELS):
        await pipeline.subscribe(f"C{number:04}", "GB")
    for payload in (abandonment("rc_1"), meeting("rc_1", "rc_2"), abandonment("rc_2"), result("rc_2", placings=("A",))):
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    with counting(pipeline.database) as counted:
        while await pipeline.fanout.run_once():
            continue
    assert len(counted.statements) < MANY_CHANNELS, str(counted)
    # The first race's, the meeting's, and the result. The meeting's message says the second race.
    assert await pipeline.waiting() == {"queued": MANY_CHANNELS * 3}


class Slow(Slack):
    """Answers as many posts as `answers` lets through."""

    def __init__(self):
        super().__init__()
        self.begun, self.answers = 0, asyncio.Semaphore(0)

    async def post(self, *args, **named):
        self.begun += 1
        await self.answers.acquire()
        return await super().post(*args, **named)


async def test_full_poster_looks_through_the_queues_for_some_calls_at_a_time(paced, monkeypatch):
    """Each look reads every queue with a message."""
    slack = paced.poster.claim_sender.sender = Slow()
    for number in range(CALLS_AT_ONCE + 2 * ROOM_TO_CLAIM):
        await paced.subscribe(f"C{number}", "GB")
    begun = []
    async with running(paced, monkeypatch):
        await paced.deliver(result())
        await until(lambda: slack.begun == CALLS_AT_ONCE)
        for answered in range(1, ROOM_TO_CLAIM + 1):
            slack.answers.release()
            await until(lambda: slack.taken == answered)  # noqa: B023
            for _ in range(9):
                await asyncio.sleep(0.01)
            begun.append(slack.begun - CALLS_AT_ONCE)
        for _ in range(CALLS_AT_ONCE + ROOM_TO_CLAIM):
            slack.answers.release()
        await until(lambda: slack.taken == CALLS_AT_ONCE + 2 * ROOM_TO_CLAIM)
        await paced.poster.finish()
    assert begun == [0] * (ROOM_TO_CLAIM - 1) + [ROOM_TO_CLAIM]


# Events, messages and places beyond a bound: told in plain form, and nothing else waits


ASCOT = Course(name="Ascot")
LONG = "x" * 200_000


def lost(races, **card):
    return meeting(**card) | {"races": races}


BEYOND = {
    "length of the course": (lost([{"number": number} for number in range(EVENT_RACES_MAX)], course=LONG), "too long"),
    "length of an id": (lost([], meeting_id=LONG), f"more than {KEPT_ID_MAX} characters"),
}
STORIES = {
    name: Story(
        *(payload, abandonment("rc_2", off_time="15:00")),
        CGB=[f"^ABANDONED: | +told without runners and races: | +{because}", "Ascot 15:00"],
        CADMIN=[because],
    )
    for name, (payload, because) in BEYOND.items()
} | {
    "within the bounds": Story(
        lost([{"title": f"Race {number}"} for number in range(EVENT_RACES_MAX)]),
        CGB=[f"{EVENT_RACES_MAX} races"],
        CADMIN=[],
    )
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_delivery_beyond_the_bounds_is_told_in_its_plain_form(pipeline, story):
    await play(pipeline, story)


@dataclass
class SlowRendering:
    """Rendering takes longer than the time for the call, unless the message is in its plain form.

    `sleeps`: the first rendering does not work meanwhile, as in a process that was stopped.
    """

    pipeline: Pipeline
    sleeps: bool = False
    passed_s: float = 0.0
    worked_s: float = 0.0
    times: int = 0

    def __post_init__(self):
        sender = self.pipeline.poster.claim_sender
        self.render = sender.render
        sender.render = self
        for part in (sender, self.pipeline.poster):
            part.monotonic, part.worked = lambda: self.passed_s, lambda: self.worked_s

    def __call__(self, claim, now):
        if isinstance(claim.shown, MessageView) and "Ascot" in claim.event.data and not claim.shown.has_overrun:
            self.times += 1
            if not self.sleeps or self.times == 1:
                self.passed_s += POST_CALL_S + 1
                self.worked_s += 0 if self.sleeps else POST_CALL_S + 1
        return self.render(claim, now)


async def test_message_whose_rendering_overran_is_next_sent_in_its_plain_form(gb, make_pipeline):
    await gb.subscribe("CIRE", "IRE")
    slow = SlowRendering(gb)
    await gb.deliver(lost([{"title": "Race"}]))
    await gb.deliver(abandonment("rc_i", region="IRE", course="Cork"))
    await gb.post_all()
    await so_far(CGB=[], CIRE=[""])(gb)
    # After a restart too the message is not rendered in full.
    again = make_pipeline(clock=gb.clock)
    slow_again = SlowRendering(again)
    fail(gb, post=[failures.rate_limited(1)])
    await turns(again, 10)
    await so_far(CGB=["^ABANDONED: Ascot, | !whole meeting"], CADMIN=[f"{OVERRAN} | kept whole as inbox-1 "])(gb)
    assert not gb.slack.messages("CGB")[0].blocks
    assert (slow.times, slow_again.times) == (1, 0)


async def test_process_that_was_stopped_while_rendering_tells_the_whole_message_later(gb):
    stopped = SlowRendering(gb, sleeps=True)
    await gb.deliver(lost([{"title": "Race"}]))
    await turns(gb, 10)
    await so_far(CGB=["whole meeting"], CADMIN=[])(gb)
    assert stopped.times == 2


@on_both
async def test_place_with_very_many_races_says_nothing_of_a_race(database, pipeline):
    york = Course(name="York")
    races = [race(f"rc_{number}", ASCOT) for number in range(PLACE_RACES_MAX + 1)]
    await database.write(lambda session: race_book_store.put(session, [*races, race("rc_y", york)], pipeline.clock()))

    def find(ids):
        return lambda session: race_book_store.find(session, ids, (), [(DAY, ASCOT), (DAY, york)])

    assert set(await database.read(find([]))) == {"rc_y"}
    assert set(await database.read(find(["rc_1"]))) == {"rc_1", "rc_y"}


def race(race_id, course):
    return Race(race_id=race_id, race_date=DAY, course=course)


async def fan_out_all(pipeline, payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
    while await pipeline.fanout.run_once():
        continue


async def test_newest_events_of_a_place_are_looked_at_around_an_event(database, pipeline):
    count = PLACE_EVENTS_MAX + 5
    events = [abandonment(f"rc_{number}", off_time=f"1{number % 10}:00") for number in range(count)]
    await fan_out_all(pipeline, [events[first : first + MOST_EVENTS] for first in range(0, count, MOST_EVENTS)])
    around = frozenset({(By.WHOLE_PLACE, (DAY, ASCOT))})
    found = await database.read(lambda session: event_store.around(session, around))
    assert len(found) == PLACE_EVENTS_MAX
    assert f"race.abandoned:rc_{count - 1}" in found
    assert "race.abandoned:rc_0" not in found


@on_both
async def test_event_is_found_by_each_of_its_ways_and_by_any_of_them_together(database, pipeline):
    await tell(pipeline, abandonment("rc_1", meeting_id="mt_1"))
    values = {By.KEY: "race.abandoned:rc_1", By.RACE: "rc_1", By.MEETING: "mt_1"}
    ways = {**values, By.PLACE: (DAY, ASCOT), By.WHOLE_PLACE: (DAY, ASCOT)}.items()
    for around in (frozenset(some) for size in range(1, len(ways) + 1) for some in combinations(ways, size)):
        found = await database.read(partial(event_store.around, about=around, recent=START - timedelta(days=1)))
        assert found.keys() == {"race.abandoned:rc_1"}, around


async def test_results_of_the_day_are_not_read_around_a_result(database):
    around = frozenset({(By.PLACE, (DAY, ASCOT))})
    with noted(database) as statements:
        await database.read(partial(event_store.around, about=around, recent=START))
    plans = plans_of(database, [one for one in statements if one[0].startswith("SELECT")])
    assert any("ix_event_without_race_id (race_date=? AND received_at>?)" in plan for plan in plans)
    assert [plan for plan in plans if "(race_date=?)" in plan] == []


async def test_newest_versions_of_an_event_are_read(database, pipeline):
    key = "result.received:rc_1"
    await fan_out_all(pipeline, [result(title=f"Title {number}") for number in range(event_store.VERSIONS_MAX + 3)])
    (found,) = (await database.read(lambda session: event_store.versions(session, [key]))).values()
    around = frozenset({(By.KEY, key)})
    (read,) = (await database.read(lambda session: event_store.around(session, around))).values()
    assert [row.version for row in read] == [row.version for row in found][-event_store.VERSIONS_MAX :]


@pytest.mark.parametrize("region", ["Atlantis", "GB"])
async def test_result_with_a_said_region_reads_no_other_race_of_its_place(database, pipeline, region):
    await knows(regions=["GB"])(pipeline)
    await subscribes("CALL")(pipeline)
    await tell(pipeline, result("rc_1", region=region, title="Title"))
    with counting(database) as counted:
        await tell(pipeline, result("rc_2", region=region, title="Title"))
    assert [one for one in counted.statements if "book_race" in one and "instr" in one] == []

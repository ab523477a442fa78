"""Events, messages and places beyond a bound: told in plain form, and nothing else waits."""

from dataclasses import dataclass

import pytest

from bot.deliveries.payload import MOST_EVENTS
from bot.events import event_store
from bot.events.event_bounds import EVENT_RACES_MAX, EVENT_RUNNERS_MAX, KEPT_ID_MAX
from bot.events.event_store import PLACE_EVENTS_MAX, By
from bot.events.races import Course, Race
from bot.outbox.channel_queues import POST_CALL_S
from bot.outbox.message_store import OVERRAN
from bot.racedata import race_book_store
from bot.racedata.race_book_store import PLACE_RACES_MAX
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.conftest import Pipeline
from tests.integration.pipeline.counted import counting
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell
from tests.integration.pipeline.steps import fail, turns
from tests.integration.pipeline.stories import Story, knows, play, so_far, subscribes

ASCOT = Course(name="Ascot")
LONG = "x" * 200_000


def lost(races, **card):
    return meeting(**card) | {"races": races}


MANY = [abandonment(f"rc_{number}") for number in range(MOST_EVENTS + 1)]
BEYOND = {
    "races by number": (lost([1] * 200), f"more than {EVENT_RACES_MAX} races"),
    "races of one title": (lost([{"title": "Same"}] * 200), f"more than {EVENT_RACES_MAX} races"),
    "length of titles": (lost([{"title": LONG}] * EVENT_RACES_MAX), "too long"),
    "length of the course": (
        lost([{"number": number} for number in range(EVENT_RACES_MAX)], course=LONG),
        "too long",
    ),
    "length of an id": (lost([], meeting_id=LONG), f"more than {KEPT_ID_MAX} characters"),
    "runners": (
        lost([{"title": "T", "runners": [f"H{n}" for n in range(250)]}] * 20),
        f"more than {EVENT_RUNNERS_MAX} runners",
    ),
    "length of the region": (abandonment(region=LONG), f"more than {KEPT_ID_MAX} characters"),
    "events in a list": (MANY, f"more than {MOST_EVENTS} events"),
    "events as data": (
        {"event": "race.abandoned", "data": [payload["race"] for payload in MANY]},
        f"more than {MOST_EVENTS} events",
    ),
}
STORIES = {
    name: Story(
        payload,
        abandonment("rc_2", off_time="15:00"),
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
        if claim.view is not None and "Ascot" in claim.event.data and not claim.view.has_overrun:
            self.times += 1
            if not self.sleeps or self.times == 1:
                self.passed_s += POST_CALL_S + 1
                self.worked_s += 0 if self.sleeps else POST_CALL_S + 1
        return self.render(claim, now)


async def test_message_whose_rendering_overran_is_next_sent_in_its_plain_form(pipeline, make_pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    slow = SlowRendering(pipeline)
    await pipeline.deliver(lost([{"title": "Race"}]))
    await pipeline.deliver(abandonment("rc_i", region="IRE", course="Cork"))
    await pipeline.post_all()
    await so_far(CGB=[], CIRE=[""])(pipeline)
    # After a restart too the message is not rendered in full.
    again = make_pipeline(clock=pipeline.clock)
    slow_again = SlowRendering(again)
    fail(pipeline, post=[failures.rate_limited(1)])
    await turns(again, 10)
    await so_far(CGB=["^ABANDONED: Ascot, | !whole meeting"], CADMIN=[OVERRAN])(pipeline)
    assert (slow.times, slow_again.times) == (1, 0)


async def test_process_that_was_stopped_while_rendering_tells_the_whole_message_later(pipeline):
    await pipeline.subscribe("CGB", "GB")
    stopped = SlowRendering(pipeline, sleeps=True)
    await pipeline.deliver(lost([{"title": "Race"}]))
    await turns(pipeline, 10)
    await so_far(CGB=["whole meeting"], CADMIN=[])(pipeline)
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


async def fan_out(pipeline, payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
    while await pipeline.fanout.run_once():
        continue


@on_both
async def test_newest_events_of_a_place_are_looked_at_around_an_event(database, pipeline):
    count = PLACE_EVENTS_MAX + 5
    events = [abandonment(f"rc_{number}", off_time=f"1{number % 10}:00") for number in range(count)]
    await fan_out(pipeline, [events[first : first + MOST_EVENTS] for first in range(0, count, MOST_EVENTS)])
    around = frozenset({(By.WHOLE_PLACE, (DAY, ASCOT))})
    found = await database.read(lambda session: event_store.around(session, around))
    assert len(found) == PLACE_EVENTS_MAX
    assert f"race.abandoned:rc_{count - 1}" in found
    assert "race.abandoned:rc_0" not in found


async def test_newest_versions_of_an_event_are_read(database, pipeline):
    key = "result.received:rc_1"
    await fan_out(pipeline, [result(title=f"Title {number}") for number in range(event_store.VERSIONS_MAX + 3)])
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

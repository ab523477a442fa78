"""Events, messages and places beyond a bound: told in plain form, and nothing else waits."""

from dataclasses import dataclass

import pytest

from bot.deliveries.payload import MOST_EVENTS
from bot.events import event_store
from bot.events.event_bounds import EVENT_RACES_MAX, EVENT_RUNNERS_MAX, KEPT_ID_MAX
from bot.events.event_store import PLACE_EVENTS_MAX, Around
from bot.events.races import Course, Race
from bot.outbox.claim_sender import POST_CALL_S
from bot.outbox.message_store import OVERRAN
from bot.racedata import race_book_store, reference_store
from bot.racedata.race_book_store import PLACE_RACES_MAX
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.conftest import Pipeline
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, shown, tell
from tests.integration.pipeline.test_round_trips import counting

ASCOT = Course(name="Ascot")
LONG = "x" * 200_000


def lost(races, **card):
    return meeting(**card) | {"races": races}


@pytest.mark.parametrize(
    ("payload", "because"),
    [
        (lost([1] * 200), f"more than {EVENT_RACES_MAX} races"),
        (lost([{"title": "Same"}] * 200), f"more than {EVENT_RACES_MAX} races"),
        (lost([{"title": LONG}] * EVENT_RACES_MAX), "too long"),
        (lost([{"number": number} for number in range(EVENT_RACES_MAX)], course=LONG), "too long"),
        (lost([], meeting_id=LONG), f"more than {KEPT_ID_MAX} characters"),
        (
            lost([{"title": "T", "runners": [f"H{n}" for n in range(250)]}] * 20),
            f"more than {EVENT_RUNNERS_MAX} runners",
        ),
        (abandonment(region=LONG), f"more than {KEPT_ID_MAX} characters"),
        ([abandonment(f"rc_{number}") for number in range(MOST_EVENTS + 1)], f"more than {MOST_EVENTS} events"),
        (
            {"event": "race.abandoned", "data": [{"race_id": f"rc_{number}"} for number in range(MOST_EVENTS + 1)]},
            f"more than {MOST_EVENTS} events",
        ),
    ],
)
async def test_delivery_beyond_the_bounds_is_told_in_its_plain_form(pipeline, payload, because):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, payload, abandonment("rc_2", off_time="15:00"))
    plain, whole = pipeline.slack.messages("CGB")
    assert plain.text.startswith("ABANDONED: ")
    assert "told without runners and races: " in shown(plain)
    assert because in shown(plain)
    assert "Ascot 15:00" in whole.text
    (notice,) = pipeline.texts("CADMIN")
    assert because in notice


async def test_delivery_within_the_bounds_is_told_with_its_races(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, lost([{"title": f"Race {number}"} for number in range(EVENT_RACES_MAX)]))
    (message,) = pipeline.slack.messages("CGB")
    assert f"{EVENT_RACES_MAX} races" in message.text
    assert pipeline.texts("CADMIN") == []


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
    assert (pipeline.texts("CGB"), slow.times) == ([], 1)
    assert len(pipeline.texts("CIRE")) == 1
    # After a restart too the message is not rendered in full.
    again = make_pipeline(clock=pipeline.clock)
    slow_again = SlowRendering(again)
    pipeline.clock.forward(2)
    await free_all(again)
    await again.post_all()
    (message,) = pipeline.slack.messages("CGB")
    assert message.text == "ABANDONED: Ascot, " + message.text.partition("Ascot, ")[2]
    assert "whole meeting" not in message.text
    assert slow_again.times == 0
    (notice,) = pipeline.texts("CADMIN")
    assert OVERRAN in notice


async def test_process_that_was_stopped_while_rendering_tells_the_whole_message_later(pipeline):
    await pipeline.subscribe("CGB", "GB")
    stopped = SlowRendering(pipeline, sleeps=True)
    await pipeline.deliver(lost([{"title": "Race"}]))
    for _ in range(2):
        await free_all(pipeline)
        await pipeline.post_all()
    (message,) = pipeline.slack.messages("CGB")
    assert "whole meeting" in message.text
    assert (stopped.times, pipeline.texts("CADMIN")) == (2, [])


async def test_message_in_its_plain_form_stays_plain_after_a_call_that_failed(pipeline):
    await pipeline.subscribe("CGB", "GB")
    slow = SlowRendering(pipeline)
    await pipeline.deliver(lost([{"title": "Race"}]))
    await pipeline.post_all()
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(1)])
    for _ in range(2):
        await free_all(pipeline)
        await pipeline.post_all()
    assert (len(pipeline.texts("CGB")), slow.times) == (1, 1)


@on_both
async def test_place_with_very_many_races_says_nothing_of_a_race(database, pipeline):
    races = [race(f"rc_{number}", ASCOT) for number in range(PLACE_RACES_MAX + 1)]
    await database.write(
        lambda session: race_book_store.put(session, [*races, race("rc_y", Course(name="York"))], pipeline.clock())
    )

    def find(ids):
        return lambda session: race_book_store.find(session, ids, (), [(DAY, ASCOT), (DAY, Course(name="York"))])

    assert set(await database.read(find([]))) == {"rc_y"}
    assert set(await database.read(find(["rc_1"]))) == {"rc_1", "rc_y"}


def race(race_id, course):
    return Race(race_id=race_id, race_date=DAY, course=course)


@on_both
async def test_newest_events_of_a_place_are_looked_at_around_an_event(database, pipeline):
    count = PLACE_EVENTS_MAX + 5
    for number in range(count):
        await pipeline.deliver(abandonment(f"rc_{number}", off_time=f"1{number % 10}:00"))
    while await pipeline.fanout.run_once():
        continue
    around = Around(whole_places=frozenset({(DAY, ASCOT)}))
    found = await database.read(lambda session: event_store.around(session, around))
    assert len(found) == PLACE_EVENTS_MAX
    assert f"race.abandoned:rc_{count - 1}" in found
    assert "race.abandoned:rc_0" not in found


async def test_newest_versions_of_an_event_are_read(database, pipeline):
    for number in range(event_store.VERSIONS_MAX + 3):
        await pipeline.deliver(result(title=f"Title {number}"))
    while await pipeline.fanout.run_once():
        continue
    (found,) = (await database.read(lambda session: event_store.versions(session, ["result.received:rc_1"]))).values()
    around = Around(keys=frozenset({"result.received:rc_1"}))
    (read,) = (await database.read(lambda session: event_store.around(session, around))).values()
    assert [row.version for row in read] == [row.version for row in found][-event_store.VERSIONS_MAX :]


@pytest.mark.parametrize("region", ["Atlantis", "GB"])
async def test_result_with_a_said_region_reads_no_other_race_of_its_place(database, pipeline, region):
    await database.write(lambda session: reference_store.put_regions(session, ["GB"], pipeline.clock()))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, result("rc_1", region=region, title="Title"))
    with counting(database) as counted:
        await tell(pipeline, result("rc_2", region=region, title="Title"))
    assert [one for one in counted.statements if "book_race" in one and "instr" in one] == []

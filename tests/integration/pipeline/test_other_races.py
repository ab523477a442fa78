"""The alert of an abandoned race names the meeting's other races that are not reported abandoned."""

from bot.events.races import Course, OffTime, Race
from bot.racedata import race_book_store
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell

SAID = "No abandonment reported for "
OFFS = {"rc_1": "14:30", "rc_2": "15:05", "rc_3": "15:40"}


async def read_card(pipeline, offs=OFFS, course="Ascot", **fields):
    races = [
        Race(race_id=race_id, race_date=DAY, course=Course(name=course), off=OffTime(text=off), **fields)
        for race_id, off in offs.items()
    ]
    await pipeline.database.write(lambda session: race_book_store.put(session, races, pipeline.clock(), region="GB"))


def others(message):
    """The other races that the message names."""
    _, said, rest = shown(message).partition(SAID)
    return rest.partition(" of this meeting")[0] if said else None


async def test_other_races_are_named_in_the_blocks_alone(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await read_card(pipeline)
    await read_card(pipeline, {"rc_9": "16:00"}, course="Ayr")
    await tell(pipeline, abandonment("rc_1"), abandonment("rc_2", off_time="15:05"))
    first, second = pipeline.slack.messages("CGB")
    assert [others(first), others(second)] == ["15:05 and 15:40", "15:40"]
    assert first.text == "ABANDONED: Ascot 14:30 (GB), frost"


async def test_race_abandoned_long_ago_under_another_spelling_of_its_race_is_not_named(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await read_card(pipeline)
    await tell(pipeline, abandonment(None, off_time="15:05"))
    pipeline.clock.forward(3 * 3_600)
    await tell(pipeline, abandonment("rc_1"))
    assert others(pipeline.slack.messages("CGB")[-1]) == "15:40"


async def test_race_that_was_run_is_not_named(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await read_card(pipeline)
    await tell(pipeline, result("rc_1"), abandonment("rc_2", off_time="15:05"))
    assert others(pipeline.slack.messages("CGB")[-1]) == "15:40"


async def test_nothing_is_said_without_a_known_race_and_once_the_meeting_is_lost(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment("rc_1"))
    assert others(pipeline.slack.messages("CGB")[0]) is None
    await read_card(pipeline)
    await tell(pipeline, abandonment("rc_2", off_time="15:05"))
    assert others(pipeline.slack.messages("CGB")[1]) == "15:40"
    await tell(pipeline, meeting("rc_1", "rc_2", "rc_3"))
    race = pipeline.slack.messages("CGB")[1]
    assert "Part of the abandoned meeting" in race.text
    assert others(race) is None


async def test_another_meeting_of_the_course_gives_no_race(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await read_card(pipeline, {"rc_1": "14:30", "rc_2": "15:05"}, meeting_id="mt_1")
    await read_card(pipeline, {"rc_3": "18:00"}, meeting_id="mt_2")
    await tell(pipeline, abandonment("rc_1", meeting_id="mt_1"))
    assert others(pipeline.slack.messages("CGB")[0]) == "15:05"

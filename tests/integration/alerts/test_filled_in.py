"""What is known elsewhere: filled in, edited once it is known, and never taken for a fact of a delivery."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DatabaseError
from structlog.testing import capture_logs

from bot.domain.events import Topic
from bot.domain.races import Course, OffTime, Race
from bot.sandbox.slack.failures import slack_error
from bot.storage import racebook, reference
from bot.storage.tables import EventVersion
from tests.integration.alerts.racing_day import abandonment, edits, meeting, result, shown, states, tell
from tests.said import as_posted

CARDS = frozenset(Topic)

TODAY = datetime.now(UTC).date().isoformat()


def listed(race_id="rc_1", *, off="14:30", title="Title rc_1", **more):
    values = {"course": Course(name="Ascot"), "race_date": TODAY, "region": "GB", "race_class": "4"} | more
    return Race(race_id=race_id, off=OffTime(text=off), title=title, **values)


def bare(event="race.abandoned", race_id="rc_1", **said):
    return {"event": event, "race_id": race_id} | said


async def read_list(pipeline, *races):
    await pipeline.database.write(lambda session: racebook.put(session, races, pipeline.clock(), region="GB"))


async def versions(pipeline):
    def read(session):
        return [(row.version, row.region, row.race_date) for row in session.execute(select(EventVersion)).scalars()]

    return await pipeline.database.read(read)


async def test_race_by_id_alone_is_told_by_region_and_course_of_the_race_book(pipeline):
    await pipeline.subscribe("CGB", "GB", courses=(Course(name="Ascot"),))
    await pipeline.subscribe("CALL", "GB", courses=(Course(name="Ayr"),))
    await pipeline.subscribe("CIRE", "IRE")
    await read_list(pipeline, listed())
    await tell(pipeline, bare(), bare("result.received", "rc_1", runners=[{"position": 1, "horse": "A"}]))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL", "CIRE")] == [2, 0, 0]
    for message in pipeline.slack.messages("CGB"):
        assert "Ascot 14:30 (GB)" in message.text
        assert "region, course, date, time, name and class from the race book" in shown(message)


async def test_refused_edit_of_a_filled_in_field_makes_no_second_message(pipeline):
    await pipeline.subscribe("CALL", "*", CARDS)
    await tell(pipeline, bare("race.abandoned"))
    pipeline.slack.script("chat.update", [], then_always=slack_error("edit_window_closed"))
    await read_list(pipeline, listed())
    await tell(pipeline)
    await pipeline.post_all()
    assert len(pipeline.texts("CALL")) == 1
    assert await states(pipeline) == [("sent", False), ("folded", True)]


async def test_refused_edit_of_a_contradicted_message_tells_the_abandonment_no_second_time(pipeline):
    await pipeline.subscribe("CALL", "*", CARDS)
    await tell(pipeline, bare("result.received"), bare(), bare(meeting_id="mt_1"))
    pipeline.slack.script("chat.update", [], then_always=slack_error("edit_window_closed"))
    await read_list(pipeline, listed())
    await tell(pipeline)
    await pipeline.post_all()
    assert len(pipeline.texts("CALL")) == 2


async def test_what_the_race_book_learns_is_edited_once_into_the_message_that_lacked_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*", CARDS)
    await tell(pipeline, bare("result.received"), bare("race.abandoned", "rc_2"))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [1, 2]
    for _ in range(3):
        await read_list(pipeline, listed(), listed("rc_2", off="15:00"))
        await pipeline.post_all()
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Ascot 15:00 (GB)")
    assert pipeline.texts("CGB")[1].startswith("Result: Ascot 14:30 (GB)")
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [2, 2]
    assert len(edits(pipeline.slack)) == 3
    assert await versions(pipeline) == [(1, "GB", TODAY)] * 2
    assert await pipeline.database.read(racebook.learnt) == []


async def test_what_is_learnt_after_an_hour_changes_no_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, bare())
    pipeline.clock.forward(3_700)
    await read_list(pipeline, listed())
    await pipeline.post_all()
    assert "course not given" in pipeline.texts("CGB")[0]
    assert await pipeline.database.read(racebook.learnt) == []


async def test_message_that_is_sent_later_has_what_is_known_by_then(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(bare())
    await pipeline.fanout.run_once()
    pipeline.clock.forward(3_700)
    await read_list(pipeline, listed())
    await pipeline.post_all()
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Ascot 14:30 (GB)")


async def test_value_that_was_filled_in_is_no_fact_that_a_delivery_changes(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await read_list(pipeline, listed())
    await tell(pipeline, bare(), abandonment(off_time="14:45", date=TODAY))
    (message,) = pipeline.slack.messages("CGB")
    assert message.text.startswith("ABANDONED: Ascot 14:45 (GB)")
    assert "14:30" not in shown(message)
    assert "Correct" not in shown(message)


async def test_later_list_is_right_where_only_lists_say_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, bare())
    for off in ("14:30", "14:45", "14:30"):
        pipeline.clock.forward(1)
        await read_list(pipeline, listed(off=off))
        await pipeline.post_all()
        assert pipeline.texts("CGB")[0].startswith(f"ABANDONED: Ascot {off} (GB)")
    assert len(pipeline.texts("CGB")) == 1


async def test_earlier_delivery_without_a_date_tells_where_the_race_is(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(date=None), bare())
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: Ascot 14:30 (GB)")


async def test_abandonment_that_nothing_tells_more_of_goes_everywhere(pipeline):
    await pipeline.subscribe("CGB", "GB", courses=(Course(name="Ascot"),))
    await pipeline.subscribe("CIRE", "IRE")
    await read_list(pipeline, listed("rc_2"))
    await tell(pipeline, bare())
    for channel in ("CGB", "CIRE"):
        assert pipeline.texts(channel)[0].startswith("ABANDONED: course not given, time not given (region unknown)")


async def test_region_that_only_the_list_of_courses_tells_is_told_by(pipeline):
    courses = [reference.KnownCourse(name="Ascot", region="GB")]
    await pipeline.database.write(lambda session: reference.put_courses(session, courses, pipeline.clock()))
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment(region=None))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 0]


@pytest.mark.parametrize("card_first", [True, False])
async def test_racecard_is_marked_and_tells_the_races_of_its_abandoned_meeting(pipeline, card_first):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB", CARDS)
    await pipeline.subscribe("CALL", "*", frozenset({Topic.RACECARDS}))
    card = meeting("rc_1", "rc_2", date=TODAY) | {"event": "racecard.published", "reason": None}
    whole = meeting(course=None, date=None, region=None)
    await tell(pipeline, *([card, whole] if card_first else [whole, card]))
    published = next(one for one in pipeline.slack.messages("CGB") if one.text.startswith("Racecard"))
    lost = next(one for one in pipeline.slack.messages("CGB") if one.text.startswith("ABANDONED"))
    assert lost.text.startswith(f"ABANDONED: Ascot, whole meeting, {TODAY} (GB)")
    assert "Title rc_1" in shown(lost)
    assert "This meeting was abandoned" in published.text
    assert lost.ts.replace(".", "") in shown(published)
    (elsewhere,) = pipeline.texts("CALL")
    assert "This meeting was abandoned" in elsewhere


async def test_damaged_race_book_that_can_not_be_read_holds_up_no_alert(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")

    def malformed(*_args, **_values):
        raise DatabaseError("SELECT", {}, Exception("database disk image is malformed"))

    monkeypatch.setattr("bot.storage.racebook.find", malformed)
    monkeypatch.setattr("bot.storage.racebook.learn", malformed)
    with capture_logs():
        await tell(pipeline, bare(), meeting())
    assert [text[:10] for text in pipeline.texts("CGB")] == ["ABANDONED:"] * 2


async def test_lists_of_long_ago_are_no_news_for_messages(pipeline):
    await read_list(pipeline, listed(race_date="2019-11-20"), listed("rc_2"))
    assert await pipeline.database.read(racebook.learnt) == ["rc_2"]


async def test_error_of_ours_in_filling_in_holds_up_no_alert(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await read_list(pipeline, listed())

    def broken(*_args, **_values):
        raise RuntimeError

    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.storage.elsewhere.filled_in", broken)
        await tell(pipeline, bare(), meeting("rc_1", date=TODAY))
    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.alerts.plan.Plan.amend", broken)
        await tell(pipeline, bare("race.abandoned", "rc_2"), result("rc_2", date=TODAY))
    assert [as_posted(text)[:9] for text in pipeline.texts("CGB")] == ["ABANDONED"] * 3 + ["Result: A"]

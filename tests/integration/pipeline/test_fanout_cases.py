"""Which version is news, for whom, and in which order: what a hostile reading of fan-out has found."""

import itertools
import random
import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import create_engine, event, select, update
from sqlmodel import Session, col

from bot.db.tables import BookRace, EventVersion, InboxDelivery
from bot.deliveries import inbox
from bot.errors import StorageUnavailable
from bot.events.event import EventKind, Topic
from bot.events.facts import VersionRemarks
from bot.events.races import Course, Race
from bot.racedata import reference_store
from tests.clock import DAY
from tests.databases import on_both, on_postgresql
from tests.integration.conftest import Moment
from tests.integration.pipeline.racing_day import abandonment, edits, meeting, result, states, tell

CARDS = frozenset({Topic.RACECARDS})

MORE_THAN_A_STATEMENT_TAKES = 2**16
"""Values: PostgreSQL's protocol counts them in 16 bits."""


async def know_regions(pipeline):
    await pipeline.database.write(lambda session: reference_store.put_regions(session, ["GB", "IRE"], pipeline.clock()))


async def rows(pipeline, column):
    return await pipeline.database.read(lambda session: list(session.execute(select(column)).scalars()))


def racecard(**race):
    race = {"race_id": "rc_1", "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "Great Britain"} | race
    return {"event": "racecard.published", "race": race}


def without_id(payload):
    del payload["race"]["race_id"]
    return payload


async def test_name_of_a_region_in_the_race_book_hides_no_abandonment(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, racecard())
    assert await rows(pipeline, col(BookRace.region)) == ["Great Britain"]
    await know_regions(pipeline)
    await tell(pipeline, abandonment(region="Great Britain"))
    assert len(pipeline.texts("CGB")) == 1


async def test_name_of_a_region_does_not_get_into_the_race_book_where_codes_are_known(pipeline):
    await know_regions(pipeline)
    await tell(pipeline, racecard(region="Atlantis"), meeting("rc_2", region="Atlantis"))
    assert await rows(pipeline, col(BookRace.region)) == ["", ""]


async def test_correction_with_the_name_of_a_region_reaches_those_who_have_the_event(pipeline):
    await know_regions(pipeline)
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(date=None), result(date=None, region="England", placings=("Red Sky", "Blue Moon")))
    assert pipeline.texts("CGB")[1].startswith("Two versions disagree")


async def test_later_delivery_from_a_clock_that_is_behind_is_told_as_of_unknown_order(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    pipeline.clock.forward(-30)
    await pipeline.deliver(result(placings=("Red Sky", "Blue Moon")))
    pipeline.clock.forward(30)
    await pipeline.post_all()
    first, correction = pipeline.slack.messages("CGB")
    assert "1 Blue Moon" in first.text
    assert "1 Red Sky" in correction.text
    assert "Two versions disagree" in correction.text


async def test_delivery_that_was_received_before_is_told_with_its_order_unknown(pipeline):
    """Of two attempts that cross, the newer may have come first: to say nothing could be to say the wrong winner."""
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    later = pipeline.clock.now + timedelta(minutes=5)
    await pipeline.database.write(lambda session: session.execute(update(InboxDelivery).values(not_before=later)))
    pipeline.clock.forward(1)
    await tell(pipeline, result(placings=("Red Sky", "Blue Moon")))
    await pipeline.database.write(lambda session: session.execute(update(InboxDelivery).values(not_before=None)))
    await pipeline.post_all()
    first, other = pipeline.texts("CGB")
    assert "1 Red Sky" in first
    assert "1 Blue Moon" in other
    assert "Two versions disagree" in other


async def test_meeting_does_not_overtake_the_result_of_its_race_in_the_same_batch(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result("rc_1"))
    pipeline.clock.forward(0.5)
    await pipeline.deliver(meeting("rc_1", "rc_2"))
    await pipeline.post_all()
    assert not [text for text in pipeline.texts("CGB") if "Contradicts" in text]
    assert len(pipeline.texts("CGB")) == 2


async def test_meeting_overtakes_no_result_of_its_races_in_a_long_backlog(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for number in range(30):
        await pipeline.deliver(result(f"rc_{number}", off_time=f"14:{number:02}"))
        pipeline.clock.forward(0.001)
    await pipeline.deliver(meeting("rc_29", "rc_90"))
    await pipeline.post_all()
    assert any("ABANDONED" in text for text in pipeline.texts("CGB"))
    assert not [text for text in pipeline.texts("CGB") if "CONFLICT" in text]


async def test_second_abandonment_of_a_delivery_overtakes_no_result_in_a_long_backlog(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for number in range(30):
        await pipeline.deliver(result(f"rc_{number}", off_time=f"14:{number:02}"))
        pipeline.clock.forward(0.001)
    await pipeline.deliver([abandonment("rc_90", off_time="15:00"), abandonment("rc_29", off_time="14:29")])
    await pipeline.post_all()
    told = [text for text in pipeline.texts("CGB") if "Ascot 14:29" in text]
    assert ["1 Blue Moon" in text for text in told] == [True, False]


async def test_result_whose_region_comes_later_is_posted_where_it_matches_now(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, result(region=None), result(), result() | {"attempt": 3})
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [1, 1]
    assert pipeline.texts("CGB")[0].startswith("Result: Ascot 14:30 (GB)")
    assert "Added" in pipeline.texts("CALL")[0]
    assert len(edits(pipeline.slack)) == 1
    assert sorted(await states(pipeline)) == [("sent", False), ("sent", False), ("sent", True)]


async def test_abandonment_whose_region_comes_later_is_not_told_again(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment(region=None), abandonment())
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 1]
    assert all("region unknown" not in pipeline.texts(channel)[0] for channel in ("CGB", "CIRE"))
    assert len(edits(pipeline.slack)) == 2


async def test_changed_region_is_edited_where_it_was_posted_and_posted_where_it_matches_now(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment(region="IRE"), abandonment())
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 1]
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Ascot 14:30 (GB)")
    assert "region is IRE in one, GB in the other" in pipeline.texts("CIRE")[0]


async def test_changed_course_is_edited_where_it_was_posted_and_posted_where_it_matches_now(pipeline):
    await pipeline.subscribe("CGB", "GB", courses=(Course(name="Ascot"),))
    await pipeline.subscribe("CALL", "*", courses=(Course(name="Kempton"),))
    await tell(pipeline, result(), result(course="Kempton"))
    assert "course is Ascot in one, Kempton in the other" in pipeline.texts("CGB")[0]
    assert len(pipeline.texts("CALL")) == 1


@on_postgresql
async def test_replica_waits_for_its_turn_and_then_sees_the_contradiction(make_pipeline):
    clock = Moment()
    one, other = make_pipeline(clock=clock), make_pipeline(clock=clock)
    await one.subscribe("CGB", "GB")
    await one.deliver(result())
    read = await one.database.read(lambda session: one.fanout.reader.waiting(session, one.clock()))
    engine = create_engine(one.database.url)
    with Session(engine) as session:
        assert one.fanout.transactions.together(session, read).deliveries == 1
        clock.forward(1)
        await other.deliver(abandonment())
        assert await other.fanout.run_once() == 0
        session.commit()
    engine.dispose()
    await other.post_all()
    assert ["Contradicts" in text for text in one.texts("CGB")] == [False, True]


async def test_delivery_that_failed_is_tried_again_while_others_keep_coming(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment("rc_0"))
    (failed,) = await pipeline.database.read(lambda session: inbox.waiting(session, pipeline.clock(), 1))
    await pipeline.fanout.run_once()
    early = pipeline.clock().replace(year=2020)
    await pipeline.database.write(lambda session: inbox.mark_failed(session, failed, early, "once"))
    seconds = itertools.count(pipeline.fanout._looked_at_s)
    pipeline.fanout._monotonic = lambda: next(seconds)
    for number in range(1, 4):
        await pipeline.deliver(result(f"rc_{number}"))
        await pipeline.fanout.run_once()
    assert await pipeline.database.read(inbox.count_waiting) == 0


@pytest.mark.parametrize(("passed", "is_due"), [(0, False), (1, True), (-0.1, False), (-2, True)])
@on_both
async def test_delivery_that_failed_waits_for_no_clock_that_was_set_back(pipeline, passed, is_due):
    at = pipeline.clock()
    await pipeline.deliver(abandonment("rc_0"))
    (failed,) = await pipeline.database.read(lambda session: inbox.waiting(session, at, 1))
    await pipeline.database.write(lambda session: inbox.mark_failed(session, failed, at, "once"))
    later = at + timedelta(hours=passed)
    assert bool(await pipeline.database.read(lambda session: inbox.waiting(session, later, 1))) == is_due


async def test_delivery_that_failed_for_weeks_may_fail_again(pipeline):
    """A failure that raises would roll back the other deliveries of the transaction."""
    await pipeline.deliver(abandonment("rc_0"))
    (failed,) = await pipeline.database.read(lambda session: inbox.waiting(session, pipeline.clock(), 1))
    for_weeks = replace(failed, attempts=5_000)
    await pipeline.database.write(lambda session: inbox.mark_failed(session, for_weeks, pipeline.clock(), "again"))
    assert await pipeline.database.read(inbox.count_waiting) == 1


@pytest.mark.parametrize("lost", ["race", "meeting"])
@on_both
async def test_abandonment_of_which_only_the_country_is_known_is_told(pipeline, lost):
    await pipeline.subscribe("CALL", "*")
    place = {"date": DAY, "course": {"country": "Ireland"}}
    await tell(pipeline, {"event": f"{lost}.abandoned", lost: {f"{lost}_id": "id_1", **place}, "reason": "frost"})
    (text,) = pipeline.texts("CALL")
    assert text.startswith("ABANDONED")


@pytest.mark.parametrize("kinds", [(result, abandonment), (abandonment, result)])
async def test_events_of_a_race_without_an_id_contradict_one_another(pipeline, kinds):
    first, second = kinds
    await pipeline.subscribe("CGB", "GB")
    topics = frozenset({Topic.RESULTS if first is result else Topic.ABANDONMENTS})
    await pipeline.subscribe("CIRE", "GB", topics)
    await tell(pipeline, without_id(first()), without_id(second()))
    for channel in ("CGB", "CIRE"):
        assert ["Contradicts" in text for text in pipeline.texts(channel)] == [False, True]


async def test_meeting_that_names_far_too_many_races_is_told(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(meeting() | {"races": [str(1000 + number) for number in range(MORE_THAN_A_STATEMENT_TAKES)]})
    await pipeline.post_all()
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Ascot, whole meeting")


@pytest.fixture
async def refused_races(database):
    """Races that the database really refuses to note down together: more values, or a longer one, than it takes."""
    if not database.is_sqlite:
        # A row of an index takes 2,704 bytes, and nothing of this can be compressed.
        yield (Race(race_id=random.Random(1).randbytes(20_000).hex()),)
        return

    def limit(session, most):
        return session.connection().connection.driver_connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, most)

    def limit_new(connection, _record):
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1_000)

    # After a refusal the bot opens the file anew.
    event.listen(database.writer, "connect", limit_new)
    before = await database.write(lambda session: limit(session, 1_000))
    yield tuple(Race(race_id=str(number)) for number in range(1_001))
    event.remove(database.writer, "connect", limit_new)
    await database.write(lambda session: limit(session, before))


@on_both
async def test_delivery_that_the_database_refuses_alone_does_not_hold_up_the_others(
    pipeline, refused_races, monkeypatch
):
    await pipeline.subscribe("CGB", "GB")
    read = pipeline.fanout.reader.read

    def with_poison(delivery):
        ((_, event),) = read(delivery)
        is_whole = event.kind is EventKind.MEETING_ABANDONED and event.unreadable_because is None
        return [(delivery, event.model_copy(update={"races": refused_races}) if is_whole else event)]

    monkeypatch.setattr(pipeline.fanout.reader, "read", with_poison)
    await pipeline.deliver(meeting())
    pipeline.clock.forward(0.001)
    await pipeline.deliver(result("rc_2"))
    with pytest.raises(StorageUnavailable):
        await pipeline.fanout.run_once()
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
    assert sorted(await rows(pipeline, col(InboxDelivery.attempts))) == [0, 1]
    # At last it goes out with no more than who it is for.
    retry = update(InboxDelivery).values(not_before=None, attempts=5)
    await pipeline.database.write(lambda session: session.execute(retry))
    await pipeline.post_all()
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: Ascot")


async def test_version_that_only_adds_takes_nothing_back(pipeline):
    await tell(pipeline, result(region=None), result())
    first, second = await rows(pipeline, col(EventVersion.remarks))
    assert first is None
    (added,) = VersionRemarks.model_validate_json(second).changes
    assert (added.field, added.before, added.now, added.is_addition) == ("race.region", None, "GB", True)


async def test_region_that_a_channel_took_in_the_wrong_case_keeps_no_other_from_its_abandonments(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "gb")
    await know_regions(pipeline)
    await tell(pipeline, abandonment("rc_1", region="gb"))
    assert len(pipeline.texts("CGB")) == 1

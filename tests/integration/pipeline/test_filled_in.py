"""What is known elsewhere: filled in, edited once it is known, and never taken for a fact of a delivery."""

from datetime import date

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DatabaseError
from sqlmodel import col
from structlog.testing import capture_logs

from bot.db.tables import BookRace, EventVersion
from bot.events import event_store
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race
from bot.racedata import race_book_store, reference_store
from bot.slack.messages.kit.times import weekday_and_day
from sandbox.slack.failures import slack_error
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, edits, meeting, result, shown, states, tell
from tests.said import as_posted

CARDS = frozenset(Topic)


def listed(race_id="rc_1", *, off="14:30", title="Title rc_1", **more):
    values = {"course": Course(name="Ascot"), "race_date": DAY, "region": "GB", "race_class": "4"} | more
    return Race(race_id=race_id, off=OffTime(text=off), title=title, **values)


def bare(event="race.abandoned", race_id="rc_1", **said):
    return {"event": event, "race_id": race_id} | said


async def read_list(pipeline, *races, region="GB"):
    await pipeline.database.write(lambda session: race_book_store.put(session, races, pipeline.clock(), region=region))


GB_ASCOT = reference_store.KnownCourse(course_id="cr_asc", name="Ascot", region="GB")
AUS_ASCOT = reference_store.KnownCourse(course_id="cr_aus", name="Ascot", region="AUS")
KEMPTON = reference_store.KnownCourse(name="Kempton", region="GB")


async def publish(pipeline, *courses, regions=("AUS", "GB", "IRE"), countries=()):
    """The lists of the data service are read."""

    def keep(session):
        reference_store.put_regions(session, regions, pipeline.clock())
        reference_store.put_courses(session, courses, pipeline.clock())
        reference_store.put_countries(session, countries, pipeline.clock())

    await pipeline.database.write(keep)


def counts(pipeline, *channels):
    return [len(pipeline.texts(channel)) for channel in channels]


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


async def test_class_of_a_race_without_id_is_known_before_filters_are_asked(pipeline):
    await pipeline.subscribe("CGB", "GB", classes=("Class 4",))
    await pipeline.subscribe("CALL", "GB", classes=("Class 1",))
    await read_list(pipeline, listed())
    await tell(pipeline, result(race_id=None, title="Title rc_1", date=DAY))
    assert counts(pipeline, "CGB", "CALL") == [1, 0]


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
    assert await versions(pipeline) == [(1, "GB", DAY)] * 2
    assert await pipeline.database.read(race_book_store.learnt) == []


async def test_what_is_learnt_after_an_hour_changes_no_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, bare())
    pipeline.clock.forward(3_700)
    await read_list(pipeline, listed())
    await pipeline.post_all()
    assert "course not given" in pipeline.texts("CGB")[0]
    assert await pipeline.database.read(race_book_store.learnt) == []


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
    await tell(pipeline, bare(), abandonment(off_time="14:45", date=DAY))
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
    courses = [reference_store.KnownCourse(name="Ascot", region="GB")]
    await pipeline.database.write(lambda session: reference_store.put_courses(session, courses, pipeline.clock()))
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment(region=None))
    assert counts(pipeline, "CGB", "CIRE") == [1, 0]


NAMESAKES = [
    {"event": "meeting.abandoned", "course": "Ascot", "date": DAY},
    {"event": "race.abandoned", "course": "Ascot", "date": DAY, "off_time": "05:10"},
    {"event": "race.abandoned", "race_id": "rc_not_listed", "course": "Ascot", "date": DAY, "off_time": "05:10"},
    {"event": "meeting.abandoned", "course": "ASCOT", "date": DAY},
]


@pytest.mark.parametrize("lists", [(GB_ASCOT, AUS_ASCOT), ()])
@pytest.mark.parametrize("delivery", NAMESAKES)
@pytest.mark.parametrize("is_delivered", [True, False])
async def test_namesake_in_another_region_hides_no_abandonment(pipeline, lists, delivery, is_delivered):
    """The region, races and times of the namesake are filled in neither before nor after the message is posted."""
    await publish(pipeline, *lists)
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "AUS")
    known = result("rc_aus", region="AUS", date=DAY, off_time="05:10", title="Perth Handicap")
    if is_delivered:
        await tell(pipeline, known)
    else:
        await read_list(pipeline, listed("rc_aus", region="AUS", off="05:10", title="Perth Handicap"), region="AUS")
    await tell(pipeline, delivery)
    await read_list(pipeline, listed("rc_2", region="AUS", off="05:40", title="Swan Plate"), region="AUS")
    await pipeline.post_all()
    for channel in ("CGB", "CIRE"):
        message = pipeline.slack.messages(channel)[-1]
        assert "(region unknown)" in message.text
        assert "Perth Handicap" not in shown(message)
        assert "Swan Plate" not in shown(message)


async def test_region_of_the_only_course_of_a_name_tells_the_races(pipeline):
    await publish(pipeline, GB_ASCOT)
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await read_list(pipeline, listed())
    await tell(pipeline, NAMESAKES[0])
    assert counts(pipeline, "CGB", "CIRE") == [1, 0]
    assert "Title rc_1" in shown(pipeline.slack.messages("CGB")[0])


OTHER_WORDS = [
    ("gb", "GB"),
    ("Great Britain", "GB"),
    ("GBR", "GB"),
    ("U.K.", "GB"),
    ("Australia", "AUS"),
    ("au", "AUS"),
    ("New South Wales", "AUS"),
]


@pytest.mark.parametrize(("words", "code"), OTHER_WORDS)
async def test_region_in_other_words_is_the_region_that_the_words_mean(pipeline, words, code):
    countries = [reference_store.KnownCountry(name="New South Wales", country_code="AUS")]
    await publish(pipeline, GB_ASCOT, countries=countries)
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "AUS")
    await tell(pipeline, abandonment(region=words), result(region=words))
    assert counts(pipeline, "CGB", "CIRE") == ([2, 0] if code == "GB" else [0, 2])
    (text,) = [*pipeline.texts("CGB"), *pipeline.texts("CIRE")][:1]
    assert f"({code})" in text


async def test_region_that_nobody_understands_is_no_reason_to_take_another(pipeline):
    """The only course of the name is in GB; the delivery says something else."""
    await publish(pipeline, GB_ASCOT)
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await pipeline.subscribe("CALL", "Atlantis")
    await read_list(pipeline, listed())
    said = {"course": "Ascot", "date": DAY, "region": "Atlantis"}
    await tell(pipeline, {"event": "race.abandoned", "off_time": "14:30", **said})
    await tell(pipeline, {"event": "meeting.abandoned", **said})
    assert counts(pipeline, "CGB", "CIRE", "CALL") == [2, 2, 2]
    for message in pipeline.slack.messages("CIRE"):
        assert "(Atlantis)" in message.text
        assert "Title rc_1" not in shown(message)
    await tell(pipeline, result("rc_9", region="Atlantis"))
    assert counts(pipeline, "CGB", "CIRE", "CALL") == [2, 2, 3]
    # The list of races is proof: it has the race by its id.
    await tell(pipeline, bare("result.received", "rc_1", region="Atlantis", runners=[{"position": 1, "horse": "A"}]))
    assert counts(pipeline, "CGB", "CIRE", "CALL") == [3, 2, 4]


async def test_word_that_a_channel_has_chosen_hides_nothing_from_the_region_that_is_meant(pipeline):
    await publish(pipeline)
    await pipeline.subscribe("CGB", "AUS")
    await pipeline.subscribe("CIRE", "AU")
    await tell(pipeline, abandonment(region="AU", course="Flemington"))
    assert counts(pipeline, "CGB", "CIRE") == [1, 1]


@pytest.mark.parametrize("words", ["Great Britain", "gb", "GBR"])
async def test_before_the_list_of_regions_a_region_in_other_words_is_unknown(pipeline, words):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment(region=words), abandonment("rc_2", region="IRE", course="Naas"))
    assert counts(pipeline, "CGB", "CIRE") == [1, 2]
    await publish(pipeline, GB_ASCOT)
    # News of the race: the region is read anew, by the list.
    await tell(pipeline, result(region=words))
    assert "Ascot 14:30 (GB)" in pipeline.texts("CGB")[0]
    assert counts(pipeline, "CGB") == [2]


@pytest.mark.parametrize("card_first", [True, False])
@on_both
async def test_racecard_is_marked_and_tells_the_races_of_its_abandoned_meeting(pipeline, card_first):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB", CARDS)
    await pipeline.subscribe("CALL", "*", frozenset({Topic.RACECARDS}))
    card = meeting("rc_1", "rc_2", date=DAY) | {"event": "racecard.published", "reason": None}
    whole = meeting(course=None, date=None, region=None)
    await tell(pipeline, *([card, whole] if card_first else [whole, card]))
    here = pipeline.slack.messages("CGB")
    (published,) = [one for one in here if "This meeting was abandoned" in one.text]
    (lost,) = [one for one in here if one is not published]
    assert published.text.startswith("ABANDONED: Ascot, ")
    assert lost.text.startswith(f"ABANDONED: Ascot, whole meeting, {weekday_and_day(date.fromisoformat(DAY))} (GB)")
    assert "Title rc_1" in shown(lost)
    assert lost.ts.replace(".", "") in shown(published)
    (elsewhere,) = pipeline.texts("CALL")
    assert "This meeting was abandoned" in elsewhere


async def test_damaged_race_book_that_can_not_be_read_holds_up_no_alert(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")

    def malformed(*_args, **_values):
        raise DatabaseError("SELECT", {}, Exception("database disk image is malformed"))

    monkeypatch.setattr("bot.racedata.race_book_store.find", malformed)
    monkeypatch.setattr("bot.racedata.race_book_store.learn", malformed)
    with capture_logs():
        await tell(pipeline, bare(), meeting())
    assert [text[:10] for text in pipeline.texts("CGB")] == ["ABANDONED:"] * 2


@pytest.mark.parametrize("damaged", ["", '{"race_id": "rc_1"'])
async def test_damaged_row_of_the_race_book_keeps_no_other_race_from_its_fields(pipeline, damaged):
    await pipeline.subscribe("CGB", "GB")
    await read_list(pipeline, listed(), listed("rc_2", off="15:00"))
    damage = update(BookRace).where(col(BookRace.race_id) == "rc_1").values(data=damaged)
    await pipeline.database.write(lambda session: session.execute(damage))
    await pipeline.deliver(bare())
    await pipeline.deliver(bare(race_id="rc_2"))
    with capture_logs():
        await pipeline.post_all()
    assert [text.partition(" (")[0] for text in pipeline.texts("CGB")] == [
        "ABANDONED: course not given, time not given",
        "ABANDONED: Ascot 15:00",
    ]
    await tell(pipeline, abandonment("rc_1", date=DAY))
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Ascot 14:30 (GB)")


async def test_lists_of_long_ago_are_no_news_for_messages(pipeline):
    await read_list(pipeline, listed(race_date="2019-11-20"), listed("rc_2"))
    assert await pipeline.database.read(race_book_store.learnt) == ["rc_2"]


async def test_error_of_ours_in_filling_in_holds_up_no_alert(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await read_list(pipeline, listed())

    def broken(*_args, **_values):
        raise RuntimeError

    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.racedata.event_completion.filled_in", broken)
        await tell(pipeline, bare(), meeting("rc_1", date=DAY))
    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.fanout.plan.Plan.amend", broken)
        await tell(pipeline, bare("race.abandoned", "rc_2"), result("rc_2", date=DAY))
    assert [as_posted(text)[:9] for text in pipeline.texts("CGB")] == ["ABANDONED"] * 3 + ["CONFLICT:"]


async def test_reason_of_a_result_is_no_reason_of_an_abandonment(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(
        pipeline, result("rc_1", date=DAY) | {"reason": "Interference"}, abandonment("rc_1", reason=None, date=DAY)
    )
    assert "Interference" not in shown(pipeline.slack.messages("CGB")[1])


async def test_news_of_another_meeting_turn_no_field_back_to_an_older_source(pipeline):
    today = pipeline.clock().date().isoformat()
    await publish(pipeline)
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    card = {"meeting_id": "m1", "course": "Ascot", "date": today, "region": "IRE"}
    races = [{"race_id": "rc_1", "off_time": "14:35", "race_class": "2"}]
    await tell(pipeline, {"event": "racecard.published", "meeting": card, "races": races})
    await read_list(pipeline, listed(off="14:45", race_date=today))
    await tell(pipeline, bare())
    for number, course in enumerate(("York", "Ascot", "York", "Ascot")):
        await tell(pipeline, abandonment(f"rc_y{number}", course=course, date=today, off_time=f"15:{number}0"))
        assert pipeline.texts("CGB")[0] == "ABANDONED: Ascot 14:45 (GB)"
        assert "Class 4" in shown(pipeline.slack.messages("CGB")[0])
    assert pipeline.texts("CIRE") == []
    assert edits(pipeline.slack) == []


@pytest.mark.parametrize(
    ("shared", "called"), [({"title": "Maiden Hurdle"}, "time not given"), ({"number": "1"}, "race 1")]
)
async def test_race_that_several_races_may_be_has_none_of_their_times(pipeline, shared, called):
    await publish(pipeline, KEMPTON)
    await pipeline.subscribe("CGB", "GB")
    kempton = Course(name="Kempton")
    afternoon = listed("a1", course=kempton, off="13:00", **({"title": "Afternoon", "race_class": "2"} | shared))
    evening = listed("e1", course=kempton, off="18:00", **({"title": "Evening", "race_class": "2"} | shared))
    await read_list(pipeline, afternoon, evening)
    said = {"event": "race.abandoned", "course": "Kempton", "date": DAY}
    await tell(pipeline, said | shared)
    (message,) = pipeline.slack.messages("CGB")
    assert message.text.startswith(f"ABANDONED: Kempton, {called} (GB)")
    assert "Class 2" in shown(message)
    await tell(pipeline, said | shared | {"off_time": "18:00"})
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: Kempton 18:00 (GB)")


async def test_time_is_taken_back_once_a_second_race_may_be_meant(pipeline):
    await publish(pipeline, KEMPTON)
    await pipeline.subscribe("CGB", "GB")
    kempton = Course(name="Kempton")
    await read_list(pipeline, listed("a1", course=kempton, off="13:00", title="Maiden Hurdle"))
    await tell(pipeline, {"event": "race.abandoned", "course": "Kempton", "date": DAY, "title": "Maiden Hurdle"})
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Kempton 13:00 (GB)")
    await read_list(pipeline, listed("e1", course=kempton, off="18:00", title="Maiden Hurdle"))
    await pipeline.post_all()
    assert pipeline.texts("CGB")[0].startswith("ABANDONED: Kempton, time not given (GB)")


def of_kempton():
    kempton = Course(name="Kempton")
    return [
        listed("a1", course=kempton, off="13:00", title="Afternoon 1", meeting_id="m1"),
        listed("a2", course=kempton, off="13:30", title="Afternoon 2", meeting_id="m1"),
        listed("e1", course=kempton, off="18:00", title="Evening 1", meeting_id="m2"),
        listed("e2", course=kempton, off="18:30", title="Evening 2"),
    ]


@pytest.mark.parametrize(
    ("named", "shows"),
    [
        ({}, []),
        ({"meeting_id": "m1"}, ["Afternoon 1", "Afternoon 2"]),
        ({"meeting_id": "m2"}, ["Evening 1"]),
        ({"races": ["18:00", "18:30"]}, ["Evening 1", "Evening 2"]),
    ],
)
@pytest.mark.parametrize("steps", [[slice(None)], [slice(0, 1), slice(1, 2), slice(2, None)]])
async def test_of_two_meetings_at_one_course_and_day_ids_tell_the_races(pipeline, named, shows, steps):
    """Whether the race book knows both meetings from the first, or the second only after the message."""
    await publish(pipeline, KEMPTON)
    await pipeline.subscribe("CGB", "GB")
    first, *later = steps
    await read_list(pipeline, *of_kempton()[first])
    whole = {"event": "meeting.abandoned", "course": "Kempton", "date": DAY, "reason": "frost", **named}
    await tell(pipeline, whole)
    for step in later:
        await read_list(pipeline, *of_kempton()[step])
        await pipeline.post_all()
    (message,) = pipeline.slack.messages("CGB")
    titles = ["Afternoon 1", "Afternoon 2", "Evening 1", "Evening 2"]
    assert [title for title in titles if title in shown(message)] == shows


async def test_work_for_a_delivery_does_not_grow_with_the_events_of_the_day(pipeline, monkeypatch):
    await publish(pipeline)
    await pipeline.subscribe("CGB", "GB", CARDS)
    read = []
    known = event_store.known

    def noting(row):
        read.append(row.event_key)
        return known(row)

    monkeypatch.setattr("bot.events.event_store.known", noting)

    async def cards(first, last):
        for number in range(first, last):
            place = {"course": f"Course {number // 8}", "date": DAY, "region": "GB"}
            race = {"race_id": f"rc_{number}", "off_time": f"{12 + number % 8}:30", "title": "T", **place}
            await pipeline.deliver({"event": "racecard.published", "race": race})
        while await pipeline.fanout.run_once():
            continue

    taken = []
    for first in (0, 40, 80, 120):
        read.clear()
        await cards(first, first + 40)
        taken.append(len(read))
    assert taken == [taken[0]] * 4
    assert taken[0] <= 40
    read.clear()
    await pipeline.deliver(abandonment("rc_9", course="Course 1", date=DAY))
    await pipeline.fanout.run_once()
    assert len(read) <= 8 + 1

"""The lists of regions, courses and countries: kept, checked, and asked for."""

import asyncio
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from bot.errors import CommandError, RacingBotError, StorageError
from bot.events.races import Course
from bot.operations.jobs.job import HOUR_S
from bot.operations.jobs.routine_jobs import REFRESH_EVERY_S
from bot.racedata.client.records import KnownCourse
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    InvalidParam,
    NotFound,
    ServerFault,
    ServiceFailure,
    Spared,
    UnknownRefusal,
    UpgradeRequired,
)
from bot.racedata.lexicon import Lexicon, kept
from bot.racedata.near_misses import course_called, wrong_regions
from bot.racedata.reference_book import ReferenceBook
from tests.answering import failing
from tests.databases import empty
from tests.rows import over
from tests.sim.ports import VirtualLoop
from tests.unit.racedata.conftest import FakeClient, FakeTime

COURSES = [
    {"course_id": "cr_1", "name": "Ascot", "shortcode": "ASC", "country": "England", "region": "GB"},
    {"course_id": "cr_2", "name": "Naas", "shortcode": None, "country": "Ireland", "region": "IRE"},
    {"course_id": "cr_3", "name": "Newcastle", "country": "England", "region": "GB"},
    {"course_id": "cr_4", "name": "Newcastle", "country": "Australia", "region": "AUS"},
]
REFERENCE = {"regions": [{"value": "GB", "count": 9}, {"value": "gb", "count": 1}, {"value": "IRE", "count": 4}]}
ANSWERED = {"courses": COURSES, "reference": REFERENCE, "countries": [{"country_code": "GB"}]}
FAULT = ServerFault("reference", code="server_error", status=500)
NOT_IN_PLAN = UpgradeRequired("reference", code="upgrade_required", status=403)


async def never():
    await asyncio.Event().wait()


@pytest.fixture
def book(database, client, clock):
    client.answers = dict(ANSWERED)
    return ReferenceBook(database, client, clock)


ALL, OF_COURSES = "GB gb IRE", "AUS GB IRE"
ANSWERS: dict[str, Any] = {
    "FAULT": FAULT,
    "NOT_IN_PLAN": NOT_IN_PLAN,
    "NOT_VALID": InvalidParam("reference", code="invalid_param", status=422),
    "COURSES": COURSES,
    "NONE": [],
    "EMPTY": {},
    "NO_REGIONS": {"goings": ["Good"]},
    "UNREADABLE": AnswerUnreadable("reference", status=200),
    "NOT_FOUND": NotFound("reference", status=404),
    "FORBIDDEN": UnknownRefusal("reference", code="forbidden", status=403),
}
STORIES = {
    "as published, once a day": (
        f"regions {ALL}, +23 hours, regions {ALL}, asked reference, +2 hours, regions {ALL}, asked reference"
    ),
    "read anew after the clock was set back": (
        f"+72 hours, courses, regions {ALL}, -72 hours, courses FAULT, courses, regions {ALL}, +0.1 hours, "
        "courses COURSES, courses, asked courses reference courses reference courses"
    ),
    "stale where the service fails": (
        f"regions {ALL}, reference FAULT, +48 hours, regions {ALL}, asked reference reference"
    ),
    "unknown where neither comes, and not asked again at once": (
        "courses FAULT, reference FAULT, regions None, regions None, asked reference courses, +0.1 hours, "
        "regions None, asked reference courses"
    ),
    "of the courses where the plan has no reference": f"reference NOT_IN_PLAN, regions {OF_COURSES}, refreshed",
    **{
        f"of the courses where reference is {answer}": (
            f"regions {ALL}, +48 hours, reference {answer}, asked reference, regions {OF_COURSES}, courses, "
            f"+0.1 hours, regions {OF_COURSES}, courses, +0.1 hours, regions {OF_COURSES}, asked reference courses"
        )
        for answer in ("EMPTY", "NO_REGIONS", "UNREADABLE", "NOT_IN_PLAN", "NOT_FOUND", "FORBIDDEN")
    },
    "a fresh list is not asked for with the other": (
        f"regions {ALL}, courses, +48 hours, reference FAULT, regions {ALL}, asked reference courses reference, "
        f"+0.1 hours, regions {ALL}, courses, asked reference courses"
    ),
    "a refused list is asked for again after an hour": (
        f"regions {ALL}, +48 hours, reference NOT_VALID, asked reference, "
        f"regions {ALL}, +0.3 hours, regions {ALL}, +0.3 hours, regions {ALL}, +0.3 hours, "
        f"refresh fails with invalid_param, asked reference courses countries, +0.2 hours, regions {ALL}, "
        "asked reference"
    ),
    "courses that come later tell the regions": (
        f"courses FAULT, reference NOT_IN_PLAN, regions None, courses COURSES, +0.1 hours, regions {OF_COURSES}, "
        "asked reference courses courses"
    ),
    "stale courses tell no regions": "courses, +48 hours, courses FAULT, reference NOT_IN_PLAN, regions None",
    "a refresh asks for what is stale": f"regions {ALL}, refreshed, refreshed, asked reference courses countries",
    "a refresh is good where the courses tell the regions": f"reference NOT_FOUND, refreshed, regions {OF_COURSES}",
    "a refresh goes on after a failure": (
        f"courses FAULT, refresh fails with server_error, asked courses reference countries, regions {ALL}"
    ),
    "a refresh that reads nothing is no good refresh": (
        "refreshed, +48 hours, courses NONE, refresh fails with could not be read"
    ),
}


@over("name", STORIES)
async def test_regions_are_as_the_story_says(database, name):
    empty(database)
    client: Any = FakeClient(answers=dict(ANSWERED))
    clock = FakeTime()
    book = ReferenceBook(database, client, clock)
    for step in STORIES[name].split(", "):
        match step.split(" "):
            case ["regions", *codes]:
                assert await book.regions() == (None if codes == ["None"] else tuple(codes)), step
            case ["courses"]:
                await book.courses()
            case [("courses" | "reference") as path, answer]:
                client.answers[path] = ANSWERS[answer]
            case ["asked", *paths]:
                assert client.asked == paths, step
                client.asked.clear()
            case ["refreshed"]:
                await book.keep_fresh()
            case ["refresh", "fails", "with", *why]:
                with pytest.raises(RacingBotError, match=" ".join(why)):
                    await book.keep_fresh()
            case [passed, "hours"]:
                clock.pass_(hours=float(passed))
            case _:
                raise AssertionError(step)


async def test_words_are_taken_as_typed_where_no_list_comes(book, client):
    client.answers = {"courses": FAULT, "reference": FAULT}
    known = await book.lexicon(1)
    assert wrong_regions(known, ["GB"]) is None
    assert course_called(known.courses, "Ascot") == Course(name="Ascot")


@pytest.mark.parametrize("reference", [FAULT, NOT_IN_PLAN], ids=["of all lists", "of the lists in the plan"])
async def test_outage_costs_upkeep_a_request_a_run_and_its_end_is_seen_at_the_next(*, book, client, clock, reference):
    client.answers = {"courses": FAULT, "reference": reference, "countries": FAULT}
    for _ in range(2 * HOUR_S // REFRESH_EVERY_S):
        with pytest.raises(ServiceFailure):
            await book.keep_fresh()
        clock.pass_(seconds=REFRESH_EVERY_S)
    asked = Counter(client.asked)
    assert asked == {"courses": 24, "countries": 24, "reference": 24 if reference is FAULT else 2}
    client.answers |= ANSWERED
    await book.keep_fresh()
    assert await book.regions() == tuple(ALL.split())


async def test_lists_that_are_spared_for_upkeep_are_read_for_a_person(book, client):
    spared = Spared("courses")
    upkeep = FakeClient(answers={"courses": spared, "reference": spared, "countries": spared})
    client.for_upkeep = lambda: upkeep
    await book.keep_fresh()
    assert len((await asyncio.gather(book.keep_fresh(), book.courses()))[1] or ()) == len(COURSES)
    assert client.asked == ["courses"]


async def test_job_and_people_share_a_refresh_of_each_list_and_a_lexicon_until_the_lists_change(
    book, database, client, clock
):
    await asyncio.gather(book.keep_fresh(), *(book.regions() for _ in range(5)), book.courses(), book.countries())
    assert sorted(client.asked) == ["countries", "courses", "reference"]
    first = await book.lexicon()
    assert (first.region_of_course(Course(name="Naas")), first.regions) == ("IRE", ("GB", "gb", "IRE"))
    assert await book.lexicon() is first
    assert await database.read(kept) is first
    client.answers["courses"] = COURSES[:1]
    clock.pass_(hours=48)
    assert [one.name for one in (await book.lexicon()).courses] == ["Ascot"]


async def test_check_gives_up_in_time_and_the_refresh_goes_on(book, client):
    release = asyncio.Event()

    async def slowly():
        await release.wait()
        return REFERENCE

    client.answers["reference"] = slowly
    assert await book.regions(0.02) is None
    release.set()
    assert "GB" in (await book.regions(5) or ())
    assert client.asked == ["reference"]


def test_all_lists_together_take_no_longer_than_one_and_a_refresh_ends_with_the_book(book, client):
    ended = []

    async def endlessly():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    client.answers = {"courses": never, "reference": endlessly}
    with closing(VirtualLoop()) as loop:
        began_s = loop.time()
        found = loop.run_until_complete(book.lexicon(3))
        assert round(loop.time() - began_s) == 3
        assert ended == []
        loop.run_until_complete(book.aclose())
    assert (found.regions, found.courses, ended) == ((), (), [True])


def test_region_is_checked_exactly():
    known = Lexicon(ALL.split())
    assert wrong_regions(known, ["gb"]) is None
    told = 'There is no region "Ire". Did you mean "IRE"? Regions: GB, gb, IRE.'
    assert str(wrong_regions(known, ["Ire"])) == told


def course(course_id, name, region="GB", shortcode=None, country="England"):
    return KnownCourse(course_id=course_id, name=name, region=region, shortcode=shortcode, country=country)


NAMED = [
    *map(KnownCourse.model_validate, COURSES),
    *(course("cr_6", "Wolverhampton (AW)"), course("cr_7", "Ascot (AUS)", "AUS")),
    *(course("cr_8", "Curragh (AW)", "IRE"), course("cr_9", "Curragh (Jumps)", "IRE")),
    course("cr_5", "The Oval", "IRE", "CUR"),
]
TYPED = dict.fromkeys(("cr_1", "Ascot", "ascot", "ASC"), "cr_1")
TYPED |= dict.fromkeys(("Wolverhampton", "wolverhampton", "Wolverhampton AW"), "cr_6")
# The typed words, a part of the refusal, and the offered names.
REFUSED: list[tuple[str, str, list[str] | dict[str, Any]]] = [
    ("ascott", r'no course "ascott"\. Did you mean "Ascot"', ["Ascot", "Ascot (AUS)"]),
    # Once, though the shortcode too is like the typed words.
    ("asct", r'Did you mean "Ascot"', ["Ascot", "Ascot (AUS)"]),
    ("x" * 40_000, r'"x{80}…"\.$', []),
    ("Curragh", r"Which Curragh\?", ["Curragh (AW) (IRE, cr_8)", "Curragh (Jumps) (IRE, cr_9)"]),
    ("Newcastle", r"Which Newcastle\?", ["Newcastle (GB)", "Newcastle (AUS)"]),
    # Offered by its shortcode, and called by its name.
    ("Curs", r'Did you mean "The Oval"\?$', {"The Oval": {"course:Curs": "The Oval"}}),
]


def test_course_is_found_by_id_name_or_shortcode_and_without_its_bracket():
    assert {typed: course_called(NAMED, typed).course_id for typed in TYPED} == TYPED
    ascot = course_called(NAMED, "ASC")
    assert ascot == Course(course_id="cr_1", name="Ascot", country="England")
    called = [ascot, *(Course(name=name) for name in ("Ascot (GB)", "Ascot (NZ)", "Wolverhampton (AW)"))]
    assert [*map(Lexicon(("GB",), NAMED).region_of_course, called)] == ["GB", "GB", None, "GB"]


@pytest.mark.parametrize(("typed", "told", "offered"), REFUSED, ids=[typed[:9] for typed, *_ in REFUSED])
def test_unknown_or_ambiguous_course_is_refused_with_near_courses(typed, told, offered):
    with pytest.raises(CommandError, match=told) as caught:
        course_called(NAMED, typed)
    assert (caught.value.offers if isinstance(offered, dict) else list(caught.value.offers)) == offered


async def test_lists_that_cannot_be_kept_are_not_asked_for_at_once_again(book, database, client, monkeypatch):
    monkeypatch.setattr(database, "write", failing(StorageError("the disk is full")))
    assert await book.regions() is None
    assert await book.courses() is None
    assert [await book.regions(), await book.courses()] == [None, None]
    assert client.asked == ["reference", "courses"]


async def test_countries_are_kept_for_a_day_and_stale_ones_are_better_than_none(book, client, clock):
    client.answers["countries"] = FAULT
    assert (await book.known_countries(), await book.countries(1.0)) == ((), None)
    clock.pass_(hours=1)
    client.answers["countries"] = [{"country_code": "ITY", "full_result_order": False, "position_pct": 0.6, "note": 7}]
    (italy,) = await book.countries(1.0)
    assert (italy.full_result_order, italy.position_pct, italy.note) == (False, 0.6, "7")
    await book.countries(1.0)
    assert client.asked == ["countries"] * 2
    clock.pass_(hours=25)
    client.answers["countries"] = FAULT
    assert await book.countries(1.0) == (italy,)
    assert await book.known_countries() == (italy,)


@pytest.mark.parametrize("name", ["courses", "countries"])
async def test_list_that_did_not_come_is_told_why(database, client, clock, name):
    for answer, why in ((UnknownRefusal(name, status=410), UnknownRefusal), ([], CommandError), (never, TimeoutError)):
        client.answers = {"courses": answer, "countries": answer, "reference": REFERENCE}
        book = ReferenceBook(database, client, clock)
        assert (
            await {"courses": book.courses, "countries": book.countries}[name](0.02 if answer is never else 5.0) is None
        )
        assert isinstance(book.why_none(name), why)


async def test_course_without_a_name_is_left_out_and_a_list_of_these_is_not_answered(book, client, clock):
    client.answers["courses"] = [{}, {"course_id": "cr_9", "region": "GB"}]
    assert await book.courses() is None
    assert "could not be read" in str(book.why_none("courses"))
    clock.pass_(hours=2)
    client.answers["courses"] = [{}, {"name": " ", "shortcode": "X"}, {"course_id": "cr_9"}, COURSES[0]]
    assert [one.name for one in await book.courses() or ()] == ["Ascot"]

"""`/racing coverage` and `/racing courses`."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import CommandError
from bot.racedata.client.service_errors import Unauthorized
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_store import KnownCountry, KnownCourse
from bot.slack.commands import courses, coverage
from bot.slack.commands.invocation import Invocation
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX

COUNTRIES = (
    KnownCountry(
        country_code="GB",
        name="Great Britain",
        races=123_456,
        full_result_order=True,
        position_pct=0.998,
        official_rating=True,
        race_class=True,
        winning_times=False,
    ),
    KnownCountry(country_code="QAT", name="Qatar", note="<!here> only"),
    KnownCountry(),
)
COURSES = (
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB", country="England", meetings=1_200),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia"),
    KnownCourse(course_id="cr_3", name="Naas", region="IRE", first_meeting="2017-01-02", last_meeting="2026-11-20"),
    KnownCourse(),
)


def desk(countries=COUNTRIES, known=COURSES, why=None) -> Any:
    async def give_countries(_timeout_s):
        return countries

    async def give_courses(_timeout_s):
        return known

    async def give_lexicon(_timeout_s):
        regions = sorted({course.region for course in known if course.region})
        return Lexicon(regions, known, countries)

    given = SimpleNamespace(
        countries=give_countries, courses=give_courses, lexicon=give_lexicon, why_none=lambda name: why[name]
    )
    return SimpleNamespace(reference=given)


async def answered(command, text, at=None):
    return await command.answer(at or desk(), Invocation(text, "C1", "U1", "cmd-1"), None)


def lines(message):
    sections = [block["text"]["text"] for block in message.blocks if block["type"] == "section"]
    return [line for section in sections for line in section.split("\n")]


async def test_coverage_tells_what_each_country_publishes():
    gb, qatar, unnamed = lines(await answered(coverage, ""))
    assert gb == (
        "• *GB* Great Britain · 123,456 races · full finishing order (99.8% of runners have a recorded position) · "
        "official ratings, race class · not published: winning times"
    )
    assert "&lt;!here&gt; only" in qatar
    assert "None" not in qatar + unnamed


@pytest.mark.parametrize("typed", ["QAT", "qat", "Qatar", ' "Qatar" '])
async def test_coverage_of_one_country_is_found_by_code_or_name(typed):
    assert len(lines(await answered(coverage, typed))) == 1


async def test_coverage_of_none_is_told_what_would_be_right():
    with pytest.raises(CommandError, match="Did you mean Qatar or QAT") as caught:
        await answered(coverage, "qta")
    assert caught.value.offers["QAT"] == {"qta": "QAT"}


@pytest.mark.parametrize(
    ("typed", "ids"),
    [
        ("ascot", ["cr_1", "cr_2"]),
        ("asc", ["cr_1", "cr_2"]),
        ("ascot gb", ["cr_1"]),
        ("gb", ["cr_1"]),
        ("western australia ascot", []),
        ("cr_3", ["cr_3"]),
        ("NAA", ["cr_3"]),
    ],
)
async def test_courses_are_found_by_any_part_of_their_name(typed, ids):
    if not ids:
        with pytest.raises(CommandError, match="No course has"):
            await answered(courses, typed)
        return
    found = lines(await answered(courses, typed))
    assert sorted(line.split("`")[1] for line in found) == ids


async def test_courses_are_shown_as_commands_take_them():
    (naas,) = lines(await answered(courses, "naas"))
    assert naas == "• *Naas* · IRE · 2017-01-02 to 2026-11-20 · `cr_3`"
    (ascot,) = lines(await answered(courses, "asc gb"))
    assert ascot == "• *Ascot* (ASC) · GB, England · 1,200 meetings · `cr_1`"


async def test_courses_say_how_many_races_they_have_had():
    known = (KnownCourse(name="One", races=1, meetings=1), KnownCourse(name="Two", races=12_345), KnownCourse(name="X"))
    one, two, none = lines(await answered(courses, "", desk(known=known)))
    assert one == "• *One* · 1 race · 1 meeting"
    assert two == "• *Two* · 12,345 races"
    assert none == "• *X*"


async def test_courses_without_number_are_paged_within_slacks_limits():
    name = "Course & " + "x" * 200
    many = tuple(KnownCourse(course_id=f"cr_{number}", name=f"{number} {name}") for number in range(500))
    pages = [await answered(courses, "course", desk(known=many))]
    while f"page:{len(pages) + 1}" in str(pages[-1].blocks):
        pages.append(await answered(courses, f"course page:{len(pages) + 1}", desk(known=many)))
    for message in pages:
        assert len(message.blocks) <= BLOCKS_MAX
        assert weight(message.blocks) <= MESSAGE_MAX
    seen = [line.split("`")[1] for message in pages for line in lines(message)]
    assert sorted(seen) == sorted(course.course_id or "" for course in many)


async def test_lists_that_never_came_are_refused_with_what_the_service_said():
    refused = {name: Unauthorized(name, status=401, request_id="req_7") for name in ("countries", "courses")}
    for name, command in (("countries", coverage), ("courses", courses)):
        with pytest.raises(Unauthorized) as caught:
            await answered(command, "", desk(None, None, refused))
        assert caught.value is refused[name]

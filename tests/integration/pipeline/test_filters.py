"""Mutes and mentions of a channel, and regions as meant."""

from functools import partial

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels import mutes
from bot.channels.filters import Meeting
from bot.db.tables import BookRace, EventVersion
from bot.events.event import Topic
from bot.events.facts import VersionRemarks
from bot.events.races import Course
from bot.outbox.channel_move import move_channel
from bot.racedata.client.records import KnownCountry, KnownCourse
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.steps import abandonment, kinds, meeting, result, shown, tell, traced, write
from tests.integration.pipeline.stories import (
    AUS_ASCOT,
    GB_ASCOT,
    Story,
    bare,
    knows,
    listed,
    lists,
    play,
    rows,
    so_far,
    subscribes,
)

ASCOT = Meeting(course=Course(name="Ascot"), race_date=DAY)
BY_A_CARD = {"event": "racecard.published"}
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}


async def mute(pipeline, meeting=ASCOT, channel="CGB"):
    return await write(pipeline, mutes.mute, channel, meeting, "UALICE", pipeline.clock())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [result(), result("rc_2", course="York")], ["Result: York"]),
        ([], [abandonment(), result()], [". ABANDONED: Ascot 14:30", "before you act"]),
        ([], [result(status="abandoned", placings=()) | BY_A_CARD], ["ABANDONED: Ascot 14:30"]),
        # A changed winner is told where the winner was told before the mute.
        ([result()], [result(**RED_FIRST)], ["Superseded", "Two versions disagree: Ascot"]),
    ],
    ids=["results", "contradiction", "marked by a card", "winner told before"],
)
async def test_muted_meeting_posts_abandonments_and_what_they_or_told_winners_need(pipeline, before, after, told):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic))
    await tell(pipeline, *before)
    await mute(pipeline)
    await tell(pipeline, *after)
    for message, words in zip(pipeline.slack.messages("CGB"), told, strict=True):
        assert words in message.text
    assert await pipeline.waiting() == {}


async def test_ledger_says_who_muted(gb):
    await gb.subscribe("CALL", "*")
    await mute(gb)
    await tell(gb, result())
    (version,) = (await traced(gb)).versions
    told = {one.channel_id: (str(one.outcome), one.muted_by) for one in version.told}
    assert told == {"CGB": ("muted", "UALICE"), "CALL": ("posted", None)}


async def test_mute_of_another_day_meeting_or_channel_holds_nothing(gb):
    await mute(gb, ASCOT.model_copy(update={"race_date": "2026-11-19"}))
    await mute(gb, Meeting(meeting_id="mt_2", course=Course(name="Ascot"), race_date=DAY))
    await mute(gb, channel="CIRE")
    await tell(gb, result("rc_1", meeting_id="mt_1"))
    assert kinds(gb) == ["Result"]


@on_both
async def test_mute_is_made_once_ends_once_and_follows_its_channel(pipeline):
    number = await mute(pipeline)
    assert await mute(pipeline) == number
    await write(pipeline, move_channel, "CGB", "CNEW")
    end = partial(write, pipeline, mutes.end, number=number, now=pipeline.clock())
    assert await end(channel_id="CGB") is None
    assert await end(channel_id="CNEW") == ASCOT
    assert await end(channel_id="CNEW") is None
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    assert kinds(pipeline) == ["Result"]


async def test_abandonments_ring_whom_their_filters_say_and_results_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("UALICE", "SDESK"))
    await pipeline.subscribe("CGB", "*", mentions=("UALICE", "here"))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, abandonment("rc_1"), meeting("rc_2", course="York", meeting_id="mt_9"), result("rc_3"))
    await tell(pipeline, result("rc_4", status="void"))
    lost, card, won, void = pipeline.slack.messages("CGB")
    for message in (lost, card, void):
        assert message.text.endswith(" <@UALICE> <!subteam^SDESK> <!here>")
        assert "<@UALICE> <!subteam^SDESK> <!here>" in str(message.blocks)
    assert "UALICE" not in shown(won)
    assert not any("UALICE" in shown(message) for message in pipeline.slack.messages("CALL"))


# Regions in words, or missing: the meant region, and no abandonment hidden while the region is uncertain


WON = [{"position": 1, "horse": "A"}]
IN_GB = subscribes("CGB", "GB")
AT_1430 = "^ABANDONED: Ascot 14:30 (GB)"


NEWMARKET = {one: Course(course_id=f"cr_{one}", name=f"Newmarket ({one})") for one in ("July", "Rowley")}
YORK, HAYDOCK = Course(course_id="cr_1", name="York"), Course(course_id="cr_2", name="Haydock Park")


NAMESAKES = {
    "meeting": {"event": "meeting.abandoned", "course": "Ascot", "date": DAY},
    "race": {"event": "race.abandoned", "course": "Ascot", "date": DAY, "off_time": "05:10"},
    "race by id": {"event": "race.abandoned", "race_id": "rc_new", "course": "Ascot", "date": DAY, "off_time": "05:10"},
    "meeting in capitals": {"event": "meeting.abandoned", "course": "ASCOT", "date": DAY},
}
PERTH = {"off": "05:10", "title": "Perth Handicap", "region": "AUS"}
AUSTRALIAN = {
    "delivered": (result("rc_aus", region="AUS", off_time="05:10", title="Perth Handicap"), [""]),
    "listed": (lists(listed("rc_aus", **PERTH), region="AUS"), []),
}
SWAN = lists(listed("rc_2", off="05:40", title="Swan Plate", region="AUS"), region="AUS")
OF_NO_REGION = "(region unknown) | !Perth Handicap | !Swan Plate"
NAMESAKE = {
    # The region, races and times of the namesake are filled in neither before nor after the message is posted.
    f"{name}, namesake {how}, {len(courses)} courses known": Story(
        *(knows(*courses), subscribes("CIRE", "AUS"), IN_GB, AUSTRALIAN[how][0], NAMESAKES[name], SWAN),
        CGB=[OF_NO_REGION],
        CIRE=[*AUSTRALIAN[how][1], OF_NO_REGION],
    )
    for courses, how, names in (
        ((GB_ASCOT, AUS_ASCOT), "listed", [*NAMESAKES]),
        ((GB_ASCOT, AUS_ASCOT), "delivered", ["meeting"]),
        ((), "delivered", ["race"]),
    )
    for name in names
}

ATLANTIS = {"course": "Ascot", "date": DAY, "region": "Atlantis"}
REGIONS = {
    "of the only course of the name": Story(
        knows(GB_ASCOT), lists(listed()), NAMESAKES["meeting"], CGB=["+Title rc_1"], CIRE=[]
    ),
    "of the list of courses alone": Story(knows(GB_ASCOT, regions=()), abandonment(region=None), CGB=[""], CIRE=[]),
    "name of the country": Story(
        *(knows(GB_ASCOT), abandonment(region="Great Britain"), result(region="Great Britain")),
        CGB=["(GB)", ""],
        CIRE=[],
    ),
    "name of a listed country": Story(
        *(knows(countries=[KnownCountry(name="New South Wales", country_code="AUS")]), subscribes("CIRE", "AUS")),
        abandonment(region="New South Wales"),
        CGB=[],
        CIRE=["(AUS)"],
    ),
    "of the country of a course outside the list": Story(
        *(knows(GB_ASCOT), subscribes("CIRE", "IRE"), result(region=None, course={"name": "Bath", "country": "UK"})),
        abandonment("rc_2", region=None, course={"name": "Bath", "country": "UK"}),
        abandonment("rc_5", region=None, course="Newtown (IRE)"),
        # The list contradicts the country, or another region is said.
        result("rc_3", region=None, course={"name": "Ascot", "country": "Ireland"}),
        abandonment("rc_6", region=None, course={"name": "Ascot", "country": "Ireland"}),
        abandonment("rc_7", region="Ulster", course={"name": "Bath", "country": "Ireland"}),
        # The region of record comes before the country.
        *(
            result("rc_4", region="IRE", course="Bath"),
            result("rc_4", region=None, course={"name": "Bath", "country": "UK"}),
        ),
        CGB=["Bath", "Bath 14:30 (GB)", "region unknown", "Ulster"],
        CIRE=["Newtown", "region unknown", "Ulster", "Bath 14:30 (IRE)"],
    ),
    "course in another spelling than in the list": Story(
        knows(GB_ASCOT, AUS_ASCOT, bangor := KnownCourse(course_id="cr_5", name="Bangor-on-Dee", region="GB")),
        subscribes("CGB", "GB", courses=(bangor.as_course, GB_ASCOT.as_course)),
        *(abandonment("rc_2", region=None, course="ASCOT (GB)"), abandonment("rc_3", course="Bangor on Dee")),
        *(abandonment("rc_4", region=None, course="Ascot (AUS)"), abandonment("rc_5", region="FR", course="Bangor")),
        CGB=["^ABANDONED: Ascot 14:30 (GB)", "^ABANDONED: Bangor-on-Dee 14:30 (GB)"],
    ),
    "course in other words than in the list": Story(
        knows(*(KnownCourse(**dict(one) | {"region": "GB"}) for one in (*NEWMARKET.values(), YORK, HAYDOCK))),
        *(subscribes("CGB", "GB", courses=(YORK, NEWMARKET["July"])), subscribes("CALL", courses=(HAYDOCK,))),
        *(abandonment("rc_2", course="York Racecourse"), abandonment("rc_3", region=None, course="York Races")),
        *(abandonment("rc_4", course="Newmarket"), abandonment("rc_5", course="Newmarket (Rowley)")),
        *(
            abandonment("rc_6", course="Haydock"),
            result("rc_7", course="Newmarket"),
            abandonment("rc_8", course="Park"),
        ),
        # An id tells more than a name.
        abandonment("rc_9", course={"id": "cr_9", "name": "Haydock"}),
        CGB=["^ABANDONED: York 14:30 (GB)", "York Races 14:30 (region unknown)", "^ABANDONED: Newmarket 14:30 (GB)"],
        CALL=["^ABANDONED: Haydock Park 14:30 (GB)"],
    ),
    "of no channel": Story(knows(), abandonment(region="FR"), CGB=[], CIRE=[]),
    "understood by nobody": Story(
        # The only course of the name is in GB; the delivery says something else.
        knows(GB_ASCOT),
        subscribes("CALL", "Atlantis"),
        lists(listed()),
        {"event": "race.abandoned", "off_time": "15:05", **ATLANTIS},
        {"event": "meeting.abandoned", **ATLANTIS},
        result("rc_9", region="Atlantis", off_time="15:00"),
        # The list of races is proof, because the list has the race's id.
        bare("result.received", region="Atlantis", runners=WON),
        CGB=["", "", ""],
        CIRE=["(Atlantis) | !Title rc_1"] * 2,
        CALL=["", "", "", ""],
    ),
    "word that a channel has chosen": Story(
        *(knows(), subscribes("CGB", "AUS"), subscribes("CIRE", "AU"), abandonment(region="AU", course="Flemington")),
        CGB=[""],
        CIRE=[""],
    ),
    "code that a channel has chosen, not listed": Story(
        knows(), subscribes("CGB", "NZ", Topic.RESULTS), result(region="NZ"), CGB=[""]
    ),
    "code in a channel's wrong case": Story(
        IN_GB, subscribes("CIRE", "gb"), knows(), abandonment(region="gb"), CGB=[""]
    ),
    "name before the list of regions": Story(
        abandonment(region="GBR"),
        abandonment("rc_2", region="IRE", course="Naas"),
        so_far(CGB=[""], CIRE=["", ""]),
        knows(GB_ASCOT),
        # News of the race: the region is read anew, by the list.
        result(region="GBR"),
        CGB=["Ascot 14:30 (GB)", ""],
        CIRE=["", "", ""],
    ),
    "name in the race book": Story(
        *({"event": "racecard.published", "race": abandonment(region="Great Britain")["race"]}, knows()),
        abandonment(region="Great Britain"),
        CGB=[""],
    ),
    "name in a correction": Story(
        *(knows(), result(date=None), result(date=None, region="England", placings=("Red Sky", "Blue Moon"))),
        CGB=["", "^Two versions disagree"],
    ),
    "result's, known later": Story(
        *(result(region=None), result(), result() | {"attempt": 3}),
        edits=1,
        CGB=["^Result: Ascot 14:30 (GB)"],
        CALL=["Added"],
    ),
    "abandonment's, known later": Story(
        abandonment(region=None), abandonment(), edits=2, CGB=["!region unknown"], CIRE=["!region unknown"]
    ),
    "changed": Story(abandonment(region="IRE"), abandonment(), CGB=[AT_1430], CIRE=["region is IRE or GB"]),
    "course changed": Story(
        *(subscribes("CGB", courses=(Course(name="Ascot"),)), subscribes("CALL", courses=(Course(name="Kempton"),))),
        *(result(), result(course="Kempton")),
        CGB=["course is Ascot or Kempton"],
        CALL=[""],
    ),
    "nothing of the place": Story(
        subscribes("CIRE", "IRE", Topic.ABANDONMENTS, not_courses=(Course(name="Ascot"),)),
        *(subscribes("CALL", "*", Topic.RESULTS), abandonment(region=None, course=None)),
        CGB=[""],
        CIRE=[""],
        CALL=[],
    ),
} | {
    f"country of the {lost} alone": Story(
        {
            "event": f"{lost}.abandoned",
            lost: {f"{lost}_id": "id_1", "date": DAY, "course": {"country": "Ireland"}},
            "reason": "frost",
        },
        CALL=["^ABANDONED"],
    )
    for lost in ("race", "meeting")
}

ITALY = KnownCountry(country_code="ITY", name="Italy", full_result_order=False, position_pct=0.612)
BRITAIN = KnownCountry(country_code="GB", name="Great Britain", full_result_order=True)
PARTIAL = "Italy does not publish the full finishing order: 61% of runners have a recorded position."
PARTIAL_ORDER = {
    "result of a partial order": Story(
        *(knows(countries=[ITALY, BRITAIN], regions=()), result("rc_1", region="ITY"), result("rc_2")),
        abandonment("rc_3", region="ITY"),
        CALL=[f"+{PARTIAL}", f"!{PARTIAL}", f"!{PARTIAL}"],
    )
}

STORIES = NAMESAKE | REGIONS | PARTIAL_ORDER


@rows(STORIES, "country of the meeting alone")
async def test_region(pipeline, story):
    await play(pipeline, story)


async def test_name_of_a_region_does_not_get_into_the_race_book_where_codes_are_known(pipeline):
    await knows()(pipeline)
    race = abandonment(region="Atlantis")["race"]
    await tell(pipeline, {"event": "racecard.published", "race": race}, meeting("rc_2", region="Atlantis"))
    assert await column(pipeline, col(BookRace.region)) == ["", ""]


async def test_version_that_only_adds_takes_nothing_back(pipeline):
    await tell(pipeline, result(region=None), result())
    first, second = await column(pipeline, col(EventVersion.remarks))
    assert first is None
    (added,) = VersionRemarks.model_validate_json(second).changes
    assert (added.field, added.before, added.now, added.is_addition) == ("race.region", None, "GB", True)


async def column(pipeline, name):
    return await pipeline.database.read(lambda session: list(session.execute(select(name)).scalars()))

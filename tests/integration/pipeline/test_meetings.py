"""Meeting over race: each lost race is told once, no race with a result is called lost, and whoever was told of a loss
is told of the contradiction.
"""

from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.racedata import day_views
from tests.clock import DAY
from tests.integration.pipeline.steps import abandonment, meeting, pause, result, shown, tell
from tests.integration.pipeline.stories import (
    Story,
    bare,
    links,
    listed,
    lists,
    passes,
    play,
    resumes,
    rows,
    slack_answers,
    so_far,
    subscribes,
)

CLOSED, UNHEARD = "edit_window_closed", ["msg_too_long"] * 3
LOST, WON = abandonment(None, reason="flood"), result(None)


def named_at(off, *race_ids):
    whole = meeting(*race_ids)
    whole["races"][0]["off_time"] = off
    return whole


FOLDED = {
    "named by the meeting": Story(
        named_at("14:30", "rc_1", "rc_2"), abandonment("rc_1"), edits=0, CGB=["^ABANDONED: Ascot, whole meeting"]
    ),
    "named, with a reason of its own": Story(
        meeting("rc_1", "rc_2"), abandonment("rc_1", reason="a loose horse"), CGB=["2 races | +a loose horse"]
    ),
    "of two meetings, named by the first": Story(
        *(meeting("rc_1", reason="fog"), meeting(meeting_id=None, region=None, reason="snow")),
        abandonment("rc_1", reason="a loose horse"),
        CALL=["+a loose horse", "!a loose horse"],
    ),
    "of two meetings, named by the second": Story(
        *(meeting(meeting_id=None, region=None, reason="snow"), meeting("rc_1", reason="fog")),
        abandonment("rc_1", reason="a loose horse"),
        CALL=["!a loose horse", "+a loose horse"],
    ),
    "before the meeting": Story(
        *(links, abandonment("rc_1"), meeting("rc_1", "rc_2")),
        edits=1,
        CGB=["^ABANDONED: | Part of the abandoned meeting: <https://example.slack.com/archives/CGB/p | >2", "2 races"],
    ),
    "queued with the meeting": Story(
        links, (abandonment("rc_1"), meeting("rc_1")), edits=1, CGB=["Part of the abandoned meeting | >2", ""]
    ),
    "in a channel without the meeting's message": Story(
        meeting("rc_1"), subscribes("CALL"), abandonment("rc_1"), edits=1, CGB=[""], CALL=[""]
    ),
    "of a meeting that could not be posted": Story(
        *(slack_answers("post", *UNHEARD), (meeting("rc_1"), abandonment("rc_1"))),
        waiting={"dead_letter": 1},
        CGB=["^ABANDONED: Ascot 14:30"],
    ),
    "edit refused": Story(
        slack_answers("edit", CLOSED), meeting(), abandonment("rc_1"), CGB=["", "^ABANDONED: Ascot 14:30"]
    ),
    "folded, then called postponed": Story(
        *(meeting("rc_1", "rc_2"), abandonment("rc_1", status="Cancelled"), so_far(CGB=["2 races"])),
        abandonment("rc_1", status="Postponed"),
        CGB=["2 races", "Two versions disagree: the race is abandoned or postponed"],
    ),
    "link refused": Story(slack_answers("edit", CLOSED), abandonment("rc_1"), meeting("rc_1"), CGB=["", ""]),
}


def with_states(*states):
    listed = meeting(*(f"rc_{number}" for number, _ in enumerate(states, 1)))
    races = [race | {"status": state} for race, state in zip(listed["races"], states, strict=True)]
    return listed | {"races": races}


def lost(number):
    return abandonment(f"rc_{number}", race_number=number, off_time=f"{13 + number}:00", reason="fog")


IN_PART = {
    f"{extent}, another race, {order}": Story(*steps, CGB=["of the meeting", "^ABANDONED: Ascot 15:00 | fog"])
    for extent, part in {
        "last two races": meeting(status="Last two races abandoned"),
        "from race 6 on": meeting(from_race=6),
        "from 16:00 on": meeting() | {"abandoned_from": "16:00"},
        "partly": meeting(reason="Partly abandoned"),
        "races by number": meeting(status="Races 3 and 5 abandoned"),
        "a kind of race": meeting(status="Hurdle races abandoned"),
        "the lost races alone": meeting() | {"abandoned_races": ["16:00", "17:00"]},
    }.items()
    for order, steps in (("later", (part, lost(2))), ("in one batch", ((part, lost(2)),)))
} | {
    "from race 3 on, a lost race": Story(meeting(from_race=3), lost(4), CGB=["+fog"]),
    "a lost race by number": Story(meeting(status="Races 3 and 5 abandoned"), lost(3), CGB=["+fog"]),
    "a lost race by time": Story(meeting() | {"abandoned_from": "16:00"}, lost(3), CGB=["+fog"]),
    "told before the meeting": Story(lost(2), meeting(from_race=6), CGB=["^ABANDONED: Ascot 15:00", ""]),
    "told again": Story(meeting(from_race=6), lost(2), lost(2) | {"reason": "snow"}, CGB=["", "snow"]),
}

RUN_AFTER_ALL = {
    "result before the meeting": Story(
        result("rc_1"), meeting("rc_1", "rc_2"), CGB=["", "1 race | !Title rc_1 | +race lost, 1 run"]
    ),
    "result after the meeting": Story(
        subscribes("CALL", "*", Topic.ABANDONMENTS),
        meeting("rc_1", "rc_2"),
        result("rc_1"),
        so_far(edits=2),
        # Both messages of the meeting, and the result whose going became known: the meeting's only once.
        result("rc_1", going="Soft"),
        edits=4,
        CGB=["!Title rc_1", "before you act: this meeting was reported abandoned"],
        CALL=["!Title rc_1", ""],
    ),
    "result of a race that the meeting does not name": Story(
        *(meeting(), abandonment("rc_9", title="The Ninth"), result("rc_9", title="The Ninth")),
        CGB=["!The Ninth", "before you act"],
    ),
    "abandoned after the result": Story(
        meeting("rc_1"), result("rc_1"), abandonment("rc_1"), CGB=["", "", "before you act"]
    ),
    "result elsewhere of a race that the meeting names": Story(
        *(meeting("rc_1", "rc_2"), result("rc_1", meeting_id="mt_9", course="Ayr")),
        CGB=["1 race | !Title rc_1", "before you act"],
    ),
    "result in the meeting's batch": Story(
        (result("rc_1"), meeting("rc_1", "rc_2")), CGB=["!before you act", "!before you act"]
    ),
    "after results of others in one batch": Story(
        (result("rc_other", course="Bath"), result("rc_1"), abandonment("rc_1")),
        CGB=["^Contradicted", "^ABANDONED:", "^Result: Bath"],
    ),
    "result before the meeting that names the race": Story(
        abandonment(), result(), meeting("rc_1", "rc_2"), CGB=["!Part of the", "before you act", "1 race | !Title rc_1"]
    ),
    "a card says lost": Story(
        *(subscribes("CGB", "GB", *Topic), result(placings=(), status="Abandoned") | {"event": "racecard.published"}),
        result(),
        CGB=["^ABANDONED: Ascot 14:30", "^CONFLICT: Ascot 14:30 | reported abandoned and run: 1 "],
    ),
    "of a meeting that names other races": Story(
        meeting("rc_2", "rc_3"), result(), CGB=["^ABANDONED: Ascot, rest of the meeting | 2 races lost", "!CONFLICT"]
    ),
    "void, then lost": Story(result(status="void"), abandonment(), CGB=["^VOID", "^ABANDONED | !CONFLICT"]),
    "channel of abandonments": Story(
        *(subscribes("CGB", "GB", Topic.ABANDONMENTS), subscribes("CALL", "GB", Topic.RESULTS), abandonment("rc_1")),
        *(result("rc_1"), meeting("rc_2"), result("rc_2")),
        CGB=["", "before you act", "", "before you act"],
        CALL=["", ""],
        CIRE=[],
    ),
    "channel of results": Story(
        *(subscribes("CALL", "GB", Topic.RESULTS), result("rc_1"), abandonment("rc_1"), abandonment("rc_2")),
        CALL=["^Result", "^ABANDONED | before you act"],
    ),
    "without an id, lost and won": Story(
        *(subscribes("CIRE", "GB", Topic.ABANDONMENTS), LOST, WON),
        CGB=["", "before you act"],
        CIRE=["", "before you act"],
    ),
    "without an id, won and lost": Story(
        subscribes("CIRE", "GB", Topic.RESULTS), WON, LOST, CGB=["", "before you act"], CIRE=["", "before you act"]
    ),
    "without an id, others of the course": Story(
        *(meeting(), LOST, abandonment(None, off_time="15:00", reason="fog"), WON),
        CGB=["!flood | +fog", "before you act"],
    ),
}

ONLY_LOST = subscribes("CGB", "GB", Topic.ABANDONMENTS)
TOLD_BY_OTHERS = {
    "the meeting told, race by id": Story(
        *(ONLY_LOST, meeting(), abandonment(reason="mud"), so_far(CGB=["+mud"]), result()),
        CGB=["!mud", "before you act"],
    ),
    "a summary told, race without an id": Story(
        ONLY_LOST, pause, LOST, resumes, WON, CGB=["^ABANDONED", "before you act"]
    ),
    "a summary told of the meeting": Story(
        ONLY_LOST, pause, meeting("rc_1", "rc_2"), resumes, result("rc_1"), CGB=["", "before you act"]
    ),
    "region learnt after a summary": Story(
        pause, abandonment(region=None), resumes, so_far(CGB=[""], CIRE=[""]), abandonment(), CGB=[""], CIRE=[""]
    ),
}


OFFS = {"rc_1": "14:30", "rc_2": "15:05", "rc_3": "15:40"}
AT_1505 = abandonment("rc_2", off_time="15:05")


def card(offs=OFFS, **more):
    return lists(*(listed(race_id, off=off, **more) for race_id, off in offs.items()))


def declared(race_id, off):
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "region": "GB", "off_time": off}
    return {"event": "racecard.published", "race": race}


def listed_at(race_id, off, number):
    return {"race_id": race_id, "off_time": off, "race_number": number}


def others(names):
    return f"+No abandonment reported for {names} of this meeting"


NOTHING = "!No abandonment reported"
OTHER_RACES = {
    "the rest of the card": Story(
        *(card(), card({"rc_9": "16:00"}, course="Ayr"), abandonment("rc_1"), AT_1505),
        CGB=[others("15:05 and 15:40"), others("15:40")],
    ),
    "abandoned long ago under another spelling": Story(
        card(), abandonment(None, off_time="15:05"), passes(3 * 3_600), abandonment("rc_1"), CGB=["", others("15:40")]
    ),
    "run": Story(card(), result("rc_1"), AT_1505, CGB=["", others("15:40")]),
    "off before the abandonment came": Story(
        *(declared(f"rc_{hour}", f"{DAY}T{hour}:00:00Z") for hour in (11, 14, 15)),
        abandonment("rc_14", off_time=f"{DAY}T14:00:00Z"),
        CGB=[others("15:00")],
    ),
    "none known": Story(abandonment("rc_1"), CGB=[NOTHING]),
    "none once the meeting is lost": Story(
        *(card(), AT_1505, so_far(CGB=[others("14:30 and 15:40")]), meeting("rc_1", "rc_2", "rc_3")),
        CGB=[f"Part of the abandoned meeting | {NOTHING}", ""],
    ),
    "another meeting of the course": Story(
        *(card({"rc_1": "14:30", "rc_2": "15:05"}, meeting_id="mt_1"), card({"rc_3": "18:00"}, meeting_id="mt_2")),
        abandonment("rc_1", meeting_id="mt_1"),
        CGB=[others("15:05")],
    ),
}

BY_ID = {
    "meeting and race known by their ids alone": Story(
        {"event": "race.abandoned", "race_id": "rc_1", "meeting_id": "mt_1"},
        meeting(course=None, date=None, region=None),
        CGB=["^ABANDONED", "^ABANDONED: course not given, whole meeting"],
    )
}

BY_TIME = {
    "races by their times": Story(
        meeting(meeting_id=None) | {"races": {"13:00": "Result", "13:30": "Abandoned", "14:00": "Abandoned"}},
        CGB=["^ABANDONED | rest of the meeting | +2 races lost, 1 run"],
    )
}

AFTER_RACE_2 = meeting(reason="Abandoned after race 2")
LOST_RACES = [{"race_id": f"rc_{number}", "race_number": number} for number in (3, 4)]


def numbered(number, **race):
    return result(f"rc_{number}", race_number=number, off_time=f"{13 + number}:00", **race)


NO_ID = result(None, race_number=3, off_time="16:00")
BY_NUMBER = lists(*(listed(f"rc_{number}", off=f"{13 + number}:00", number=str(number)) for number in range(1, 5)))
SAYS_BOTH = "CONFLICT: 16:00 reported as run too"
DENIED = "^Contradicted | this meeting was reported abandoned, see the <https://example.slack.com/archives/CGB/p | >2"
DENIED_TOO = DENIED.replace(">2", ">3")
CONFLICTS = {
    f"{extent}, {order}": Story(links, *steps, CGB=said)
    for extent, whole in {
        "after race 2": AFTER_RACE_2,
        "from race 3 on": meeting() | {"abandoned_from_race": 3},
        "from 16:00 on": meeting() | {"abandoned_from": "16:00"},
        "2 races run": meeting() | {"races_run": 2},
        "after the 3.00": meeting(reason="Abandoned after the 3.00"),
        "the lost races alone": meeting() | {"races": LOST_RACES},
        "the lost races by time": meeting()
        | {"races": {"15:00": "Result", "16:00": "Abandoned", "17:00": "Abandoned"}},
    }.items()
    for order, steps, said in (
        ("then run", (whole, numbered(3)), [SAYS_BOTH, "^CONFLICT: Ascot 16:00 | before you act | >1"]),
        ("run before", (numbered(3), whole), [DENIED, SAYS_BOTH]),
        ("in one batch", ((numbered(3), whole),), [DENIED, SAYS_BOTH]),
        ("then run, without an id", (whole, NO_ID), [SAYS_BOTH, "^CONFLICT: Ascot 16:00 | before you act | >1"]),
        ("run before, without an id", (NO_ID, whole), [DENIED, SAYS_BOTH]),
        ("two races run before", (numbered(2), numbered(3), whole), ["^Result", DENIED_TOO, SAYS_BOTH]),
        ("run before and after", (numbered(3), whole, numbered(2)), [DENIED, SAYS_BOTH, "^Result"]),
        ("an earlier race run", (whole, numbered(2)), ["of the meeting | !CONFLICT", "^Result"]),
        ("an earlier race run before", (numbered(2), whole), ["^Result", "rest of the meeting | !CONFLICT"]),
    )
    # Each order for one extent; the other extents are read alike.
    if whole is AFTER_RACE_2 or order in {"then run", "an earlier race run"}
}
FROM_1600 = meeting() | {"abandoned_from": "16:00", "races": [{"race_id": "rc_1", "off_time": f"{DAY}T15:00:00Z"}]}
EXTENTS = CONFLICTS | {
    "a race in UTC, run before": Story(
        *(FROM_1600, result(off_time=f"{DAY}T15:00:00Z")), CGB=["rest of the meeting | !CONFLICT", "^Result"]
    ),
    "a race in UTC, where the local time is not known": Story(
        subscribes("CALL", "AUS", Topic.RESULTS, Topic.ABANDONMENTS),
        FROM_1600 | {"meeting": FROM_1600["meeting"] | {"region": "AUS"}},
        result(off_time=f"{DAY}T05:00:00Z", region="AUS"),
        CALL=["^ABANDONED | !CONFLICT", "^Result"],
    ),
    "a time that may be the decision's": Story(
        *(meeting(reason="Abandoned after 8.30") | {"races": LOST_RACES}, numbered(3)), CGB=[SAYS_BOTH, "^CONFLICT"]
    ),
    "a number that is not known": Story(AFTER_RACE_2, result(), CGB=["rest of the meeting | !CONFLICT", "^Result"]),
    "another meeting of the course": Story(
        AFTER_RACE_2, numbered(3, meeting_id="mt_9"), CGB=["rest of the meeting | !CONFLICT", "^Result"]
    ),
    "another meeting of the course, run before": Story(
        numbered(3, meeting_id="mt_9"), AFTER_RACE_2, CGB=["^Result", "rest of the meeting | !CONFLICT"]
    ),
    "a later version of the meeting says that the race was run": Story(
        *(AFTER_RACE_2, numbered(3), meeting(reason="Abandoned after race 3")),
        CGB=["rest of the meeting | Abandoned after race 3 | !reported as run too", "^CONFLICT: Ascot 16:00"],
    ),
    "a part after the whole": Story(
        *(meeting(), meeting(reason="Abandoned after race 2"), meeting(reason="Fog")),
        CGB=["^Superseded", "^Superseded | first lost race is 1 or 3", "Fog | first lost race is 3 or 1"],
    ),
    "fewer listed races after a part": Story(
        *(with_states("Open", "Abandoned", "Abandoned"), with_states("Open", "Going ahead", "Abandoned")),
        CGB=["^Superseded | 2 races lost", "1 race lost | Title rc_2 is marked abandoned in one only"],
    ),
    "a void race": Story(AFTER_RACE_2, numbered(3, status="void"), CGB=["!CONFLICT", "^VOID"]),
    "a number from the race book": Story(
        *(BY_NUMBER, AFTER_RACE_2, bare("result.received", "rc_3", runners=[{"horse": "Blue Moon", "position": 1}])),
        CGB=[SAYS_BOTH, "^CONFLICT: Ascot 16:00"],
    ),
    "races of the race book": Story(BY_NUMBER, AFTER_RACE_2, CGB=["+Lost: 16:00, 17:00; 2 races were run"]),
    "races of the race book without a number": Story(
        card(), AFTER_RACE_2, result(), CGB=["rest of the meeting | !CONFLICT", "^Result"]
    ),
    "all races named, with a count": Story(
        meeting(races_run=1)
        | {"races": [listed_at("rc_1", "14:30", 1), listed_at("rc_2", "15:05", 2), listed_at("rc_3", "15:40", 3)]},
        result(),
        CGB=["+Lost: 15:05, 15:40; 1 race was run | !CONFLICT", "^Result"],
    ),
    "a channel of results": Story(
        *(subscribes("CALL", "GB", Topic.RESULTS), numbered(3), AFTER_RACE_2),
        CALL=["^Contradicted | this meeting was reported abandoned"],
    ),
}

PUBLISHED = meeting() | {"races": [listed_at(f"rc_{one}", f"{13 + one}:00", one) for one in range(1, 5)]}
PUBLISHED |= {"event": "racecard.published"}


ON_CARDS = subscribes("CGB", "GB", Topic.RACECARDS)
LAST_TWO = "^ABANDONED: Ascot 16:00 and 17:00, | Part of this meeting was abandoned"
OF_CARDS = {
    "card of the whole": Story(ON_CARDS, PUBLISHED, meeting(), CGB=["^ABANDONED: Ascot meeting, | . This meeting was"]),
    "card, races after a number": Story(ON_CARDS, PUBLISHED, AFTER_RACE_2, CGB=[LAST_TWO]),
    "card, races with a result": Story(ON_CARDS, PUBLISHED, meeting(), *map(numbered, (1, 2)), CGB=[LAST_TWO]),
    "card, races with a result before": Story(ON_CARDS, PUBLISHED, *map(numbered, (1, 2)), meeting(), CGB=[LAST_TWO]),
    "card, more by a later version": Story(
        ON_CARDS, PUBLISHED, AFTER_RACE_2, meeting(races_run=1), CGB=["15:00, 16:00"]
    ),
    "card, an untold part": Story(
        ON_CARDS, PUBLISHED, meeting(reason="Partly abandoned"), CGB=["^ABANDONED: Ascot part of the meeting | !Lost"]
    ),
    "card of a race that was run": Story(
        *(ON_CARDS, declared("rc_1", "14:00"), meeting(races_run=1, meeting_id=None)),
        CGB=["^Racecard: | Part of this"],
    ),
}
STORIES = FOLDED | IN_PART | RUN_AFTER_ALL | TOLD_BY_OTHERS | OTHER_RACES | BY_ID | BY_TIME | EXTENTS | OF_CARDS

ON_BOTH = (*BY_ID, *BY_TIME, "after race 2, then run")


@rows(STORIES, *ON_BOTH)
async def test_lost_race(pipeline, story):
    await play(pipeline, story)


async def test_race_that_is_reported_lost_and_run_is_a_number_of_its_own(gb):
    await tell(gb, abandonment("rc_1", meeting_id="mt_1"), result("rc_1", meeting_id="mt_1"))
    await tell(gb, result("rc_2", meeting_id="mt_1", off_time="15:05"), meeting("rc_1", "rc_2", "rc_3"))
    whole = gb.slack.messages("CGB")[-1]
    chosen = ChannelFilter(region="GB", topics=frozenset(Topic))
    assert "1 race lost, 1 run" in whole.text
    assert "CONFLICT: 14:30 reported as run too" in shown(whole)
    recent = await gb.database.read(lambda session: day_views.recent(session, [chosen], gb.clock(), None))
    assert [event.race.meeting_id for event in recent.abandoned if event.key in recent.partly_run] == ["mt_1"]
    assert [event.race.race_id for event in recent.disputed] == ["rc_1"]

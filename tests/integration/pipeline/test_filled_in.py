"""Values known elsewhere: filled in, and edited once known, and no fact of a delivery. Races without an id."""

from datetime import date
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import BookRace
from bot.events import event_store
from bot.events.event import Topic
from bot.events.races import Course, Runner
from bot.slack.messages.kit.times import weekday_and_day
from tests.clock import DAY
from tests.integration.pipeline.steps import abandonment, fan_out, meeting, result, tell
from tests.integration.pipeline.stories import (
    KEMPTON,
    Story,
    bare,
    knows,
    links,
    listed,
    lists,
    passes,
    play,
    read_list,
    rows,
    slack_answers,
    so_far,
    subscribes,
)
from tests.logged import capture_logs
from tests.said import as_posted

EVERYTHING = frozenset(Topic)
TODAY = weekday_and_day(date.fromisoformat(DAY))
WON = [{"position": 1, "horse": "A"}]
OUT = {"horse": "C", "status": "Non-runner"}
REFUSES_EDITS = slack_answers("edit", always="edit_window_closed")
TO_ALL = subscribes("CALL", "*", *Topic)
IN_GB = subscribes("CGB", "GB")
AT_1430 = "^ABANDONED: Ascot 14:30 (GB)"
UNKNOWN = "^ABANDONED: course not given, time not given, date not given (region unknown)"


def at_kempton(race_id, off, **more):
    return listed(race_id, course="Kempton", off=off, **more)


def card_of(*horses, **more):
    return {"event": "racecard.published", "race": result(placings=(), **more)["race"] | {"runners": list(horses)}}


BY_THE_BOOK = {
    "race by id alone": Story(
        *(subscribes("CGB", courses=(Course(name="Ascot"),)), subscribes("CALL", "GB", courses=(Course(name="Ayr"),))),
        *(lists(listed()), bare(), bare("result.received", runners=WON)),
        CGB=["Ascot 14:30 (GB) | +region, course, date, time, name and class from the bot's records"] * 2,
        CALL=[],
        CIRE=[],
    ),
    "class of a race without an id": Story(
        *(subscribes("CGB", classes=("Class 4",)), subscribes("CALL", "GB", classes=("Class 1",)), lists(listed())),
        result(race_id=None, title="Title rc_1"),
        CGB=[""],
        CALL=[],
    ),
    "type of a race without an id, and with a class": Story(
        *(subscribes("CGB", codes=("flat",)), subscribes("CALL", "GB", codes=("jumps",))),
        *(lists(listed(race_type="Flat")), result(race_id=None, title="Title rc_1", race_class="Class 4")),
        CGB=[""],
        CALL=[],
    ),
    "learnt after the message": Story(
        *(IN_GB, TO_ALL, bare("result.received"), bare(race_id="rc_2"), so_far(CGB=[""], CALL=["", ""])),
        *[lists(listed(), listed("rc_2", off="15:00"))] * 3,
        edits=3,
        CGB=["^ABANDONED: Ascot 15:00 (GB)", "^Result: Ascot 14:30 (GB)"],
        CALL=["", ""],
    ),
    "learnt, and the edit refused": Story(TO_ALL, bare(), REFUSES_EDITS, lists(listed()), passes(0), CALL=[""]),
    "learnt, and the edit of a contradicted message refused": Story(
        *(TO_ALL, bare("result.received"), bare(), bare(meeting_id="mt_1"), REFUSES_EDITS, lists(listed()), passes(0)),
        CALL=["", ""],
    ),
    "learnt after an hour": Story(bare(), passes(3_700), lists(listed()), edits=0, CGB=["course not given"]),
    "the delivery's own time later": Story(
        *(lists(listed()), bare(), abandonment(off_time="14:45")),
        CGB=["^ABANDONED: Ascot 14:45 (GB) | !14:30 | !Correct"],
    ),
    "a later list": Story(
        bare(),
        *(
            step
            for off in ("14:30", "14:45", "14:30")
            for step in (passes(1), lists(listed(off=off)), so_far(CGB=[f"^ABANDONED: Ascot {off} (GB)"]))
        ),
        CGB=[""],
    ),
    "an earlier delivery without a date": Story(
        result(date=None), bare(), CGB=["", "^ABANDONED: Ascot 14:30, date not given (GB)"]
    ),
    "nothing known": Story(
        subscribes("CGB", courses=(Course(name="Ascot"),)), lists(listed("rc_2")), bare(), CGB=[UNKNOWN], CIRE=[UNKNOWN]
    ),
    "declared horses that are all placed": Story(
        *(subscribes("CGB", "GB", *Topic), card_of("A", "B"), result(placings=("A", "B"))),
        *(so_far(CGB=["", "1 A, 2 B. 2 ran"]), result(placings=("A", "B"), going="Soft")),
        CGB=["", "1 A, 2 B. 2 ran | Added"],
    ),
    "non-runner of the card among the horses of the result": Story(
        *(subscribes("CGB", "GB", *Topic), card_of("A", "B", OUT)),
        result(placings=(), runners=[*WON, {"position": 2, "horse": "B"}, {"horse": "C"}]),
        CGB=["", "1 A, 2 B | !ran"],
    ),
    "declared horses of a list that was read after the result": Story(
        *(subscribes("CGB", "GB", *Topic), result(placings=("A", "B")), so_far(CGB=["1 A, 2 B | !ran"])),
        *(lists(listed(runners=(Runner(horse="A"), Runner(horse="B")))), passes(60)),
        CGB=["1 A, 2 B. 2 ran"],
    ),
    "more declared horses, of a list that was read after the result": Story(
        *(subscribes("CGB", "GB", *Topic), result(placings=("A", "B"), title="Title rc_1", race_class="4")),
        *(lists(listed(runners=(Runner(horse="A"), Runner(horse="B"), Runner(horse="C")))), passes(60)),
        edits=0,
        CGB=["1 A, 2 B | !ran"],
    ),
    "declared horses that are not all placed": Story(
        *(subscribes("CGB", "GB", *Topic), card_of("A", "B", "C"), result(placings=("A", "B"))),
        CGB=["", "1 A, 2 B | !ran"],
    ),
    "reason of a result": Story(
        result() | {"reason": "Interference"}, abandonment(reason=None), CGB=["", "!Interference"]
    ),
    "news of another meeting": Story(
        knows(),
        {
            "event": "racecard.published",
            "meeting": {"meeting_id": "m1", "course": "Ascot", "date": DAY, "region": "IRE"},
            "races": [{"race_id": "rc_1", "off_time": "14:35", "race_class": "2"}],
        },
        *(lists(listed(off="14:45")), bare()),
        *(
            step
            for number, course in enumerate(("York", "Ascot", "York", "Ascot"))
            for step in (
                abandonment(f"rc_y{number}", course=course, off_time=f"15:{number}0"),
                so_far(CGB=["^ABANDONED: Ascot 14:45 (GB) | +Class 4", *[""] * (number + 1)]),
            )
        ),
        edits=0,
        CGB=[""] * 5,
        CIRE=[],
    ),
}

OFF_TIMES = ("13:00", "13:30", "18:00", "18:30")
OF_TWO_MEETINGS = (
    at_kempton("a1", "13:00", title="Afternoon 1", meeting_id="m1"),
    at_kempton("a2", "13:30", title="Afternoon 2", meeting_id="m1"),
    at_kempton("e1", "18:00", title="Evening 1", meeting_id="m2"),
    at_kempton("e2", "18:30", title="Evening 2"),
)


def shows(off_times):
    return " | ".join(f"{'+' if off in off_times else '!'}{off}" for off in OFF_TIMES)


LOST_AT_KEMPTON = {"event": "race.abandoned", "course": "Kempton", "date": DAY}
MAIDEN = {"title": "Maiden Hurdle"}
SEVERAL_RACES = (
    {
        f"{next(iter(shared))} of two races": Story(
            knows(KEMPTON),
            lists(
                at_kempton("a1", "13:00", **({"title": "Afternoon", "race_class": "2"} | shared)),
                at_kempton("e1", "18:00", **({"title": "Evening", "race_class": "2"} | shared)),
            ),
            *(LOST_AT_KEMPTON | shared, so_far(CGB=[f"^ABANDONED: Kempton, {called} (GB) | +Class 2"])),
            LOST_AT_KEMPTON | shared | {"off_time": "18:00"},
            CGB=["", "^ABANDONED: Kempton 18:00 (GB)"],
        )
        for shared, called in ((MAIDEN, "time not given"), ({"number": "1"}, "race 1"))
    }
    | {
        "second race known later": Story(
            *(knows(KEMPTON), lists(at_kempton("a1", "13:00", **MAIDEN)), LOST_AT_KEMPTON | MAIDEN),
            *(so_far(CGB=["^ABANDONED: Kempton 13:00 (GB)"]), lists(at_kempton("e1", "18:00", **MAIDEN))),
            CGB=["^ABANDONED: Kempton, time not given (GB)"],
        )
    }
    | {
        f"of two meetings {named or 'neither'} is lost": Story(
            *(knows(KEMPTON), lists(*OF_TWO_MEETINGS[: known or None])),
            {"event": "meeting.abandoned", "course": "Kempton", "date": DAY, "reason": "frost", **named},
            *([lists(*OF_TWO_MEETINGS[1:2]), lists(*OF_TWO_MEETINGS[2:])] if known else []),
            CGB=[shows(lost)],
        )
        for known, named, lost in (
            (1, {}, ()),
            (1, {"meeting_id": "m1"}, OFF_TIMES[:2]),
            (0, {"meeting_id": "m2"}, OFF_TIMES[2:3]),
            (0, {"races": ["18:00", "18:30"]}, OFF_TIMES[2:]),
        )
    }
)

CARD = meeting("rc_1", "rc_2") | {"event": "racecard.published", "reason": None}
WHOLE = meeting(course=None, date=None, region=None)
PUBLISHED = "^ABANDONED: Ascot meeting, | This meeting was abandoned"
LOST = f"^ABANDONED: Ascot, whole meeting, {TODAY} (GB) | +Title rc_1"
CARDS = {
    "card before its abandonment": Story(
        *(links, subscribes("CGB", "GB", *Topic), subscribes("CALL", "*", Topic.RACECARDS), CARD, WHOLE),
        CGB=[f"{PUBLISHED} | >2", LOST],
        CALL=["This meeting was abandoned"],
    ),
    "card after its abandonment": Story(
        *(links, subscribes("CGB", "GB", *Topic), subscribes("CALL", "*", Topic.RACECARDS), WHOLE, CARD),
        CGB=[LOST, f"{PUBLISHED} | >1"],
        CALL=["This meeting was abandoned"],
    ),
}

STORIES = BY_THE_BOOK | SEVERAL_RACES | CARDS


@rows(STORIES)
async def test_filled_in(pipeline, story):
    await play(pipeline, story)


async def test_message_that_is_sent_later_has_what_is_known_by_then(gb):
    await fan_out(gb, bare())
    gb.clock.forward(3_700)
    await read_list(gb, listed())
    await gb.post_all()
    assert gb.texts("CGB")[0].startswith("ABANDONED: Ascot 14:30 (GB)")


@pytest.mark.parametrize("damaged", ["", '{"race_id": "rc_1"'])
async def test_damaged_row_of_the_race_book_keeps_no_other_race_from_its_fields(gb, damaged):
    await read_list(gb, listed(), listed("rc_2", off="15:00"))
    damage = update(BookRace).where(col(BookRace.race_id) == "rc_1").values(data=damaged)
    await gb.database.write(lambda session: session.execute(damage))
    await gb.deliver(bare())
    await gb.deliver(bare(race_id="rc_2"))
    with capture_logs():
        await gb.post_all()
    assert [text.partition(" (")[0] for text in gb.texts("CGB")] == [
        "ABANDONED: course not given, time not given, date not given",
        "ABANDONED: Ascot 15:00",
    ]
    await tell(gb, abandonment("rc_1", date=DAY))
    assert gb.texts("CGB")[0].startswith("ABANDONED: Ascot 14:30 (GB)")


async def test_error_of_ours_in_filling_in_holds_up_no_alert(gb, monkeypatch):
    await read_list(gb, listed())

    def broken(*_args, **_values):
        raise RuntimeError

    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.racedata.event_completion.filled_in", broken)
        await tell(gb, bare(), meeting("rc_1", date=DAY))
    with capture_logs(), monkeypatch.context() as patched:
        patched.setattr("bot.fanout.completion_edits.shows_the_same", broken)
        await tell(gb, bare("race.abandoned", "rc_2"), result("rc_2", date=DAY))
    assert [as_posted(text)[:9] for text in gb.texts("CGB")] == ["ABANDONED"] * 3 + ["CONFLICT:"]


async def test_work_for_a_delivery_does_not_grow_with_the_events_of_the_day(pipeline, monkeypatch):
    await knows()(pipeline)
    await pipeline.subscribe("CGB", "GB", EVERYTHING)
    read = []
    known = event_store.known

    def noting(row):
        read.append(row.event_key)
        return known(row)

    monkeypatch.setattr("bot.events.event_store.known", noting)

    def card(number):
        place = {"course": f"Course {number // 8}", "date": DAY, "region": "GB"}
        race = {"race_id": f"rc_{number}", "off_time": f"{12 + number % 8}:30", "title": "T", **place}
        return {"event": "racecard.published", "race": race}

    taken = []
    for first in (0, 40, 80, 120):
        read.clear()
        await pipeline.deliver_all(*map(card, range(first, first + 40)))
        while await pipeline.fanout.run_once():
            continue
        taken.append(len(read))
    assert taken == [taken[0]] * 4
    assert taken[0] <= 40
    read.clear()
    await fan_out(pipeline, abandonment("rc_9", course="Course 1", date=DAY))
    assert len(read) <= 8 + 1


# A race that comes once with an id and once without is one race, in any order. Two ids are two races


# tests/unit/events/test_same_races.py has the rules by which two races differ.
TWO_HOURS = passes(2 * 3_600)
HALVES = result(placings=("Red Sky", "Blue Moon"))


def without_id(delivery: dict[str, Any], **more: Any) -> dict[str, Any]:
    return delivery | {"race": delivery["race"] | {"race_id": None} | more}


NAMED = {
    "result": (result(), without_id(result())),
    "loss": (abandonment(), without_id(abandonment())),
    "loss, by number and time": (abandonment(None, race_number=3, off_time=None), abandonment(None, race_number=3)),
    "loss, at a course in capitals": (abandonment(course="Newton Abbot"), abandonment(None, course="NEWTON-ABBOT")),
    "loss of a meeting": (meeting(), meeting(meeting_id=None)),
}
CONFLICTS = {
    "result and loss": (result(), without_id(abandonment())),
    "loss and result": (abandonment(), without_id(result())),
}
APART = {
    "two ids": (result(), result("rc_2", placings=("Alpha", "Bravo"))),
    "another day": (abandonment(), without_id(abandonment(), date="2026-11-21")),
    "another course": (abandonment(), without_id(abandonment(), course="York")),
}

ID_STORIES = {
    f"{name}, {'id first' if order[0] is pair[0] else 'id last'}{how}": Story(*steps, CALL=stands)
    for pairs, stands in ((NAMED, [""]), (CONFLICTS, ["^Contradicted", "CONFLICT"]))
    for name, pair in pairs.items()
    for order in (pair, pair[::-1])
    for how, steps in (("", order), (", at once", (order,)), (", late", (order[0], TWO_HOURS, order[1])))
} | {name: Story(*deliveries, CALL=["!CONFLICT"] * 2) for name, deliveries in APART.items()}
ID_STORIES |= {
    "two ids beside none": Story(
        without_id(abandonment()), abandonment(), abandonment("rc_2"), CALL=["!CONFLICT", "!CONFLICT"]
    ),
    "two times of one number beside none": Story(
        *(abandonment(None, race_number=3, off_time=off) for off in ("14:30", "18:30", None)), CALL=[""] * 3
    ),
    "none beside two times of one number": Story(
        *(abandonment(None, race_number=3, off_time=off) for off in (None, "14:30", "18:30")), CALL=["14:30", "18:30"]
    ),
    "two meetings beside none": Story(*(meeting(meeting_id=of) for of in (None, "mt_1", "mt_2")), CALL=["", ""]),
    "two parts of a meeting": Story(
        *(meeting() | {"races": [{"race_number": 5}]}, meeting(meeting_id=None) | {"races": [{"race_number": 6}]}),
        CALL=["+race 5", "+race 6"],
    ),
    "two sessions of a meeting": Story(
        *(meeting() | {"session": "Afternoon"}, meeting(meeting_id=None) | {"session": "Evening"}),
        CALL=["^Superseded", "Evening session"],
    ),
    "one more race at the end": Story(
        *(meeting(reason=f"Last {races} abandoned") for races in ("race", "two races")),
        CALL=["^Superseded", "2 races lost"],
    ),
    "a part of a meeting, then the whole": Story(
        *(meeting() | {"abandoned_from_race": 5}, meeting(meeting_id=None)), CALL=["^Superseded", "whole meeting"]
    ),
    "a part of a meeting, then a list of all races": Story(
        meeting() | {"abandoned_from_race": 3},
        meeting() | {"races": [{"race_number": number} for number in range(1, 7)]},
        CALL=["^Superseded", "whole meeting"],
    ),
    "known by its id from then on": Story(
        *(without_id(result()), result(), bare("race.abandoned", reason="frost")),
        CALL=["^Contradicted | Ascot 14:30", "^ABANDONED: Ascot 14:30 | CONFLICT"],
    ),
    "of the first id alone": Story(
        *(without_id(result()), abandonment(), abandonment("rc_2")),
        CALL=["^Contradicted", "^ABANDONED | CONFLICT", "^ABANDONED | !CONFLICT"],
    ),
    "known by the other kind's id": Story(
        *(without_id(result()), abandonment(), bare("result.received", runners=HALVES["race"]["runners"])),
        CALL=["^Superseded", "^Contradicted | ABANDONED", "^CONFLICT: Ascot 14:30"],
    ),
    "time in the title of a race with an id": Story(
        *(result(), bare("race.abandoned", race_name="2:30 Lucky Seven Club")), CALL=["", "^ABANDONED: Ascot 14:30"]
    ),
    "number in a list": Story(
        *(lists(listed(number="4")), bare(from_race=4, to_race=5, course="Ascot", region="GB", date=DAY)),
        CALL=["Ascot 14:30", "race 5"],
    ),
}


@rows(ID_STORIES, "result, id last", "loss, at a course in capitals, id last")
async def test_race_with_and_without_an_id(pipeline, story):
    await play(pipeline, story)

"""Effects of a later version of an event on the standing message: an edit, a new message, a mark, or nothing."""

from datetime import date

from bot.events.event import Topic
from bot.events.races import Runner
from bot.racedata.day import known_day
from sandbox.slack.failures import drop_after, rate_limited
from tests.clock import DAY
from tests.integration.pipeline.steps import abandonment, meeting, pause, result, watch
from tests.integration.pipeline.stories import (
    Story,
    does,
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
    take,
)

FIRST, SWAPPED = ("Alpha", "Bravo"), ("Bravo", "Alpha")
GOOD, SOFT, HEAVY, FIRM = (result(going=going) for going in ("Good", "Soft", "Heavy", "Firm"))
CLOSED, GONE, UNHEARD = "edit_window_closed", "message_not_found", ["msg_too_long"] * 3
CLASS_1 = subscribes("CGB", classes=("Class 1",))
CARDS = subscribes("CGB", "GB", Topic.RACECARDS)


def version(placings, sequence=None, **more):
    race = {name: more.pop(name) for name in ("going", "winning_time", "race_class") if name in more}
    ordered = {} if sequence is None else {"sequence": sequence}
    return result(placings=placings, **race) | ordered | more


def priced(price, sequence, **race):
    return result(runners=[{"position": 1, "horse": "Alpha", "sp": price}], placings=(), **race) | {
        "sequence": sequence
    }


def card(*races, meeting_id="mt_1", **more):
    place = {"meeting_id": meeting_id, "course": "Ascot", "date": DAY, "region": "GB"}
    return {"event": "racecard.published", "meeting": place, "races": list(races)} | more


def of_parts(*numbers):
    return [{"race_id": f"rc_{number}", "off_time": f"1{number}:00"} for number in numbers]


WITH_ALPHA = [{"race_id": "rc_1", "off_time": "14:30", "runners": [{"horse": "Alpha"}, {"horse": "Bravo"}]}]


def first_attempt_at(attempt, minute):
    return {"delivery": {"attempt": attempt, "first_attempt_at": f"{DAY}T08:{minute}:00Z"}}


def marked(number, **marks):
    return card(
        {"race_id": "rc_1", "off_time": "11:30"} | marks, {"race_id": "rc_2", "off_time": "15:00"}, sequence=number
    )


POSTS_HELD = slack_answers("post", rate_limited(30))
BOOK = lists(listed(runners=tuple(Runner(horse=horse, position=str(at)) for at, horse in enumerate(FIRST, start=1))))
FIRST_STANDS = so_far(CGB=["1 Alpha"])

EDITED = {
    "channel without the message gets one": Story(GOOD, subscribes("CALL"), SOFT, edits=1, CGB=[""], CALL=[""]),
    "before the message is sent": Story((GOOD, SOFT, HEAVY), edits=0, CGB=["going is Good or Heavy"]),
    "edits that wait are one call": Story(GOOD, (SOFT, HEAVY, FIRM), edits=1, CGB=["or Firm"]),
    "further races of a meeting": Story(
        meeting("rc_1"),
        meeting("rc_2", "rc_3"),
        # Folded, because the meeting names the race.
        abandonment("rc_3"),
        CGB=["3 races | names 2 more races | +Title rc_1 | +Title rc_2 | +Title rc_3"],
    ),
    "parts of a card, delivered again": Story(
        *(CARDS, *(card(*of_parts(*part), attempt=attempt) for attempt in (1, 2, 3) for part in ((1, 2), (3, 4)))),
        edits=1,
        CGB=["^Racecard: Ascot, | (GB): 4 races declared"],
    ),
    "in doubt": Story(GOOD, slack_answers("edit", drop_after()), SOFT, passes(60), CGB=["or Soft"]),
    "in words that Slack takes": Story(
        GOOD, slack_answers("edit", "invalid_blocks", "invalid_blocks"), SOFT, CGB=["or Soft | +\n()"]
    ),
    "held edits let posts by": Story(
        *(GOOD, slack_answers("edit", rate_limited(30)), SOFT, result("rc_2")),
        *(so_far(edits=0, waiting={"queued": 1}, CGB=["", ""]), passes(31)),
        CGB=["or Soft", ""],
    ),
    "held posts let edits by": Story(
        *(GOOD, POSTS_HELD, result("rc_2", going="Good"), SOFT, result("rc_2", going="Soft")),
        *(so_far(waiting={"queued": 1}, CGB=["or Soft"]), passes(31)),
        edits=1,
        CGB=["", ""],
    ),
    "says what differs from the version of the message": Story(
        *(priced("7/2", 1), (priced("99/1", 2), priced("99/1", 3, going="Soft"))),
        so_far(CGB=["starting price of Alpha was 7/2, now 99/1; added: going Soft"]),
        priced("99/1", 4, going="Soft", winning_time="1m 12s"),
        CGB=["starting price of Alpha was 7/2, now 99/1"],
    ),
    "race that fits no more is postponed": Story(
        *(CLASS_1, abandonment(), abandonment(status="Postponed", race_class="Class 4") | {"sequence": 2}),
        CGB=["status Postponed"],
    ),
}

REFUSED_EDIT = {
    "refused": Story(GOOD, slack_answers("edit", CLOSED), (SOFT, HEAVY), CGB=["!Corrected", "going is Soft or Heavy"]),
    "of a message that was given up": Story(
        slack_answers("post", *UNHEARD), (GOOD, SOFT), waiting={"dead_letter": 1}, CGB=[""]
    ),
}

RINGS = {
    "result of an abandoned race": Story(
        *(abandonment(), GOOD, SOFT),
        CGB=[
            "^Contradicted | a result was reported, see the later message | ABANDONED: Ascot",
            "before you act | or Soft",
        ],
    ),
    "abandonment in other words": Story(
        abandonment(), version(FIRST), abandonment(reason="fog"), CGB=["", "^Contradicted", ""]
    ),
    "abandonment taken back": Story(
        *(abandonment(), abandonment(status="Reinstated") | {"attempt": 2}),
        CGB=[
            "^Superseded",
            "^CONFLICT: Ascot 14:30 (GB) reported abandoned and reinstated | disagree | Reinstated in one only",
        ],
    ),
    "abandonment taken back later": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}),
        CGB=[
            "^Superseded",
            "^GOING AHEAD: Ascot 14:30 (GB), Reinstated | !is now | !frost | !No abandonment",
        ],
    ),
    "abandonment taken back by a flag": Story(
        *(abandonment() | {"sequence": 1}, abandonment(abandoned=False, reason=None) | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot 14:30 (GB), Not abandoned | !is now"],
    ),
    "false flag beside words of the loss": Story(
        abandonment() | {"sequence": 1},
        abandonment(abandoned=False, status="Abandoned") | {"sequence": 2},
        CGB=["^ABANDONED: Ascot 14:30"],
    ),
    "watched horse of a race that was taken back": Story(
        *(does(watch, "CGB", "Alpha"), card(*WITH_ALPHA), abandonment() | {"sequence": 1}),
        *(abandonment(status="Reinstated") | {"sequence": 2}, abandonment() | {"attempt": 2}),
        CGB=[
            *("^⭐ Alpha declared", "^Superseded | Alpha, race abandoned"),
            *("^Superseded", "^CONFLICT | Alpha, race reported abandoned and reinstated, check"),
        ],
    ),
    "watched horse of a race that is on": Story(
        *(does(watch, "CGB", "Alpha"), card(*WITH_ALPHA), abandonment(status="Reinstated")),
        CGB=["^⭐ Alpha declared", "^GOING AHEAD: Ascot 14:30 | Alpha, race going ahead"],
    ),
    "abandoned meeting taken back by a flag": Story(
        *(meeting() | {"sequence": 1}, meeting(abandoned=False) | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot, | Not abandoned | !is now"],
    ),
    "abandoned meeting taken back": Story(
        *(meeting() | {"sequence": 1}, meeting(status="Goes ahead") | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot, | Goes ahead | !is now | !whole meeting | !Lost"],
    ),
    "abandoned meeting taken back by another id": Story(
        *(meeting("rc_1", meeting_id=None) | {"sequence": 1}, meeting("rc_1", status="Reinstated") | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot,"],
    ),
    "abandoned meeting taken back without an id": Story(
        *(meeting("rc_1") | {"sequence": 1}, meeting(meeting_id=None, status="Reinstated") | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot,"],
    ),
    "one of two abandoned meetings taken back without an id": Story(
        *(meeting(), meeting(meeting_id="mt_2"), meeting(meeting_id=None, status="Reinstated")),
        CGB=["^ABANDONED", "^ABANDONED", "^GOING AHEAD: Ascot,"],
    ),
    "postponement that is no abandonment": Story(
        abandonment(status="Postponed", abandoned=False), CGB=["^POSTPONED | frost | !not abandoned"]
    ),
    "abandonment taken back, and the race run": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}, version(FIRST)),
        CGB=["^Superseded", "^GOING AHEAD", "^Result | !CONFLICT"],
    ),
    "abandonment taken back by a message": Story(
        *(abandonment(), abandonment(message="Abandonment reversed, racing goes ahead") | {"attempt": 2}),
        CGB=["^Superseded", "status is Abandonment reversed, racing goes ahead in one only"],
    ),
    "abandonment taken back in the place of the flag": Story(
        *(abandonment(), abandonment(abandonment={"status": "Lifted"}) | {"attempt": 2}),
        CGB=["^Superseded", "status is Lifted in one only"],
    ),
    "abandoned meeting taken back with its races": Story(
        meeting("rc_1") | {"sequence": 1},
        meeting(abandoned=False) | {"races": [{"race_id": "rc_1", "abandoned": False}], "sequence": 2},
        CGB=["^Superseded", "^GOING AHEAD | Not abandoned | !rest of the meeting"],
    ),
    "abandonment taken back by a flag, and the race run": Story(
        *(abandonment() | {"sequence": 1}, abandonment(abandoned=False) | {"sequence": 2}, version(FIRST)),
        CGB=["^Superseded", "^GOING AHEAD: Ascot 14:30", "^Result | !CONFLICT"],
    ),
    "abandonment taken back, and again": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}),
        abandonment() | {"sequence": 3},
        CGB=["^Superseded", "^Superseded", "ABANDONED: Ascot 14:30 | status was Reinstated, now Abandoned"],
    ),
    "abandonment taken back by a card": Story(
        *(abandonment(), abandonment("rc_2", off_time="15:00"), marked(1, status="Reinstated")),
        CGB=["^Superseded", "", "^CONFLICT: Ascot | status is Reinstated in one only | Check before you act"],
    ),
    "abandonment taken back by the mark of a card": Story(
        *(abandonment(off_time="11:30"), marked(1, abandoned=False), marked(2, abandoned=True)),
        *(marked(3, abandoned=False), marked(4, abandoned=False)),
        CGB=["^Superseded", "^CONFLICT: Ascot 11:30 (GB) reported abandoned and reinstated"],
    ),
    "result, then an abandonment that was taken back": Story(
        *(version(FIRST), abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}),
        CGB=["^Superseded", "^Superseded", "^RUN AFTER ALL: Ascot 14:30 | !CONFLICT"],
    ),
    "abandoned meeting in doubt, and a race lost": Story(
        *(subscribes("CGB", "GB", *Topic), meeting("rc_1", "rc_2"), card("rc_1", "rc_2", status="Going ahead")),
        abandonment(),
        CGB=["^Superseded", "^CONFLICT: Ascot", "^Racecard: | !ABANDONED", "^ABANDONED: Ascot 14:30"],
    ),
    "abandoned meeting taken back by a card": Story(
        *(meeting(), card("rc_1", "rc_2", status="Going ahead")),
        CGB=["^Superseded", "^CONFLICT: Ascot | status is Going ahead in one only"],
    ),
    "abandoned meeting, and a card with one race back": Story(
        *(meeting(), card("rc_1", "rc_2", status="Race 2 reinstated")), CGB=["!Superseded"]
    ),
    "flag that the first version has too": Story(
        abandonment(abandoned=False) | {"sequence": 1},
        abandonment(abandoned=False, going="Heavy") | {"sequence": 2},
        version(FIRST),
        CGB=["^Contradicted | ABANDONED: Ascot 14:30 | also marked as not abandoned", "^CONFLICT"],
    ),
    "race abandoned, after its meeting was taken back": Story(
        *(meeting("rc_1") | {"sequence": 1}, meeting("rc_1", status="Reinstated") | {"sequence": 2}, abandonment()),
        CGB=["^Superseded", "^GOING AHEAD: Ascot, | but 14:30 abandoned", "^ABANDONED: Ascot 14:30"],
    ),
    "meeting taken back, and a race abandoned before": Story(
        *(meeting("rc_1", "rc_2") | {"sequence": 1}, abandonment()),
        abandonment("rc_2", off_time="15:05", status="Reinstated"),
        meeting("rc_1", "rc_2", status="Reinstated") | {"sequence": 2},
        CGB=["^Superseded", "^GOING AHEAD: Ascot 15:05", "^GOING AHEAD: Ascot, | but 14:30 abandoned"],
    ),
    "card of a meeting that was taken back": Story(
        *(subscribes("CGB", "GB", *Topic), card(*of_parts(1, 2)), meeting() | {"sequence": 1}),
        meeting(status="Reinstated") | {"sequence": 2},
        CGB=["^Racecard: Ascot | !ABANDONED | !abandoned", "^Superseded", "^GOING AHEAD: Ascot,"],
    ),
    "card of a meeting that was taken back, and lost again": Story(
        *(subscribes("CGB", "GB", *Topic), card(*of_parts(1, 2)), meeting() | {"sequence": 1}),
        *(meeting(status="Reinstated") | {"sequence": 2}, meeting(status="Abandoned") | {"sequence": 3}),
        CGB=["^ABANDONED: Ascot meeting", "^Superseded", "^Superseded", "^ABANDONED: Ascot, whole meeting"],
    ),
    "abandonment taken back, and the abandonment late": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}),
        abandonment() | {"sequence": 1, "attempt": 2},
        CGB=["^Superseded", "^GOING AHEAD"],
    ),
    "abandonment taken back, and again without an order": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}),
        abandonment() | {"attempt": 2},
        CGB=["^Superseded", "^Superseded", "^CONFLICT: Ascot 14:30 (GB) reported abandoned and reinstated"],
    ),
    "going ahead elsewhere": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Going ahead at Kempton") | {"sequence": 2}),
        CGB=["^Superseded", "^ABANDONED: Ascot 14:30 (GB), Going ahead at Kempton"],
    ),
    "going ahead here": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Going ahead at Ascot") | {"sequence": 2}),
        CGB=["^Superseded", "^GOING AHEAD: Ascot 14:30"],
    ),
    "taken back in a summary": Story(
        *(pause, abandonment() | {"sequence": 1}, abandonment(status="Reinstated") | {"sequence": 2}, resumes),
        CGB=["^GOING AHEAD: Ascot 14:30"],
    ),
    "losses in doubt in a summary": Story(
        *(pause, abandonment(), abandonment(status="Reinstated"), meeting(), meeting(status="Reinstated"), resumes),
        CGB=["^CONFLICT: Ascot 14:30 | . CONFLICT: Ascot, | +CONFLICT during the pause"],
    ),
    "abandonment by a status taken back": Story(
        *(abandonment(status="Abandoned"), abandonment(status="Reinstated")),
        CGB=["^Superseded", "^CONFLICT: Ascot 14:30 | disagree: status is Abandoned or Reinstated"],
    ),
    "abandoned meeting, and a plain card": Story(
        *(meeting(), card("rc_1", "rc_2", status="Declared")), CGB=["!Superseded"]
    ),
    "abandonment taken back, and of other words": Story(
        *(abandonment() | {"sequence": 1}, abandonment(status="Cancelled") | {"sequence": 2}),
        CGB=["Cancelled"],
    ),
    "first placings": Story(version((), 2, going="Soft"), version(FIRST, 1, going="Good"), CGB=["", "1 Alpha | !Good"]),
    "newer by its first attempt": Story(
        *(version(FIRST, **first_attempt_at(1, "00")), version(SWAPPED, **first_attempt_at(1, "20"))),
        version(FIRST, **first_attempt_at(2, "00")),
        CGB=["!disagree", "^CORRECTION | !disagree"],
    ),
    "placings other than the race book's": Story(
        version(()), BOOK, FIRST_STANDS, version(SWAPPED), CGB=["^Result", "^CORRECTION | +Bravo promoted to 1st"]
    ),
    "mark by a card": Story(
        *(CARDS, marked(1), marked(2, abandoned=True), marked(3, abandoned=False)),
        CGB=["", "^Superseded | ABANDONED: Ascot 11:30", "11:30 is no longer marked abandoned"],
    ),
    "placings through poorer versions": Story(
        *(result(placings=()), version(FIRST), result(placings=(), going="Soft"), version(SWAPPED)),
        *(version(SWAPPED, going="Soft"), version(FIRST, attempt=2), version(("Alpha", "Cee"))),
        CGB=[
            "^Superseded",
            "^Superseded | 1 Alpha",
            "^Superseded | 1 Bravo | An earlier version was delivered again",
            "^Two versions disagree | 1 Alpha",
        ],
    ),
}

NO_NEWS = {
    "repeated, and older by time": Story(
        *(SOFT | {"occurred_at": f"{DAY}T14:40:00Z"}, SOFT | {"occurred_at": f"{DAY}T14:40:00Z", "attempt": 2}),
        GOOD | {"occurred_at": f"{DAY}T14:35:00Z"},
        edits=0,
        CGB=[""],
    ),
    "older, after a version without an order": Story(
        *(version(FIRST, 1), version(SWAPPED, 2), version(SWAPPED, going="Soft"), version(FIRST, 1, attempt=2)),
        CGB=["^Superseded", "1 Bravo, 2 Alpha"],
    ),
    "overtaken, before and after a third": Story(
        *(version(FIRST), version(SWAPPED), version(FIRST, attempt=2), version(("Cee", "Alpha"))),
        *(version(FIRST, attempt=3), version(SWAPPED, attempt=2), version(FIRST, attempt=4)),
        CGB=["", "", "1 Cee | An earlier version was delivered again"],
    ),
    "fact added to a contradicted abandonment": Story(
        *(abandonment(), version(FIRST), abandonment(distance="2m") | {"attempt": 2}),
        CGB=["^Contradicted | 2m", "!Contradicted"],
    ),
    "placings that the race book has shown": Story(
        *(version(()), BOOK, FIRST_STANDS, version(FIRST), version(SWAPPED, attempt=2)),
        CGB=["^Result", "^Two versions disagree"],
    ),
}

MARKS = {
    "mark refused": Story(
        version(FIRST, 1), slack_answers("edit", always=CLOSED), version(SWAPPED, 2), CGB=["", "^CORRECTION"]
    ),
    "links the contradiction that waits": Story(
        *(links, version(FIRST, 1), POSTS_HELD, abandonment(), so_far(edits=0, CGB=[""]), passes(31)),
        CGB=[">2", "^ABANDONED"],
    ),
    "refused, and the later message was given up": Story(
        *(version(FIRST, 1), slack_answers("post", *UNHEARD), slack_answers("edit", GONE), version(SWAPPED, 2)),
        waiting={"dead_letter": 1},
        CGB=["^Result", "^CORRECTION"],
    ),
    "names the contradiction where the later message was given up": Story(
        *(abandonment(), slack_answers("post", *UNHEARD), version(FIRST)),
        waiting={"dead_letter": 1},
        CGB=["^Contradicted | UTC: a result was reported. ABANDONED: "],
    ),
    "of a race links the meeting that waits": Story(
        *(links, abandonment(), POSTS_HELD, meeting("rc_1", "rc_2"), so_far(waiting={"queued": 2}), passes(31)),
        CGB=[">2", ""],
    ),
    "links the summary that waits": Story(
        *(links, abandonment(), pause, version(FIRST), POSTS_HELD, resumes, so_far(CGB=[""]), passes(31)),
        CGB=["^Contradicted | >2", ""],
    ),
    "result links the meeting of its race": Story(
        links, meeting("rc_1", "rc_2"), abandonment(), version(FIRST), CGB=["", ">1"]
    ),
}

STORIES = EDITED | REFUSED_EDIT | RINGS | NO_NEWS | MARKS


@rows(STORIES, "in doubt", "refused", "abandoned meeting in doubt, and a race lost")
async def test_later_version(pipeline, story):
    await play(pipeline, story)


async def test_older_result_adds_no_runner_to_the_answers(gb):
    newer, older = version(FIRST, 2), version((*FIRST, "Charlie"), 1)
    await take(gb, newer, older)
    await gb.deliver_all(*(one | {"race": one["race"] | {"race_id": "rc_2"}} for one in (newer, older)))
    await gb.post_all()
    outcomes = await gb.database.read(lambda session: known_day(session, date.fromisoformat(DAY), "GB").outcomes())
    assert [len(race.runners) for race, _ in outcomes.each] == [2, 2]

"""Lines of a watched runner, case by case in words.txt: the name, then the news, then the race."""

from pathlib import Path
from typing import Any

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import WatchedRunner
from bot.slack.messages import MessageContext, render
from bot.slack.messages.alerts.watch_lines import RUNNERS_NAMED, watch_lines, what_happened
from bot.slack.messages.kit.marks import WATCHED
from tests.clock import DAY, START
from tests.rows import over
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "words.txt"
CONTEXT = MessageContext(received_at=START, now=START, late_after_s=600)
PLACE = {"region": "GB", "course": Course(name="Wolverhampton"), "race_date": DAY, "off": OffTime(text="12:40")}
GHOST = WatchedRunner(horse="Misty Ghost")


def field(position, *others, **fields):
    """A race with Misty Ghost in `position`."""
    names = ("Bold Warrior", "Quiet Cavalier", "Plum Heron")
    others_there = [Runner(horse=horse, position=at) for horse, at in zip(names, others, strict=False)]
    return {"runners": (Runner(horse="Misty Ghost (GB)", position=position, **fields), *others_there)}


def of(kind, **race):
    return RacingEvent(key="k", kind=kind, race=Race(**PLACE | race))


def result(position, *others, **race):
    priced = field(position, *others, starting_price="11/4")
    return of(EventKind.RESULT_RECEIVED, **priced, **race), GHOST.model_copy(update={"position": position})


def card(position=None, race_date="2026-11-21", **runner):
    day = {"race_date": race_date, "course": Course(name="Saint-Cloud"), "region": "FR"}
    runners = (Runner(horse="Misty Ghost", position=position, **runner),)
    races = (Race(off=OffTime(text="14:10")), Race(off=OffTime(text="14:45"), runners=runners))
    event = RacingEvent(key="k", kind=EventKind.RACECARD_PUBLISHED, race=Race(**day), races=races)
    return event, WatchedRunner(horse="Misty Ghost", off="14:45")


def declared_again():
    event, watched = card()
    return event, watched.model_copy(update={"is_back": True})


LOST = of(EventKind.RACE_ABANDONED), GHOST
MEETING = of(EventKind.MEETING_ABANDONED, off=OffTime()), WatchedRunner(horse="Misty Ghost", off="14:45")
CONTRADICTING = {"contradicts": EventKind.RACE_ABANDONED}

CASES: dict[str, tuple[Any, ...]] = {
    "won": result("1", "2", "3", "PU"),
    "won, of an unknown number": result("1", "2", "3"),
    "won, not official yet": result("1", "2", "3", "PU", status="Photo"),
    "shared the win": result("1=", "1="),
    "walked over": result("1", status="Walkover"),
    "walked over, without a position": result(None, "NR", status="Walkover"),
    "left out of a walkover": result(None, "1", status="Walkover"),
    "placed": result("2", "1"),
    "finished behind": result("12", "1"),
    "unplaced": result("0", "1", "2", "3"),
    "in a partial order": result(None, "1"),
    "did not finish": result("PU", "1"),
    "disqualified": (
        of(EventKind.RESULT_RECEIVED, **field("DSQ", "1", position_reason="weighed in light")),
        GHOST.model_copy(update={"position": "DSQ"}),
    ),
    "a non-runner of the result": result("NR", "1"),
    "a void race": result("1", status="Void"),
    "a lost race of the result": (of(EventKind.RESULT_RECEIVED, abandoned=True), GHOST),
    "a postponed race of the result": (of(EventKind.RESULT_RECEIVED, abandoned=True, status="Postponed"), GHOST),
    "won, reported abandoned": (*result("1", "2"), CONTRADICTING),
    "won in one version": (*result("1", "2"), {"order_unknown": True}),
    "of yesterday": result("2", "1", race_date="2026-11-19"),
    "declared": card(jockey="J Castellano", draw="4"),
    "declared for today": card(race_date=DAY),
    "a non-runner": card("NR"),
    "a reserve": card("Reserve"),
    "declared again": declared_again(),
    "declared again in one version": (*declared_again(), {"order_unknown": True}),
    "declared again, then lost": (*declared_again(), {"order_unknown": True, "in_meeting": True}),
    "on a card of an abandoned meeting": (*card(), {"in_meeting": True}),
    "an abandoned race": LOST,
    "an abandoned race that was run": (*LOST, {"contradicts": EventKind.RESULT_RECEIVED}),
    "an abandoned meeting": MEETING,
    "a watched trainer": (
        of(EventKind.RESULT_RECEIVED, **field("1", "2")),
        WatchedRunner(horse="Misty Ghost (GB)", by=("trainer A Smith",), position="1"),
    ),
    "no longer with the watched jockey": (
        of(EventKind.RESULT_RECEIVED, **field("1")),
        WatchedRunner(horse="Misty Ghost", by=("jockey R Moore",), is_lost=True),
    ),
    "no longer on the card": (card()[0], WatchedRunner(horse="Blue Moon", off="14:45", is_lost=True)),
}


def told(name):
    event, watched, *more = CASES[name]
    return event, watched, CONTEXT.model_copy(update=dict(*more))


@over("name", CASES)
def test_what_happened_to_a_watched_runner_reads_as_kept(name):
    event, watched, context = told(name)
    check(KEPT, f"Watch: {name}", what_happened(watched, event, context))


LOUD = ("ABANDONED: ", "POSTPONED: ", "VOID: ", "CONFLICT: ", "Two versions disagree: ")


@over("name", CASES)
def test_watch_leads_text_and_first_line_but_for_a_louder_word(name):
    event, watched, context = told(name)
    context = context.model_copy(update={"watched": (watched,)})
    (words,), (by_the_line,) = watch_lines(event, context), watch_lines(event, context, race_named=True)
    message = render(event, context)
    lines = [line for line in as_read(message).split("\n") if not line.startswith("text: ")]
    leads = message.text.startswith(words)
    assert leads is not message.text.startswith(LOUD)
    assert words in message.text
    assert (by_the_line if event.kind is EventKind.RESULT_RECEIVED else words) in lines[: 1 if leads else 2]


def test_watch_brings_no_whole_card():
    event, watched = card()
    message = render(event, CONTEXT.model_copy(update={"watched": (watched,)}))
    shown, _, behind = as_read(message).partition("[-] Racecard")
    assert "14:10" not in shown
    assert "14:10" in behind
    plain = as_read(message.in_sections())
    assert "14:10" not in plain
    assert '[Racecard] racecard FR 2026-11-21 "Saint-Cloud"' in plain


def test_watched_runners_share_a_line_by_the_line_of_their_result():
    event, _ = result("1", "2", "PU", "8")
    watched = [
        WatchedRunner(horse="Misty Ghost", position="1"),
        WatchedRunner(horse="Quiet Cavalier", by=("trainer A Smith",), position="PU"),
        WatchedRunner(horse="Plum Heron", position="8"),
        WatchedRunner(horse="Blue Moon", by=("jockey R Moore",), is_lost=True),
    ]
    message = render(event, CONTEXT.model_copy(update={"watched": tuple(watched)}))
    text, first, *_ = as_read(message).split("\n")
    assert "Quiet Cavalier (trainer A Smith) PU. " in text
    said = ["Misty Ghost WON", "Quiet Cavalier PU", "Plum Heron finished 8th"]
    assert first == " · ".join(f"{WATCHED} {one}" for one in [*said, "Blue Moon is no longer with jockey R Moore"])


def test_many_watched_runners_are_counted():
    event, watched = result("1", "2")
    text = render(event, CONTEXT.model_copy(update={"watched": (watched,) * (RUNNERS_NAMED + 3)})).text
    assert text.count("Misty Ghost WON") == RUNNERS_NAMED
    assert f"{WATCHED} and 3 more" in text

"""Lines of a result and of a watched runner, case by case in words.txt. docs/messages.md shows some of the cases."""

import re
from pathlib import Path
from typing import Any

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import WatchedRunner
from bot.slack.messages import MessageContext, render
from bot.slack.messages.alerts.corrections import changes_in_words
from bot.slack.messages.alerts.watch_lines import RUNNERS_NAMED, watch_lines, what_happened
from bot.slack.messages.kit.marks import WATCHED
from bot.slack.messages.kit.result_line import GAP, result_line
from tests.clock import DAY, START
from tests.rows import over
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "words.txt"
PAGE = (Path(__file__).parents[3] / "docs/messages.md").read_text(encoding="utf-8")
HORSES = ("Misty Ghost", "Bold Warrior", "Quiet Cavalier", "Plum Heron", "Cobalt Fiddle", "Marsh Acorn")


def field(*said, **race):
    """A runner is a position, a position with a price ("1 11/4"), or a Runner."""
    runners = [
        one if isinstance(one, Runner) else Runner(horse=horse, position=position or None, starting_price=price or None)
        for horse, one in zip(HORSES * 2, said, strict=False)
        for position, _, price in [("", "", "") if isinstance(one, Runner) else one.partition(" ")]
    ]
    return Race(region="GB", runners=tuple(runners), **race)


def named(horse, position, price=None, **more):
    return Runner(horse=horse, position=position, starting_price=price, **more)


FIVE = ("1 11/4", "2 20/1", "3 10/1")
LIGHT = named("Plum Heron", "DSQ", position_reason="weighed in light")

CASES = {
    "prices, in a list that may lack runners": field(*FIVE, "4 7/2", "5 9/2"),
    "prices and the number of runners": field(*FIVE, "4 7/2", "5 9/2", field_size=5),
    "joint favourites": field("1 5/2", "2 5/2", "3 10/1", "PU 8/1"),
    "three favourites": field("1 3/1", "2 3/1", "3 3/1", "PU 8/1"),
    "a favourite by the data": field("1 7/1", "2 11/4F", "3", field_size=9),
    "evens and decimals": field("1 3.75", "2 Evens", "3 10/1", "4 9.00", field_size=4),
    **{
        f"evens as {evens}": field(f"1 {evens}", "2 11/10", "3 10/1", "PU 6/4")
        for evens in ("EVN", "Even", "Evens", "EVS", "Evs", "evens", "Even money", "1/1", "2.00")
    },
    "a price of nothing": field("1 0.00", "2 2.50", "3 0/1", "PU 9.00"),
    "odds on, to one": field("1 0.50", "2 2.50", "3 10.00", "PU 9.00"),
    "an unknown price": field("1 11/4", "2", "3 10/1", "PU 7/2"),
    "no prices": field("1", "2", "3", "PU"),
    "winning distances": field(
        named("Ghost", "1"), named("Warrior", "2", beaten="nk"), named("Heron", "3", beaten="2¼l"), field_size=7
    ),
    "a distance missing": field(
        named("Ghost", "1"), named("Warrior", "2"), named("Heron", "3", beaten="2¼l"), field_size=7
    ),
    "a dead heat for first": field("1= 5/2", "=1 7/1", "3 10/1"),
    "a dead heat by the same number": field("1", "2", "2"),
    "a dead heat of many": field(*(named(horse, "1") for horse in "ABCDEFGH"), field_size=8),
    "half of a dead heat": field("1", "2="),
    "a walkover": field("1", status="walk-over"),
    "a walkover without a position": field("", status="W/O"),
    "a walkover beside non-runners": field("", "NR", "NR", status="W/O"),
    "a disqualified horse": field("1", "2", "3", LIGHT),
    "a place after an inquiry": field(named("Misty Ghost", "1 (promoted)"), "2", "3", "PU"),
    "horses that did not finish": field("1", "2", "3", "PU", "fell"),
    "a single finisher": field("1", "PU", "F", "UR"),
    "no finisher": field("PU", "F", "UR"),
    "no horse placed": field("DSQ", "PU", "NR"),
    "a non-runner": field("1", "2", "3", "0", "NR"),
    "a non-runner of the published number": field("1", "2", "3", "4", "NR", field_size=5),
    "four horses, all placed": field("1", "2", "3", "4"),
    "four horses, all placed, of four declared": field(
        "1 11/4", "2 5/2", "3 10/1", "4 9/2", field_size=4, from_book=("field_size",)
    ),
    "four horses, all placed, and all other declared non-runners": field(
        "1", "2", "3", "4", "NR", field_size=5, from_book=("field_size",)
    ),
    "four horses, all placed, of five declared": field("1", "2", "3", "4", field_size=5, from_book=("field_size",)),
    "a partial order": field("1", "2", "", "", "", field_size=5),
    "an order without a winner": field("2", "3"),
    "an order of the others": field("11", "12"),
    "places in words": field("1st", named("Bold Warrior", "2nd of 9"), "third"),
    "no placings": field(),
    "placings that could not be read": field(unread_order="4;;7"),
    "places that contradict each other": field("2", disputed="Plum Heron 1 or 2"),
    "a number for a name": field(Runner(number="7", position="1"), "2"),
    "a horse at home": field(named("Misty Ghost (GB)", "1")),
    "a horse from abroad": field(named("Misty Ghost (IRE)", "1")),
    "two horses of one name": field(named("Misty Ghost (GB)", "1"), named("Misty Ghost (IRE)", "2")),
    "an apostrophe": field(named("O'Brien's Hope (GB)", "1")),
}


def line_of(name):
    return result_line(CASES[name]).replace(GAP, " ")


@over("name", CASES)
def test_line_of_a_result(name):
    check(KEPT, f"Line of a result: {name}", line_of(name))


def test_page_shows_result_lines_as_built_and_the_lock_screen_has_commas():
    rows = [row.split(" | ") for row in PAGE.partition("### The line of a result")[2].split("\n\n###")[0].split("\n")]
    shown = {row[0].removeprefix("| "): row[1].removesuffix(" |").strip("`") for row in rows if len(row) == 2}
    lines = {f"{name[:1].upper()}{name[1:]}": line_of(name) for name in CASES}
    assert shown.keys() - lines.keys() == {"Case"}
    assert {name: lines[name] for name in shown.keys() & lines.keys()} == {
        name: line for name, line in shown.items() if name in lines
    }
    assert len(shown) > 8
    # The lock screen has the same line with commas.
    line = "1 Misty Ghost 11/4F, 2 Bold Warrior 20/1, 3 Quiet Cavalier 10/1. 5 ran"
    assert result_line(CASES["prices and the number of runners"], in_text=True) == line


# A correction in racing's words, and value by value where none fits


# Positions of Horse A, Horse B and so on, before and after, with the reason for Horse A's; "-" is no position.
ORDERS = (
    "1 2 3 → 2 1 3",
    "1 2 → 2 1 (careless riding)",
    "1 2 3 4 → 1 2 4 3",
    "1 2 3 4 → 1 4 3 2",
    "1 2 3 → 3 1 2",
    "1 2 3 4 5 6 → 6 1 2 3 4 5 (interference)",
    "1 2= 2= → 2= 1 2=",
    "1 2= 2= → 1 2 3",
    "1 2 3 → DSQ 1 2",
    "1 2 → DQ 1 (weighed in light)",
    "1 2 3 → DSQ disqualified 1",
    "1 2 → 1 DSQ",
    "DSQ 1 2 → 1 2 3",
    "1 2 → 1 1",
    "1 2 3 → 2 1 1",
    "1 2 → 1= 1=",
    "1= 1= → 1 2",
    "1 2 3 4 → 2 1 4 3",
    "PU 1 → 2 1",
    "1 2 → - 1",
    "1 2 → PU 1",
)


def race(positions="", **fields):
    """`price`: of Horse A."""
    order, _, reason = positions.rstrip(")").partition(" (")
    price = fields.pop("price", None)
    runners = [
        Runner(horse=f"Horse {letter}", position=None if at == "-" else at)
        for letter, at in zip("ABCDEF", order.split(), strict=False)
    ]
    first = [one.model_copy(update={"position_reason": reason or None, "starting_price": price}) for one in runners[:1]]
    return Race(region="GB", runners=(*first, *runners[1:]), **fields)


def of(*runners):
    return Race(
        region="GB",
        runners=tuple(Runner(**dict(zip(("horse", "position", "number"), one, strict=False))) for one in runners),
    )


CORRECTIONS = {name: tuple(map(race, name.split(" → "))) for name in ORDERS} | {
    "void no more": (race("1 2", status="Void"), race("1 2", status="Result")),
    "marked abandoned": (race(abandoned=False), race(abandoned=True)),
    "marked abandoned no more": (race(abandoned=True), race(abandoned=False)),
    "another name": (of(("Goldn Melody", "1", "4")), of(("Golden Melody", "1", "4"))),
    "a horse at home": (of(("Misty (GB)", "1"), ("Bold (IRE)", "2")), of(("Misty (GB)", "2"), ("Bold (IRE)", "1"))),
    "a price": (race("1", price="5/2"), race("1", price="11/4")),
    "the going": (race("1", going="Good"), race("1", going="Soft")),
    "a status": (race("1"), race("1", status="Inquiry")),
    "places and the going": (race("1 2", going="Good"), race("2 1", going="Soft")),
}


def changes(before, now):
    old, new = (RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=one) for one in (before, now))
    return changes_between(old, new, received_at=START)


@over("name", CORRECTIONS)
def test_correction_in_words(name):
    before, now = CORRECTIONS[name]
    check(KEPT, f"In words: {name}", changes_in_words(changes(before, now), now))


@over("name", CORRECTIONS)
def test_no_version_is_called_right_where_the_order_is_unknown(name):
    before, now = CORRECTIONS[name]
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said
    clauses = re.split("[;:] ", said.replace("Horse ", "Bold Grey "))
    assert max(len(clause.split()) for clause in clauses) <= 18
    assert not any(word in said for word in ("reversed", "promoted", "amended", "reinstated", "was", "now"))
    # Dead heats of two versions disagree.

    before, now = race("1 2= 2= 4"), race("2= 1 2= 4")
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said == ("1st is Horse A or Horse B; dead heat for 2nd in both; Horse B and Horse C, or Horse A and Horse C")


# Lines of a watched runner: the name, then the news, then the race


CONTEXT = MessageContext(received_at=START, now=START, late_after_s=600)
PLACE = {"region": "GB", "course": Course(name="Wolverhampton"), "race_date": DAY, "off": OffTime(text="12:40")}
GHOST = WatchedRunner(horse="Misty Ghost")


def ghost_at(position, *others, **fields):
    """A race with Misty Ghost in `position`."""
    names = ("Bold Warrior", "Quiet Cavalier", "Plum Heron")
    others_there = [Runner(horse=horse, position=at) for horse, at in zip(names, others, strict=False)]
    return {"runners": (Runner(horse="Misty Ghost (GB)", position=position, **fields), *others_there)}


def event_of(kind, **race):
    return RacingEvent(key="k", kind=kind, race=Race(**PLACE | race))


def result(position, *others, **race):
    priced = ghost_at(position, *others, starting_price="11/4")
    return event_of(EventKind.RESULT_RECEIVED, **priced, **race), GHOST.model_copy(update={"position": position})


def card(position=None, race_date="2026-11-21", **runner):
    day = {"race_date": race_date, "course": Course(name="Saint-Cloud"), "region": "FR"}
    runners = (Runner(horse="Misty Ghost", position=position, **runner),)
    races = (Race(off=OffTime(text="14:10")), Race(off=OffTime(text="14:45"), runners=runners))
    event = RacingEvent(key="k", kind=EventKind.RACECARD_PUBLISHED, race=Race(**day), races=races)
    return event, WatchedRunner(horse="Misty Ghost", off="14:45")


def declared_again():
    event, watched = card()
    return event, watched.model_copy(update={"is_back": True})


LOST = event_of(EventKind.RACE_ABANDONED), GHOST
MEETING = event_of(EventKind.MEETING_ABANDONED, off=OffTime()), WatchedRunner(horse="Misty Ghost", off="14:45")
CONTRADICTING = {"contradicts": EventKind.RACE_ABANDONED}

NEWS: dict[str, tuple[Any, ...]] = {
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
        event_of(EventKind.RESULT_RECEIVED, **ghost_at("DSQ", "1", position_reason="weighed in light")),
        GHOST.model_copy(update={"position": "DSQ"}),
    ),
    "a non-runner of the result": result("NR", "1"),
    "a void race": result("1", status="Void"),
    "a lost race of the result": (event_of(EventKind.RESULT_RECEIVED, abandoned=True), GHOST),
    "a postponed race of the result": (event_of(EventKind.RESULT_RECEIVED, abandoned=True, status="Postponed"), GHOST),
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
        event_of(EventKind.RESULT_RECEIVED, **ghost_at("1", "2")),
        WatchedRunner(horse="Misty Ghost (GB)", by=("trainer A Smith",), position="1"),
    ),
    "no longer with the watched jockey": (
        event_of(EventKind.RESULT_RECEIVED, **ghost_at("1")),
        WatchedRunner(horse="Misty Ghost", by=("jockey R Moore",), is_lost=True),
    ),
    "no longer on the card": (card()[0], WatchedRunner(horse="Blue Moon", off="14:45", is_lost=True)),
}


def told(name):
    event, watched, *more = NEWS[name]
    return event, watched, CONTEXT.model_copy(update=dict(*more))


@over("name", NEWS)
def test_what_happened_to_a_watched_runner_reads_as_kept(name):
    event, watched, context = told(name)
    check(KEPT, f"Watch: {name}", what_happened(watched, event, context))


LOUD = ("ABANDONED: ", "POSTPONED: ", "VOID: ", "CONFLICT: ", "Two versions disagree: ")


@over("name", NEWS)
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


def test_watched_runners_of_a_result_share_a_line_and_many_are_counted():
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

    event, watched = result("1", "2")
    text = render(event, CONTEXT.model_copy(update={"watched": (watched,) * (RUNNERS_NAMED + 3)})).text
    assert text.count("Misty Ghost WON") == RUNNERS_NAMED
    assert f"{WATCHED} and 3 more" in text

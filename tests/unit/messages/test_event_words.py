"""Messages of events, with the words in words.txt.

After a wanted change, write the words anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/messages/test_event_words.py
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, changes_between
from bot.events.races import Course, OffTime, Race, Runner
from bot.slack.messages import Corrected, MessageContext, render
from tests.rows import over
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "words.txt"
NOW = datetime(2026, 11, 20, 14, 32, 10, tzinfo=UTC)
CONTEXT = MessageContext(received_at=NOW, now=NOW, late_after_s=600)
RACE = Race(
    race_id="rc_1", region="GB", course=Course(name="Kempton"), race_date="2026-11-20", off=OffTime(text="14:30")
)
RESULT, ABANDONED = EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED
MEETING, CARD = EventKind.MEETING_ABANDONED, EventKind.RACECARD_PUBLISHED


def finish(*positions):
    return tuple(
        Runner(horse=f"Horse {letter}", position=at) for letter, at in zip("ABCDEFGH", positions, strict=False)
    )


def event(kind, race=RACE, **more):
    return RacingEvent(key="k", kind=kind, race=race, **more)


def run(*runners, **more):
    return event(RESULT, RACE.model_copy(update={"runners": runners, **more}))


def result(*positions, **more):
    return run(*finish(*positions), **more)


def context(**changes):
    return CONTEXT.model_copy(update=changes)


def words(message):
    """The words of a message without small print and buttons: both are the same in every message."""
    return as_read(message, {"context", "actions"})


# Results

JOCKEY = {"jockey": "A Jockey", "trainer": "A Trainer", "starting_price": "100/1"}
TOLD = {
    "placed and others": result("PU", "2", "1", "F", "PU", None),
    "a position of zero": result("0", "1"),
    "hostile names": run(
        Runner(horse="<!channel> & *Sons* \u202e\n2nd", position="1"), Runner(number="7", position="2")
    ),
}


@over("name", TOLD)
def test_result_reads_as_kept(name):
    message = render(TOLD[name], CONTEXT)
    native, sections = words(message), words(message.in_sections())
    other = [f"in sections: {line}" for line in sections.split("\n") if line not in native.split("\n")]
    check(KEPT, f"Result of {name}", "\n".join([native, *other]))


def test_grand_national_is_whole_behind_full_result():
    field = [Runner(horse=f"Horse Name {n}.", position=str(n), **JOCKEY) for n in range(1, 41)]
    native, plain = render(run(*field), CONTEXT).forms
    behind = as_read(native).partition("[-] Full result")[2]
    assert all(behind.count(str(runner.horse)) == 1 for runner in field)
    assert behind.count("A Jockey") == behind.count("A Trainer") == behind.count("100/1") == len(field)
    assert "[Full result]" in as_read(plain)
    assert "[Full result]" not in as_read(native)


def test_runners_that_no_message_holds_are_counted():
    message = render(run(*(Runner(horse="x" * 60, jockey="y" * 60, position=str(n)) for n in range(1, 151))), CONTEXT)
    lines = as_read(message).partition("[-] ")[2].split("\n")
    named = sum("x" * 60 in line for line in lines)
    assert any(line.endswith(f"and {150 - named} more") for line in lines)


@over("kind", [ABANDONED, MEETING])
def test_abandonment_has_no_native_block(kind):
    race = RACE.model_copy(update={"runners": finish("1", "2")})
    assert render(event(kind, race, races=(race,) * 9), CONTEXT).plain_blocks == ()


# Corrections

LINK = "https://x.slack.com/archives/C1/p1?a=1&b=2"
UNNAMED = Runner(horse="Alpha", position="1"), Runner(number="7", position="2")
WEIGHED_LIGHT = Runner(horse="Horse A", position="DSQ", position_reason="Weighed in light")


def card_of(*names):
    horses = tuple(Runner(horse=name.strip("!"), position="NR" if "!" in name else None) for name in names)
    return event(CARD, Race(), races=(Race(title="T", runners=horses), Race(title="U")))


def card_in(**state):
    races = [Race(off=OffTime(text=f"{hour}:00"), **state) for hour in (13, 14)]
    lost = Race(off=OffTime(text="15:00"), abandoned=True)
    return event(CARD, Race(course=Course(name="Ascot"), race_date="2026-11-21"), races=(*races, lost))


def marked(is_lost):
    return Race(course=Course(name="Ascot"), race_date="2026-11-21", abandoned=is_lost)


def marking(*, is_lost):
    return event(CARD, Race(), races=(Race(title="T", abandoned=is_lost, reason="frost"), Race(title="U")))


CORRECTED: dict[str, tuple[RacingEvent, RacingEvent, dict[str, Any]]] = {
    "a disqualified winner with a reason": (result(*"1234567"), run(WEIGHED_LIGHT, *finish("DSQ", *"123456")[1:]), {}),
    "a runner without a name": (run(*UNNAMED), run(UNNAMED[0], Runner(number="7", position="1")), {}),
    "runners of a card": (card_of("A", "B", "C", "D", "E"), card_of("A", "B", "C!"), {}),
    "a card that marks two of three races abandoned no more": (card_in(abandoned=True), card_in(abandoned=False), {}),
    "a card that is marked abandoned no more": (event(CARD, marked(True)), event(CARD, marked(False)), {}),
    "a photo that became official": (result(status="Photo"), result("1", "2", status="Official"), {}),
    "an inquiry that became official": (result("1", "2", status="Inquiry"), result("DSQ", "1", status="Official"), {}),
    "a void race that was run in one version": (result(status="Void"), result("1", "2"), {"order_unknown": True}),
    "a card that marks a race abandoned no more": (marking(is_lost=True), marking(is_lost=False), {}),
}


@over("name", CORRECTED)
def test_correction_reads_as_kept(name):
    old, new, more = CORRECTED[name]
    changes = changes_between(old, new, received_at=NOW)
    assert changes
    check(KEPT, f"Correction of {name}", words(render(new, context(changes=changes, **more))))


CHANGES = {
    "going, off time and price": (
        Change(field="race.going", before="Good to Firm", now="Soft"),
        Change(field="race.off", before="14:30", now="14:35"),
        Change(field="runner.starting_price", of="Golden Melody", before="7/2", now="99/1"),
    ),
    "many facts": tuple(Change(field=f"fact {n}", before="a", now="b") for n in range(9)),
    "a position that rings": (Change(field="runner.position", of="Horse A", before="1", now="1", rings=True),),
}


@over("name", CHANGES)
def test_changes_read_as_kept(name):
    check(KEPT, f"Correction by {name}", words(render(result("1", "1"), context(changes=CHANGES[name]))))


def test_void_again_in_other_words_is_no_change():
    assert not changes_between(result(status="Race void"), result(status="declared_void"), received_at=NOW)


APART, HEAT = result("1", "2"), result("1=", "1=")
EDITS = {
    "a mark": ("corrected", result("1"), result("1="), "Horse A is now joint 1st, was 1st"),
    "a dead heat": ("corrected", APART, HEAT, "dead heat for 1st: Horse A and Horse B"),
    "a dead heat of others": (
        *("corrected", result("1", "2", "3", "4"), result("2", "1", "3", "3")),
        "dead heat for 3rd: Horse C and Horse D",
    ),
    "a dead heat again": ("repeated", APART, HEAT, "dead heat for 1st in one only: Horse A and Horse B"),
    "no dead heat again": ("repeated", HEAT, APART, "Horse B is joint 1st or 2nd"),
}


@over("name", EDITS)
def test_dead_heat_is_said_in_the_edit(name):
    """An edited message shows the later version; a message delivered again keeps the version before."""
    way, old, new, said = EDITS[name]
    changed = Corrected(at=NOW, changes=changes_between(old, new, received_at=NOW))
    told = render(new if way == "corrected" else old, context(**{way: changed}))
    for shown in (told.text, as_read(told)):
        assert said in shown


@over("form", [lambda message: message, lambda message: message.in_sections()])
def test_nothing_is_called_corrected_where_the_order_is_unknown(form):
    old, new = result("1", "2", going="Good"), result("2", "1", going="Soft")
    changes = changes_between(old, new, received_at=NOW)
    corrected = Corrected(at=NOW, changes=changes, order_unknown=True)
    for told in (context(changes=changes, order_unknown=True), context(corrected=corrected)):
        assert not re.search("corrected|changed", as_read(form(render(new, told))), re.IGNORECASE)


@over("link", ["http://x.example", "https://x|<!channel>", "https://x y", "javascript:alert(1)"])
def test_link_that_is_no_https_address_is_left_out(link):
    assert "earlier message" not in render(result("1"), context(previous_link=link)).text


# Abandonments, cards, and unreadable deliveries

AT_ASCOT = Race(region="GB", course=Course(name="Ascot"), race_date="2026-11-21")
MARKED = (
    Race(off=OffTime(text="13:00"), title="First", abandoned=True, status="Abandoned", reason="fog"),
    Race(off=OffTime(text="13:30"), title="Second", status="Postponed"),
    Race(off=OffTime(text="14:00"), title="Third", status="Declared"),
)
RUN_IN_PART = (RACE.model_copy(update={"runners": finish("1", "2"), "title": "Settled one"}), Race(race_id="rc_2"))
UNREADABLE = f"unreadable:{'0123456789abcdef' * 4}"
NAMED_BY_ID = Race(race_id="rc_9", off=OffTime(text="14:30"))
LOST_BY_ID = NAMED_BY_ID.model_copy(update={"status": "Abandoned", "abandoned": True})
UNDATED, LOST_AT_ASCOT = Race(region="GB", course=Course(name="Ascot")), AT_ASCOT.model_copy(update={"abandoned": True})
FROZEN = (Change(field="event.reason", before="frost", now="frozen track"),)
CONTRADICTING = {"contradicts": "result.received", "order_unknown": True, "now": NOW + timedelta(minutes=42)}
TWO_NAMED = (Race(off=OffTime(text="13:00"), title="First"), Race(race_id="rc_2"))
TWO_POSTPONED = (MARKED[0].model_copy(update={"status": "Postponed"}), MARKED[2])
SOFTER = (Change(field="race.going", before="Good", now="Soft"),)
UNTIMED = (Race(title="First"), Race(title="Second"))


def but(**changed):
    return RACE.model_copy(update=changed)


OTHERS: dict[str, tuple[RacingEvent, dict[str, Any]]] = {
    "An abandoned race of which id and time came": (event(ABANDONED, NAMED_BY_ID), {}),
    "A result that says abandoned, of which id and time came": (event(RESULT, LOST_BY_ID), {}),
    "A card of lost races, of which no date came": (event(CARD, UNDATED, races=card_in(abandoned=True).races), {}),
    "A lost card of which nothing came": (event(CARD, Race(abandoned=True)), {}),
    "An abandoned race corrected, late and contradicting": (
        event(ABANDONED, reason="frozen track"),
        {"changes": FROZEN, **CONTRADICTING},
    ),
    "An abandoned race that is postponed": (event(ABANDONED, but(status="Postponed to 27 Nov")), {}),
    "A result that contradicts": (event(RESULT), {"contradicts": "race.abandoned"}),
    "An abandoned meeting": (event(MEETING, AT_ASCOT, races=TWO_NAMED, reason="waterlogged"), {}),
    "An abandoned meeting of which a race was run": (event(MEETING, races=RUN_IN_PART), {"partly_run": True}),
    "A card that marks races": (event(CARD, AT_ASCOT, races=MARKED), {}),
    "A card that marks a race postponed": (event(CARD, AT_ASCOT, races=TWO_POSTPONED), {}),
    "A corrected card that marks races": (event(CARD, AT_ASCOT, races=MARKED), {"changes": SOFTER}),
    "A card marked abandoned with its races": (event(CARD, LOST_AT_ASCOT, races=MARKED), {"in_meeting": True}),
    "A card of a lost race": (event(CARD, but(title="Novices' Hurdle", abandoned=True)), {}),
    "A card of lost races without times": (event(CARD, LOST_AT_ASCOT, races=UNTIMED), {}),
    "A card of six races": (event(CARD, AT_ASCOT, races=(Race(),) * 6), {}),
    "A card of a meeting": (event(CARD, AT_ASCOT), {}),
    "A card of a race": (event(CARD, but(field_size=12)), {}),
    "A card of too many runners": (event(CARD, but(field_size=10**5_000)), {}),
    "An unreadable delivery": (RacingEvent(key=UNREADABLE), {}),
}


@over("name", OTHERS)
def test_message_reads_as_kept(name):
    told, more = OTHERS[name]
    check(KEPT, name, words(render(told, context(**more))))


@over("kind", [*EventKind, None])
def test_small_print_stands_under_every_message(kind):
    told = render(event(kind, data_as_of="2026-11-20T14:00:00+00:00"), context(may_be_repeat=True))
    (small_print,) = [block for block in told.blocks if block["type"] == "context"]
    said = [element["text"].partition(" <!date^")[0] for element in small_print["elements"]]
    assert said == ["2026-11-20", "received", "data as of", "may be a repeat"]


FROM_BOOK = "details of races from the bot's records"


@over(
    ("filled_in", "is_said"),
    [
        ({"title": "Cup"}, True),
        ({"field_size": 9}, True),
        ({"reason": "fog"}, True),
        ({"reason": "waterlogged "}, False),
        ({"going": "Soft"}, False),
        ({"title": "Cup", "runners": finish("1")}, False),
    ],
)
@over("is_named", [True, False])
def test_abandoned_meeting_says_from_the_race_book_only_what_a_line_shows(filled_in, is_said, is_named):
    race = RACE.model_copy(update=filled_in | {"from_book": tuple(filled_in)})
    lost = () if is_named else (event(ABANDONED, race),)
    meeting = event(MEETING, races=(race,) if is_named else (), reason="Waterlogged")
    assert (FROM_BOOK in as_read(render(meeting, context(lost=lost)))) is is_said


@over(("filled_in", "is_said"), [({"title": "Cup"}, False), ({"off": OffTime(text="15:30")}, True)])
def test_times_of_an_abandoned_meeting_are_all_that_comes_from_the_race_book(filled_in, is_said):
    race = Race(**{"off": OffTime(text="15:00"), **filled_in}, from_book=tuple(filled_in))
    told = as_read(render(event(MEETING, races=(RACE, race)), CONTEXT))
    assert "Lost: 14:30, 15:" in told
    assert (FROM_BOOK in told) is is_said


@over(("filled_in", "is_said"), [({"title": "Cup"}, True), ({"region": "GB", "going": "Soft"}, False)])
def test_racecard_says_from_the_race_book_only_what_a_line_shows(filled_in, is_said):
    race = RACE.model_copy(update=filled_in | {"from_book": tuple(filled_in)})
    assert (FROM_BOOK in as_read(render(event(CARD, races=(race,)), CONTEXT))) is is_said

"""A correction in racing's words, and value by value where none fits: two orders in, words out."""

import re

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.races import Race, Runner
from bot.slack.messages.alerts.corrections import changes_in_words
from tests.clock import START
from tests.rows import over

# The positions of Horse A, Horse B and so on, before and now, with the reason for Horse A's new position; "-" is none.
ORDERS = {
    "1 2 3 → 2 1 3": "placings reversed: Horse B promoted to 1st, Horse A placed 2nd",
    "1 2 → 2 1 (careless riding)": "placings reversed: Horse B promoted to 1st, Horse A placed 2nd (careless riding)",
    "1 2 3 4 → 1 2 4 3": "placings reversed: Horse D promoted to 3rd, Horse C placed 4th",
    "1 2 3 4 → 1 4 3 2": "placings reversed: Horse D promoted to 2nd, Horse B placed 4th",
    "1 2 3 → 3 1 2": "Horse A placed 3rd, was 1st; Horse B promoted to 1st, Horse C to 2nd",
    "1 2 3 4 5 6 → 6 1 2 3 4 5 (interference)": (
        "Horse A placed 6th, was 1st (interference); Horse B promoted to 1st, Horse C to 2nd, Horse D to 3rd, 2 more up"
    ),
    "1 2= 2= → 2= 1 2=": (
        "placings amended: 1st was Horse A, now Horse B; 2nd was a dead heat: Horse B and Horse C, now a dead "
        "heat: Horse A and Horse C"
    ),
    "1 2= 2= → 1 2 3": "3rd is now Horse C, which was joint 2nd; Horse B is now 2nd, was joint 2nd",
    "1 2 3 → DSQ 1 2": "Horse A disqualified from 1st; Horse B promoted to 1st, Horse C to 2nd",
    "1 2 → DQ 1 (weighed in light)": "Horse A disqualified from 1st (weighed in light); Horse B promoted to 1st",
    "1 2 3 → DSQ disqualified 1": (
        "Horse A disqualified from 1st; Horse B disqualified from 2nd; Horse C promoted to 1st"
    ),
    "1 2 → 1 DSQ": "Horse B disqualified from 2nd",
    "DSQ 1 2 → 1 2 3": "Horse A reinstated in 1st; Horse B placed 2nd; Horse C placed 3rd",
    "1 2 → 1 1": "dead heat for 1st: Horse A and Horse B",
    "1 2 3 → 2 1 1": (
        "placings amended: 1st was Horse A, now a dead heat: Horse B and Horse C; 2nd was Horse B, now Horse A"
    ),
    "1 2 → 1= 1=": "dead heat for 1st: Horse A and Horse B",
    "1= 1= → 1 2": "2nd is now Horse B, which was joint 1st; Horse A is now 1st, was joint 1st",
    "1 2 3 4 → 2 1 4 3": (
        "placings amended: 1st was Horse A, now Horse B; 2nd was Horse B, now Horse A; "
        "3rd was Horse C, now Horse D; 4th was Horse D, now Horse C"
    ),
    "PU 1 → 2 1": "2nd is now Horse A, which was PU",
    "1 2 → - 1": "1st was Horse A, now Horse B",
    "1 2 → PU 1": "placings amended: Horse A is now PU, was 1st; 1st was Horse A, now Horse B",
}


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


CASES = {name: (*map(race, name.split(" → ")), words) for name, words in ORDERS.items()} | {
    "void no more": (race("1 2", status="Void"), race("1 2", status="Result"), "the race is no longer void"),
    "marked abandoned": (race(abandoned=False), race(abandoned=True), "the race is now marked abandoned"),
    "marked abandoned no more": (race(abandoned=True), race(abandoned=False), "the race is no longer marked abandoned"),
    "another name": (
        of(("Goldn Melody", "1", "4")),
        of(("Golden Melody", "1", "4")),
        "name amended: Golden Melody, was Goldn Melody",
    ),
    "a horse at home": (
        of(("Misty (GB)", "1"), ("Bold (IRE)", "2")),
        of(("Misty (GB)", "2"), ("Bold (IRE)", "1")),
        "placings reversed: Bold (IRE) promoted to 1st, Misty placed 2nd",
    ),
    "a price": (race("1", price="5/2"), race("1", price="11/4"), "starting price of Horse A was 5/2, now 11/4"),
    "the going": (race("1", going="Good"), race("1", going="Soft"), "going was Good, now Soft"),
    "a status": (race("1"), race("1", status="Inquiry"), "status is now Inquiry"),
    "places and the going": (
        race("1 2", going="Good"),
        race("2 1", going="Soft"),
        "placings reversed: Horse B promoted to 1st, Horse A placed 2nd; going was Good, now Soft",
    ),
}


def changes(before, now):
    old, new = (RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=one) for one in (before, now))
    return changes_between(old, new, received_at=START)


@over("name", CASES)
def test_correction_in_words(name):
    before, now, words = CASES[name]
    assert changes_in_words(changes(before, now), now) == words


@over("name", CASES)
def test_no_version_is_called_right_where_the_order_is_unknown(name):
    before, now, _ = CASES[name]
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said
    clauses = re.split("[;:] ", said.replace("Horse ", "Bold Grey "))
    assert max(len(clause.split()) for clause in clauses) <= 18
    assert not any(word in said for word in ("reversed", "promoted", "amended", "reinstated", "was", "now"))


def test_dead_heats_of_two_versions_disagree():
    before, now = race("1 2= 2= 4"), race("2= 1 2= 4")
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said == ("1st is Horse A or Horse B; dead heat for 2nd in both; Horse B and Horse C, or Horse A and Horse C")

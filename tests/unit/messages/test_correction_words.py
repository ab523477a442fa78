"""A correction in racing's words, and value by value where none fits: two orders in, words out."""

import re

import pytest

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.races import Race, Runner
from bot.slack.messages.alerts.corrections import changes_in_words
from tests.clock import START

HORSES = "ABCDEF"
LIGHT = {"position_reason": "weighed in light"}


def order(*positions, **fields):
    """`fields`: of the first horse."""
    runners = [Runner(horse=f"Horse {letter}", position=at) for letter, at in zip(HORSES, positions, strict=False)]
    return (runners[0].model_copy(update=fields), *runners[1:]) if runners else ()


def race(*runners, **fields):
    return Race(region="GB", runners=runners, **fields)


CASES = {
    "first and second change places": (
        race(*order("1", "2", "3")),
        race(*order("2", "1", "3")),
        "placings reversed: Horse B promoted to 1st, Horse A placed 2nd",
    ),
    "first and second change places for a reason": (
        race(*order("1", "2")),
        race(*order("2", "1", position_reason="careless riding")),
        "placings reversed: Horse B promoted to 1st, Horse A placed 2nd (careless riding)",
    ),
    "others change places": (
        race(*order("1", "2", "3", "4")),
        race(*order("1", "2", "4", "3")),
        "placings reversed: Horse D promoted to 3rd, Horse C placed 4th",
    ),
    "second and fourth change places": (
        race(*order("1", "2", "3", "4")),
        race(*order("1", "4", "3", "2")),
        "placings reversed: Horse D promoted to 2nd, Horse B placed 4th",
    ),
    "the winner is placed last": (
        race(*order("1", "2", "3")),
        race(*order("3", "1", "2")),
        "Horse A placed 3rd, was 1st; Horse B promoted to 1st, Horse C to 2nd",
    ),
    "the winner is placed behind many": (
        race(*order(*"123456")),
        race(*order("6", *"12345", position_reason="interference")),
        (
            "Horse A placed 6th, was 1st (interference); Horse B promoted to 1st, Horse C to 2nd, "
            "Horse D to 3rd, 2 more up"
        ),
    ),
    "another horse shares the second place": (
        race(*order("1", "2=", "2=")),
        race(*order("2=", "1", "2=")),
        (
            "placings amended: 1st was Horse A, now Horse B; 2nd was a dead heat: Horse B and Horse C, now a dead "
            "heat: Horse A and Horse C"
        ),
    ),
    "the second place is shared no more": (
        race(*order("1", "2=", "2=")),
        race(*order("1", "2", "3")),
        "3rd is now Horse C, which was joint 2nd; Horse B is now 2nd, was joint 2nd",
    ),
    "the winner is disqualified": (
        race(*order("1", "2", "3")),
        race(*order("DSQ", "1", "2")),
        "Horse A disqualified from 1st; Horse B promoted to 1st, Horse C to 2nd",
    ),
    "the winner is disqualified for a reason": (
        race(*order("1", "2")),
        race(*order("DQ", "1", **LIGHT)),
        "Horse A disqualified from 1st (weighed in light); Horse B promoted to 1st",
    ),
    "two are disqualified": (
        race(*order("1", "2", "3")),
        race(*order("DSQ", "disqualified", "1")),
        "Horse A disqualified from 1st; Horse B disqualified from 2nd; Horse C promoted to 1st",
    ),
    "the last is disqualified": (race(*order("1", "2")), race(*order("1", "DSQ")), "Horse B disqualified from 2nd"),
    "a disqualified horse is reinstated": (
        race(*order("DSQ", "1", "2")),
        race(*order("1", "2", "3")),
        "Horse A reinstated in 1st; Horse B placed 2nd; Horse C placed 3rd",
    ),
    "a dead heat": (race(*order("1", "2")), race(*order("1", "1")), "dead heat for 1st: Horse A and Horse B"),
    "a dead heat of others": (
        race(*order("1", "2", "3")),
        race(*order("2", "1", "1")),
        "placings amended: 1st was Horse A, now a dead heat: Horse B and Horse C; 2nd was Horse B, now Horse A",
    ),
    "a dead heat by the judge's second look": (
        race(*order("1", "2")),
        race(*order("1=", "1=")),
        "dead heat for 1st: Horse A and Horse B",
    ),
    "void no more": (
        race(*order("1", "2"), status="Void"),
        race(*order("1", "2"), status="Result"),
        "the race is no longer void",
    ),
    "marked abandoned": (race(abandoned=False), race(abandoned=True), "the race is now marked abandoned"),
    "marked abandoned no more": (race(abandoned=True), race(abandoned=False), "the race is no longer marked abandoned"),
    "a dead heat is parted": (
        race(*order("1=", "1=")),
        race(*order("1", "2")),
        "2nd is now Horse B, which was joint 1st; Horse A is now 1st, was joint 1st",
    ),
    "four places move": (
        race(*order("1", "2", "3", "4")),
        race(*order("2", "1", "4", "3")),
        (
            "placings amended: 1st was Horse A, now Horse B; 2nd was Horse B, now Horse A; "
            "3rd was Horse C, now Horse D; 4th was Horse D, now Horse C"
        ),
    ),
    "a horse that was pulled up": (race(*order("PU", "1")), race(*order("2", "1")), "2nd is now Horse A, which was PU"),
    "a winner without a position": (race(*order("1", "2")), race(*order(None, "1")), "1st was Horse A, now Horse B"),
    "a winner that was pulled up": (
        race(*order("1", "2")),
        race(*order("PU", "1")),
        "placings amended: Horse A is now PU, was 1st; 1st was Horse A, now Horse B",
    ),
    "another name": (
        race(Runner(horse="Goldn Melody", number="4", position="1")),
        race(Runner(horse="Golden Melody", number="4", position="1")),
        "name amended: Golden Melody, was Goldn Melody",
    ),
    "a horse at home": (
        race(Runner(horse="Misty (GB)", position="1"), Runner(horse="Bold (IRE)", position="2")),
        race(Runner(horse="Misty (GB)", position="2"), Runner(horse="Bold (IRE)", position="1")),
        "placings reversed: Bold (IRE) promoted to 1st, Misty placed 2nd",
    ),
    "a price": (
        race(*order("1", starting_price="5/2")),
        race(*order("1", starting_price="11/4")),
        "starting price of Horse A was 5/2, now 11/4",
    ),
    "the going": (race(*order("1"), going="Good"), race(*order("1"), going="Soft"), "going was Good, now Soft"),
    "a status": (race(*order("1")), race(*order("1"), status="Inquiry"), "status is now Inquiry"),
    "places and the going": (
        race(*order("1", "2"), going="Good"),
        race(*order("2", "1"), going="Soft"),
        "placings reversed: Horse B promoted to 1st, Horse A placed 2nd; going was Good, now Soft",
    ),
}


def changes(before, now):
    old, new = (RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=one) for one in (before, now))
    return changes_between(old, new, received_at=START)


@pytest.mark.parametrize("name", CASES)
def test_correction_in_words(name):
    before, now, words = CASES[name]
    assert changes_in_words(changes(before, now), now) == words


@pytest.mark.parametrize("name", CASES)
def test_no_version_is_called_right_where_the_order_is_unknown(name):
    before, now, _ = CASES[name]
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said
    clauses = re.split("[;:] ", said.replace("Horse ", "Bold Grey "))
    assert max(len(clause.split()) for clause in clauses) <= 18
    assert not any(word in said for word in ("reversed", "promoted", "amended", "reinstated", "was", "now"))


def test_dead_heats_of_two_versions_disagree():
    before, now = race(*order("1", "2=", "2=", "4")), race(*order("2=", "1", "2=", "4"))
    said = changes_in_words(changes(before, now), now, disagree=True)
    assert said == ("1st is Horse A or Horse B; dead heat for 2nd in both; Horse B and Horse C, or Horse A and Horse C")

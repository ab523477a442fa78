"""No pattern takes exponential time: a stranger's text would hold the bot up."""

import pkgutil
import re
from importlib import import_module

import bot.events
from tests.rows import over

PARSER = import_module("re._parser")
ENDLESS = {"MAX_REPEAT", "MIN_REPEAT"}


def within(item):
    """The sequences within an item of a parsed pattern."""
    name, told = str(item[0]), item[1]
    if name == "BRANCH":
        return told[1]
    return [one for one in (told if isinstance(told, tuple) else [told]) if isinstance(one, PARSER.SubPattern)]


def is_endless(item):
    return str(item[0]) in ENDLESS and item[1][1] == PARSER.MAXREPEAT


def may_be_one_repeat(sequence):
    """True for "(a+)" and "x?a+": all else may be empty."""
    needed = [item for item in sequence if PARSER.SubPattern(sequence.state, [item]).getwidth()[0]]
    is_repeat = len(needed) == 1 and is_endless(needed[0])
    return is_repeat or (len(needed) == 1 and any(map(may_be_one_repeat, within(needed[0]))))


def is_exponential(sequence):
    """True if a repeat may repeat one repeat alone, which splits a text in all ways: "(x?[0-9]+y?)+"."""
    return any(
        (is_endless(item) and any(map(may_be_one_repeat, within(item)))) or any(map(is_exponential, within(item)))
        for item in sequence
    )


@over(
    ("pattern", "is_slow"),
    [("(?:第?[0-9]+場?)+x", True), ("(?:a|(b+))*x", True), ("(?:第?[0-9]++場?)+x", False), (r"(?:\w+ )+x", False)],
)
def test_repeat_of_a_lone_repeat_is_exponential(pattern, is_slow):
    assert is_exponential(PARSER.parse(pattern)) == is_slow


def test_no_pattern_of_the_reading_of_events_is_exponential():
    modules = [import_module(one.name) for one in pkgutil.walk_packages(bot.events.__path__, "bot.events.")]
    found = [value for module in modules for value in vars(module).values()]
    found += [one for value in found if isinstance(value, dict) for one in value.values()]
    patterns = {one for one in found if isinstance(one, re.Pattern)}
    assert len(patterns) > 50
    assert [one.pattern for one in patterns if is_exponential(PARSER.parse(one.pattern))] == []

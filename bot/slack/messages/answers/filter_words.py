"""A channel's filters in words, for answers, lists and the audit."""

from collections.abc import Iterable, Sequence

from bot.channels.conditions.event_conditions import COURSE_NAMES_MAX, region_named
from bot.channels.conditions.table import CONDITIONS, MENTIONS, REGION, TOPICS
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.events.sentences import listed
from bot.slack.messages.kit.text import TEXT_MAX, capital, given, joined, mentions_in_markup, safe, with_names

FILTER_WORDS_MAX = 1_000

Overriding = Sequence[tuple[ChannelFilter, Sequence[str]]]
"""Filters that bring events left out by other filters of the channel, each with the other filters' regions."""


def describe(chosen: ChannelFilter, names_max: int | None = COURSE_NAMES_MAX, where: str | None = None) -> str:
    """A filter without mentions, as the rest of the sentence "This channel receives …".

    A list of courses with more than `names_max` characters (None: no limit) is counted, and named in part. `where` are
    several regions in words, for filters that differ in regions alone.
    """
    first = f"{TOPICS.words(chosen, names_max)} from {where or REGION.words(chosen, names_max)}"
    others = (one for one in CONDITIONS if one not in {TOPICS, REGION, MENTIONS})
    return "".join([first, *(one.words(chosen, names_max) for one in others)])


def in_words(*filters: ChannelFilter) -> str:
    named = ((describe(chosen, None, where), MENTIONS.words(chosen, None)) for chosen, _, where in _by_region(filters))
    return "; ".join(map("".join, named))


def described(filters: Iterable[ChannelFilter]) -> str:
    return safe(in_plain_words(filters), TEXT_MAX) or ""


def in_plain_words(filters: Iterable[ChannelFilter]) -> str:
    grouped = _by_region(chosen.model_copy(update={"mentions": ()}) for chosen in filters)
    return "; ".join(describe(*each) for each in grouped)


def in_markup(*filters: ChannelFilter) -> str:
    return "; ".join(_in_markup(*each) for each in _by_region(filters))


def all_courses_are_shown(*filters: ChannelFilter) -> bool:
    return all(describe(chosen, most) == describe(chosen, None) for chosen, most, _ in _by_region(filters))


def still_arrives(by: ChannelFilter, regions: Iterable[str], *, is_told: bool = False) -> str:
    """A filter that brings events left out by the filters of `regions`, as markup.

    `is_told`: the reader has just read of the filter.
    """
    where = f"from {listed(list(map(region_named, regions)))} " if by.region == ALL_REGIONS else ""
    comes = f"{where}all of that still comes."
    return capital(comes) if is_told else f"This channel also takes {safe(describe(by), FILTER_WORDS_MAX)}: {comes}"


def _by_region(filters: Iterable[ChannelFilter]) -> list[tuple[ChannelFilter, int, str]]:
    """One filter for filters that differ in regions alone, the number of courses to name, and the regions in words."""
    groups: dict[ChannelFilter, list[ChannelFilter]] = {}
    for chosen in filters:
        is_of_all = chosen.region == ALL_REGIONS
        groups.setdefault(chosen if is_of_all else chosen.model_copy(update={"region": ""}), []).append(chosen)
    most = COURSE_NAMES_MAX // max(1, len(groups))
    return [(group[0], most, listed([region_named(one.region) for one in group])) for group in groups.values()]


def _in_markup(chosen: ChannelFilter, names_max: int, where: str) -> str:
    people = mentions_in_markup(one for one in chosen.mentions if one != HERE)
    shown = joined([people, "@here" if HERE in chosen.mentions else None], " ")
    words = with_names(safe(describe(chosen, names_max, where), FILTER_WORDS_MAX) or "", chosen.escalate)
    return joined([words, given("and an abandonment mentions {}", shown)], ", ")

"""What a channel's filters are in words: the sentences that answers, lists and the audit have in common."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter, Overridden
from bot.events.event import Topic
from bot.events.races import Course
from bot.slack.messages.kit.mentions import mentions_in_markup
from bot.slack.messages.kit.text import clip, counted, listed, safe, size

_ORDER = tuple(Topic)

WORDS_MAX = 1_000
NAMES_MAX = 240
"""Characters of the names in a list of courses, where one filter is shown; of several each has its part of them."""

NAME_MAX = 100


def region_words(region: str) -> str:
    """A region as people type it."""
    return "all" if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    """A region in a sentence."""
    return "all regions" if region == ALL_REGIONS else region


def topics_in_order(topics: frozenset[Topic]) -> list[str]:
    """Topics by the words people type, always in the same order."""
    return [topic.value for topic in _ORDER if topic in topics]


def describe(chosen: ChannelFilter, names_max: int | None = NAMES_MAX, where: str | None = None) -> str:
    """A filter as the rest of the sentence "This channel receives …", but for who is mentioned.

    A list of courses with more than `names_max` characters (None: whatever it has) is counted, and named in part.
    `where` are several regions in words, for filters that differ in nothing else.
    """
    topics = listed(topics_in_order(chosen.topics))
    only = f", only {courses_named(chosen.courses, names_max)}" if chosen.courses else ""
    without = f", without {courses_named(chosen.not_courses, names_max)}" if chosen.not_courses else ""
    return f"{topics} from {where or region_named(chosen.region)}{only}{without}"


def in_words(*filters: ChannelFilter) -> str:
    """Filters in plain words, with every course, and with the ids of everybody mentioned."""
    return "; ".join(
        describe(chosen, None, where) + (f", mentioning {listed(list(chosen.mentions))}" if chosen.mentions else "")
        for chosen, where in _by_region(filters)
    )


def described(filters: Iterable[ChannelFilter]) -> str:
    """Filters as markup for a channel to read, without their mentions: nobody is rung."""
    return "; ".join(safe(words, WORDS_MAX) or "?" for words in _without_mentions(filters))


def in_plain_words(filters: Iterable[ChannelFilter]) -> str:
    """The same as plain words."""
    return "; ".join(_without_mentions(filters))


def in_markup(*filters: ChannelFilter) -> str:
    """Filters as they are shown to people."""
    grouped = _by_region(filters)
    return "; ".join(_in_markup(chosen, NAMES_MAX // len(grouped), where) for chosen, where in grouped)


def all_courses_are_shown(*filters: ChannelFilter) -> bool:
    """Whether `in_markup` names every course."""
    grouped = _by_region(filters)
    return all(describe(chosen, NAMES_MAX // len(grouped)) == describe(chosen, None) for chosen, _ in grouped)


def still_arrives(found: Overridden) -> str:
    """A sentence on what a filter leaves out and another one brings, as it is shown to people."""
    chosen, shared = region_named(found.chosen.region), listed(topics_in_order(found.shared))
    brought = [
        f"{shared} of {courses_named(found.courses, NAMES_MAX // 2)}" if found.courses else "",
        f"{shared} of other courses of {chosen}" if found.is_rest else "",
        f"{listed(topics_in_order(found.topics))} from {chosen}" if found.topics else "",
    ]
    what = ", and ".join(filter(None, brought))
    is_wide = found.is_rest or found.topics
    left_out = courses_named(found.by.not_courses, NAMES_MAX // 2) if is_wide else ""
    without = f" without {left_out}" if left_out else ""
    words = f"By the subscription to {region_named(found.by.region)}{without}, {what} arrive too"
    return f"{safe(words, WORDS_MAX)}, though that to {safe(chosen)} leaves them out."


def name_of(course: Course) -> str:
    """What a filter's course is called."""
    return course.name or course.course_id or "?"


def courses_named(courses: Sequence[Course], names_max: int | None = NAMES_MAX) -> str:
    """Courses by name; where that has more than `names_max` characters, counted and named in part."""
    names = [clip(name_of(course), NAME_MAX) for course in courses]
    if names_max is None or sum(map(size, names)) <= names_max:
        return listed(names)
    shown = [name for name, room in zip(names, accumulate(map(size, names)), strict=True) if room <= names_max]
    shown = shown or names[:1]
    return f"{counted(len(names), 'course')}: {', '.join(shown)}{_more(len(names) - len(shown))}"


def _without_mentions(filters: Iterable[ChannelFilter]) -> list[str]:
    grouped = _by_region([chosen.model_copy(update={"mentions": ()}) for chosen in filters])
    return [describe(chosen, NAMES_MAX // len(grouped), where) for chosen, where in grouped]


def _by_region(filters: Iterable[ChannelFilter]) -> list[tuple[ChannelFilter, str]]:
    """The first of the filters that are equal but for the region, and all their regions in words."""
    groups: dict[ChannelFilter, list[ChannelFilter]] = {}
    for chosen in filters:
        is_of_all = chosen.region == ALL_REGIONS
        groups.setdefault(chosen if is_of_all else chosen.model_copy(update={"region": ""}), []).append(chosen)
    return [(group[0], listed([region_named(one.region) for one in group])) for group in groups.values()]


def _in_markup(chosen: ChannelFilter, names_max: int, where: str) -> str:
    people = mentions_in_markup(one for one in chosen.mentions if one != HERE)
    shown = " ".join(filter(None, [people, "@here" if HERE in chosen.mentions else ""]))
    rings = f", and an abandonment mentions {shown}" if shown else ""
    return f"{safe(describe(chosen, names_max, where), WORDS_MAX)}{rings}"


def _more(number: int) -> str:
    return f", and {number} more" if number else ""

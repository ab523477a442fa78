"""A channel's filters in words, for answers, lists and the audit."""

from collections.abc import Iterable

from bot.channels.conditions.course_condition import COURSE_NAMES_MAX, courses_named
from bot.channels.conditions.event_conditions import region_named, topics_in_order
from bot.channels.conditions.table import CONDITIONS, MENTIONS, NARROWING, ONLY_COURSES, REGION, TOPICS
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter, Overridden
from bot.events.sentences import listed
from bot.slack.messages.kit.text import capital, given, joined, mentions_in_markup, safe, with_names

FILTER_WORDS_MAX = 1_000


def describe(chosen: ChannelFilter, names_max: int | None = COURSE_NAMES_MAX, where: str | None = None) -> str:
    """A filter without mentions, as the rest of the sentence "This channel receives …".

    A list of courses with more than `names_max` characters (None: no limit) is counted, and named in part. `where` are
    several regions in words, for filters that differ in regions alone.
    """
    first = f"{TOPICS.words(chosen, names_max)} from {where or REGION.words(chosen, names_max)}"
    others = (one for one in CONDITIONS if one not in {TOPICS, REGION, MENTIONS})
    return "".join([first, *(one.words(chosen, names_max) for one in others)])


def in_words(*filters: ChannelFilter) -> str:
    return "; ".join(
        f"{describe(chosen, None, where)}{MENTIONS.words(chosen, None)}" for chosen, where in _by_region(filters)
    )


def described(filters: Iterable[ChannelFilter]) -> str:
    return "; ".join(safe(words, FILTER_WORDS_MAX) or "?" for words in _without_mentions(filters))


def in_plain_words(filters: Iterable[ChannelFilter]) -> str:
    return "; ".join(_without_mentions(filters))


def in_markup(*filters: ChannelFilter) -> str:
    grouped = _by_region(filters)
    return "; ".join(_in_markup(chosen, COURSE_NAMES_MAX // len(grouped), where) for chosen, where in grouped)


def all_courses_are_shown(*filters: ChannelFilter) -> bool:
    grouped = _by_region(filters)
    return all(describe(chosen, COURSE_NAMES_MAX // len(grouped)) == describe(chosen, None) for chosen, _ in grouped)


def still_arrives(found: Overridden, *, is_told: bool = False) -> str:
    """Two sentences on events left out by a filter and brought by another filter, as markup.

    `is_told`: the reader has just read of the other filter.
    """
    chosen, shared = region_named(found.chosen.region), listed(topics_in_order(found.shared))
    brought = [
        f"{shared} of {courses_named(found.courses, COURSE_NAMES_MAX // 2)}" if found.courses else "",
        f"{shared} of other courses of {chosen}" if found.is_rest else "",
        *(f"{shared} of other {one.plural} from {chosen}" for one in NARROWING if one.field in found.others),
        f"{listed(topics_in_order(found.topics))} from {chosen}" if found.topics else "",
    ]
    what = joined(brought, ", and ")
    if is_told:
        return f"{safe(f'{capital(what)} still come', FILTER_WORDS_MAX)}."
    is_wide = found.is_rest or found.topics
    left_out = courses_named(found.by.not_courses, COURSE_NAMES_MAX // 2) if is_wide else ""
    without = f" without {left_out}" if left_out else ""
    some = [one.named(found.by) for one in NARROWING if one is not ONLY_COURSES and one.of(found.by)]
    only = f" ({', '.join(some)} races only)" if some else ""
    taken = listed(topics_in_order(found.by.topics))
    words = f"This channel also takes {taken} from {region_named(found.by.region)}{without}{only}. So {what} still come"
    return f"{safe(words, FILTER_WORDS_MAX)}."


def _without_mentions(filters: Iterable[ChannelFilter]) -> list[str]:
    grouped = _by_region([chosen.model_copy(update={"mentions": ()}) for chosen in filters])
    return [describe(chosen, COURSE_NAMES_MAX // len(grouped), where) for chosen, where in grouped]


def _by_region(filters: Iterable[ChannelFilter]) -> list[tuple[ChannelFilter, str]]:
    groups: dict[ChannelFilter, list[ChannelFilter]] = {}
    for chosen in filters:
        is_of_all = chosen.region == ALL_REGIONS
        groups.setdefault(chosen if is_of_all else chosen.model_copy(update={"region": ""}), []).append(chosen)
    return [(group[0], listed([region_named(one.region) for one in group])) for group in groups.values()]


def _in_markup(chosen: ChannelFilter, names_max: int, where: str) -> str:
    people = mentions_in_markup(one for one in chosen.mentions if one != HERE)
    shown = joined([people, "@here" if HERE in chosen.mentions else None], " ")
    words = with_names(safe(describe(chosen, names_max, where), FILTER_WORDS_MAX) or "", chosen.escalate)
    return joined([words, given("and an abandonment mentions {}", shown)], ", ")

"""Typed words checked by lists; near misses, by rapidfuzz, and the refusals that name near words.

A search for near misses takes as long as many deliveries: async callers search in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.channels.conditions.condition import NarrowingCondition
from bot.channels.conditions.event_conditions import COURSE_PREFIX
from bot.errors import CommandError
from bot.events.races import Course
from bot.events.sentences import listed
from bot.events.typed_text import folded
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon, bare, grouped

LIKELY_MAX = 3

LIKENESS_MIN = 0.6
"""The least likeness of a near miss, from 0 to 1 (rapidfuzz's ratio)."""

SHORT, ALIKE_IF_LONGER = 3, 0.74
"""A word longer than a code has to be more alike: "hello" is no "help", "fast" no "Ascot", and "Grand" no "German"."""

TOGETHER_ALIKE = 0.75
"""The least likeness of several words to one name."""

WORDS_TOGETHER_MAX = 6

_ENGLISH = frozenset(
    """
    a an as at be can did do does don't dont for get got had has have he her him his how i if it many me more my one our
    out over run she so some than that them then there they us want was we what when which who will with you
    jan feb mar apr jun jul aug sep oct nov dec
    """.split()  # noqa: SIM905  shorter to read
)
"""Words that are never misspelt names: "you" is no "YOR", and "get" no "GER"."""

TYPED_MAX = 80
"""Compared characters of a typed word. No code and no course name is longer."""

NEAR_NAMES_MAX = 10

LOOKED_UP_MAX = 10

LISTED_MAX = 30
"""The most listed names that a sentence about an unlisted name shows."""

Vocabulary = Mapping[str, str]
"""The understood words, each with the text to type: the word, or `course:Name`."""


@dataclass(frozen=True)
class WrongWord:
    """A wrong word, or several of one name. `meant`: the text to type instead, the likeliest first."""

    typed: str
    meant: tuple[str, ...] = ()


def likely(typed: str, values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(value for value, _ in _scored(typed, values, LIKENESS_MIN)))[:LIKELY_MAX]


def wrong_words(words: Iterable[str], vocabulary: Vocabulary, alike: float = LIKENESS_MIN) -> list[WrongWord]:
    """The words that the vocabulary lacks, each once; joined where together they are more like one name."""
    wrong = list(dict.fromkeys(word for word in words if vocabulary.get(word) != word))
    each = {word: _scored(word, vocabulary, alike) for word in wrong[:LOOKED_UP_MAX] if word.casefold() not in _ENGLISH}
    if 1 < len(wrong) <= WORDS_TOGETHER_MAX:
        together = _scored(" ".join(wrong), vocabulary, max(alike, TOGETHER_ALIKE))
        if _best(together) > max(map(_best, each.values()), default=0.0):
            return [_wrong(" ".join(wrong), together, vocabulary)]
    return [_wrong(word, each.get(word, []), vocabulary) for word in wrong]


def refusal(told: str, wrong: Sequence[WrongWord], after: str = "") -> CommandError:
    """The refusal of wrong words: a single wrong word has buttons, several have the nearest names in words."""
    if len(wrong) == 1:
        (one,) = wrong
        return CommandError(told, typed=one.typed, meant={_shown(m): m for m in one.meant}, asks=True, after=after)
    nearest = nearest_names((_shown(one.meant[0]), one.typed) for one in wrong if one.meant)
    return CommandError(f"{told}{nearest}", after=after)


def nearest_names(pairs: Iterable[tuple[str, str]]) -> str:
    each = [f'"{name}" for {quoted(typed.removeprefix(COURSE_PREFIX))}' for name, typed in dict.fromkeys(pairs)]
    return f" Did you mean {', '.join(each)}?" if each else ""


def find_courses(courses: Sequence[KnownCourse], typed: str) -> list[KnownCourse]:
    """By id, name or shortcode, if need be in another letter case or without hyphens; else without the name's bracket.

    "wolverhampton" is "Wolverhampton (AW)", and beside "Ascot (AUS)" "ascot" is "Ascot".
    """
    for read in (str, folded, bare):
        wanted = read(typed)
        for field in ("course_id", "name", "shortcode"):
            if found := [one for one in courses if (value := getattr(one, field)) and read(value) == wanted]:
                return found
    return [one for one in courses if one.name and _without_bracket(folded(one.name)) == wanted]


def has_words(course: KnownCourse, typed: str) -> bool:
    """Whether each word is in the course's name, or is its shortcode, id, region or country."""
    whole = {value.casefold() for value in (course.shortcode, course.course_id, course.region, course.country) if value}
    name = folded(course.name or "")
    return all(word in whole or word in name for word in folded(typed).split())


def course_words(courses: Sequence[KnownCourse]) -> dict[str, str]:
    return {word: course.name or word for course in courses for word in (course.shortcode, course.name) if word}


def likely_courses(typed: str, courses: Sequence[KnownCourse]) -> list[str]:
    names = course_words(courses)
    return list(dict.fromkeys(names[word] for word in likely(typed, names)))


def quoted(typed: str) -> str:
    return f'"{typed}"' if len(typed) <= TYPED_MAX else f'"{typed[:TYPED_MAX]}…"'


def named(words: Iterable[str]) -> str:
    each = list(dict.fromkeys(words))
    more = [f"{len(each) - NEAR_NAMES_MAX} more"] if len(each) > NEAR_NAMES_MAX else []
    return listed([*map(quoted, each[:NEAR_NAMES_MAX]), *more], "or")


def wrong_regions(lexicon: Lexicon, typed: Sequence[str], other_words: Vocabulary | None = None) -> CommandError | None:
    """The refusal of unknown regions, with near misses. Without a list every region is taken.

    `other_words` are near misses too, each with its typed form.
    """
    regions = lexicon.regions
    unknown = [one for one in typed if regions and one not in regions]
    if (error := no_region(lexicon, typed)) or not unknown:
        return error
    wrong = wrong_words(unknown, {region: region for region in regions} | dict(other_words or {}))
    words, known = named(one.typed for one in wrong), f"Regions: {', '.join(regions)}." * (len(regions) <= LISTED_MAX)
    if not other_words:
        return refusal(f"There is no region {words}.", wrong, known)
    after = f"{known} /racing courses lists the courses.".strip()
    return refusal(f"No course or region is called {words}.", wrong, after)


def no_region(lexicon: Lexicon, typed: Sequence[str]) -> CommandError | None:
    for word in typed:
        if lexicon.is_region(word):
            continue
        if parts := lexicon.parts_of(word):
            told = f"{quoted(word)} is no region by itself: the data service has its courses in {listed(parts)}."
            return CommandError(told, typed=word, meant={part: part for part in parts}, asks=True)
        if lexicon.is_country(word) and not lexicon.region_named(word):
            why = "publishes no region for it" if lexicon.regions else "is away, so I can't look up its code"
            return CommandError(f"I know the country {quoted(word)}, but the data service {why}.")
    return None


def wrong_values(kind: NarrowingCondition, typed: Sequence[str], published: Sequence[str]) -> CommandError | None:
    """The refusal of values that the service does not list, with near misses. Without a list every value is taken."""
    if not (unknown := kind.unlisted(typed, published)):
        return None
    wrong = wrong_words(unknown, {one: f"{kind.typed_as}{one}" for one in published})
    after = f"{kind.plural.capitalize()}: {named(published)}." if len(published) <= LISTED_MAX else ""
    return refusal(f"There is no {kind.noun} {named(unknown)}.", wrong, after)


def course_called(
    courses: Sequence[KnownCourse], typed: str, *, regions: Sequence[str] = (), guessing: bool = True
) -> Course:
    """The course of a name, id or shortcode. Without a list the course has no id.

    `regions` decide between courses of one name. CommandError for an unknown course, with near misses if `guessing`,
    and for an ambiguous name.
    """
    if not courses:
        return Course(name=typed)
    found = find_courses(courses, typed)
    if not found:
        meant = likely_courses(typed, courses) if guessing else []
        raise refusal(f"There is no course {quoted(typed)}.", [WrongWord(COURSE_PREFIX + typed, tuple(meant))])
    within = [one for one in found if one.region in regions]
    if len(found) > 1 and len(within) != 1:
        raise _several(typed, within or found, regions)
    return (within or found)[0].as_course


def _several(typed: str, found: Sequence[KnownCourse], regions: Sequence[str]) -> CommandError:
    places = [one.region or one.country or "?" for one in found]
    ids = " or ".join(f"{one.course_id or '?'} ({place})" for one, place in zip(found, places, strict=True))
    if len(regions) > 1:
        return CommandError(f"Which {typed}? Give the id: {ids}.")
    if regions and not any(one.region in regions for one in found):
        there = list(dict.fromkeys(one.region for one in found if one.region))
        told = f"{quoted(typed)} is in {' or '.join(there) or 'other regions'}, not in {regions[0]}."
        return CommandError(told, typed=regions[0], meant={region: region for region in there})
    is_told_by_place = len(set(places)) == len(found)
    meant = {
        f"{one.name} ({place})" if is_told_by_place else f"{one.name} ({place}, {one.course_id})": one.course_id
        for one, place in zip(found, places, strict=True)
        if one.course_id
    }
    told = f"Which {typed}?" if len(meant) == len(found) else f"Which {typed}? Give the id: {ids}."
    return CommandError(told, typed=COURSE_PREFIX + typed, meant=meant)


def _scored(typed: str, values: Iterable[str], alike: float) -> list[tuple[str, float]]:
    """Values with their likeness from 0 to 1; where letter case alone differs, these alone."""
    spellings = _spellings(values)
    spelled = folded(typed[:TYPED_MAX])
    if exact := spellings.get(spelled):
        return [(value, 1.0) for value in exact]
    cutoff = 100 * (alike if len(spelled) <= SHORT else max(alike, ALIKE_IF_LONGER))
    from rapidfuzz import fuzz, process  # noqa: PLC0415  3 MiB, and seldom needed

    # A long word is no misspelt code: "Grand" is no "GER".
    near = [one for one in spellings if len(one) > SHORT or len(spelled) <= SHORT + 1]
    found = process.extract(spelled, near, scorer=fuzz.ratio, score_cutoff=cutoff, limit=LIKELY_MAX)
    # "Chelt" and "Wolves" are short for courses.
    begins = (spelled.removesuffix("s"),) if len(spelled) > SHORT else (f"{spelled} ", f"{spelled}-")
    begun = [one for one in spellings if one.startswith(begins)][:LIKELY_MAX]
    each = found or [(one, cutoff, 0) for one in begun]
    return [(value, score / 100) for spelling, score, _ in each for value in spellings[spelling]]


def _spellings(values: Iterable[str]) -> dict[str, list[str]]:
    """The values by folded spelling. "Kempton (AW)" is spelled "kempton" too."""
    spelled = [(folded(value), value) for value in dict.fromkeys(values)]
    return grouped(dict.fromkeys([*spelled, *((_without_bracket(name), value) for name, value in spelled)]))


def _best(scored: Sequence[tuple[str, float]]) -> float:
    return scored[0][1] if scored else 0.0


def _wrong(typed: str, scored: Sequence[tuple[str, float]], vocabulary: Vocabulary) -> WrongWord:
    meant = dict.fromkeys(vocabulary[value] for value, _ in scored)
    return WrongWord(typed, tuple(meant)[:LIKELY_MAX])


def _shown(meant: str) -> str:
    return meant.removeprefix(COURSE_PREFIX)


def _without_bracket(name: str) -> str:
    return name.partition(" (")[0]

"""The words of `/racing subscribe` and `unsubscribe`: regions, topics and courses, in any order, in plain English."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from itertools import groupby, pairwise

from bot.book.lexicon import Lexicon
from bot.book.meant import COURSE
from bot.domain.days import is_day
from bot.domain.events import DEFAULT_TOPICS, Topic
from bot.errors import CommandError
from bot.slack.commands.phrases import THINGS, Kind, Phrase, Reader
from bot.slack.commands.tokens import Word, join, parted, words_of
from bot.slack.messages.filter_words import listed, topics_in_order

TOPIC_WORDS: dict[str, Topic] = {
    "result": Topic.RESULTS,
    "results": Topic.RESULTS,
    "abandonment": Topic.ABANDONMENTS,
    "abandonments": Topic.ABANDONMENTS,
    "abandoned": Topic.ABANDONMENTS,
    "declarations": Topic.RACECARDS,
    "racecard": Topic.RACECARDS,
    "racecards": Topic.RACECARDS,
    "cards": Topic.RACECARDS,
}

ALL = "all"
NOT_COURSE = f"-{COURSE}"

EVERYTHING = "everything"
"""All regions, or all topics of a region: "everything from GB"."""

OWN = {word: topic.value for word, topic in TOPIC_WORDS.items()} | {ALL: ALL, EVERYTHING: ALL}
"""The words of these commands, each with the word in full."""

NO_LISTS = Lexicon()

_CLOCK = re.compile(r"[0-9]{1,2}[.:][0-9]{2}")


@dataclass(frozen=True)
class Wanted:
    """The words, sorted by kind. `regions` are not checked yet; `everything` is the word "all".

    `not_topics` and `not_regions` came after "no" or "except"; `is_negated` says that such a word was typed. `days` are
    words for a day. `is_only`: the word "only" was typed. `named` are regions typed by another name, with their codes.
    """

    regions: tuple[str, ...] = ()
    everything: bool = False
    topics: frozenset[Topic] = frozenset()
    courses: tuple[str, ...] = ()
    not_courses: tuple[str, ...] = ()
    not_topics: frozenset[Topic] = frozenset()
    not_regions: tuple[str, ...] = ()
    not_everything: bool = False
    is_negated: bool = False
    days: tuple[str, ...] = ()
    is_only: bool = False
    named: tuple[tuple[str, str], ...] = ()
    spelled: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Courses typed in another letter case, with their published names."""
    readings: tuple[tuple[str, "Wanted"], ...] = field(default=(), compare=False)
    """The readings by label, where the words have several."""

    @property
    def is_bare(self) -> bool:
        """Whether nothing was typed."""
        return not (self.line("") or self.not_topics or self.not_regions or self.not_everything or self.days)

    @property
    def is_whole(self) -> bool:
        """Whether nothing but regions was typed: each is meant with all its courses."""
        return not (self.topics or self.not_topics or self.courses or self.not_courses)

    @property
    def all_topics(self) -> frozenset[Topic]:
        """The topics of a new subscription: the typed topics, else the usual two, without the topics after "no"."""
        return (self.topics or DEFAULT_TOPICS) - self.not_topics

    def line(self, command: str) -> str:
        """The command line with the same meaning, without days and without the topics and regions after "no"."""
        return join(
            filter(
                None,
                [
                    command,
                    *([ALL] if self.everything else []),
                    *self.regions,
                    *topics_in_order(self.topics),
                    *(f"{COURSE}{one}" for one in self.courses),
                    *(f"{NOT_COURSE}{one}" for one in self.not_courses),
                ],
            )
        )


def read_wanted(text: str, lexicon: Lexicon = NO_LISTS) -> Wanted:
    """The words of a text, by kind. CommandError where nothing follows "course:" or "except"."""
    phrases = Reader(lexicon, OWN, is_day=_is_day).read(_together(words_of(text)))
    wanted = _sorted(phrases, lexicon)
    return replace(wanted, readings=_readings(phrases, lexicon, wanted))


def check_readings(command: str, wanted: Wanted) -> None:
    """Raise CommandError with a button for each reading, where there are several."""
    if wanted.readings:
        told = "That can be read in several ways, so nothing was changed. What is meant?"
        raise CommandError(told, lines={label: one.line(command) for label, one in wanted.readings})


def says_codes(named: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence with the code for each region typed by another name, letter case aside."""
    return [f"{name} is {code} here." for name, code in dict(named).items() if name.casefold() != code.casefold()]


def day_or_time(typed: str) -> str:
    """The kind of moment that a word is: 2.30 is a time, and 2.3.2026 a day."""
    return "time" if _CLOCK.fullmatch(typed) else "day"


def _is_day(typed: str) -> bool:
    return is_day(typed, date.min.replace(year=2000))


class _Reach(StrEnum):
    """How far "no" reaches: to further topics or courses alike, to the first topic alone, or to all joined by "and"."""

    KIND = "kind"
    FIRST = "first"
    JOINED = "joined"


def _sorted(phrases: Sequence[Phrase], lexicon: Lexicon, reach: _Reach = _Reach.KIND) -> Wanted:
    """The phrases by kind. The phrase after "no" is left out, and so are further phrases in its reach."""
    taken: dict[Kind, list[str]] = {kind: [] for kind in THINGS}
    left_out: dict[Kind, list[str]] = {kind: [] for kind in THINGS}
    negation: Phrase | None = None
    negated: Kind | None = None
    for before, phrase in zip([None, *phrases], phrases, strict=False):
        if phrase.kind is Kind.NOT:
            negation, negated = phrase, None
        elif phrase.kind in THINGS:
            kind = _kind(phrase, lexicon, is_negated=negation is not None)
            if negation is not None and _is_reached(reach, negated, kind, before):
                negated = kind
                left_out[kind].append(phrase.value)
            else:
                negation = negated = None
                taken[kind].append(phrase.value)
    if negation is not None and negated is None:
        raise CommandError(f'Nothing follows "{negation.typed}". Write what is to be left out after it.')
    topics, not_topics = (frozenset(map(Topic, set(some[Kind.OWN]) - {ALL})) for some in (taken, left_out))
    regions = _in_order(phrases, [*taken[Kind.REGION], *taken[Kind.UNKNOWN], *left_out[Kind.UNKNOWN]])
    return Wanted(
        regions=regions,
        everything=ALL in taken[Kind.OWN] and not (regions and (_is_of_topics(phrases) or _is_of_racing(phrases))),
        topics=topics,
        courses=tuple(dict.fromkeys(taken[Kind.COURSE])),
        not_courses=_in_order(phrases, [*taken[Kind.NO_COURSE], *left_out[Kind.COURSE]]),
        not_topics=not_topics,
        not_regions=tuple(dict.fromkeys(left_out[Kind.REGION])),
        not_everything=ALL in left_out[Kind.OWN],
        is_negated=any(phrase.kind is Kind.NOT for phrase in phrases),
        days=tuple(taken[Kind.DAY] + left_out[Kind.DAY]),
        is_only=any(phrase.kind is Kind.ONLY for phrase in phrases),
        named=tuple((phrase.typed, phrase.value) for phrase in phrases if phrase.is_renamed),
        spelled=tuple((phrase.typed, phrase.value) for phrase in phrases if phrase.is_respelled),
    )


def _kind(phrase: Phrase, lexicon: Lexicon, *, is_negated: bool) -> Kind:
    """The kind of a phrase. After "no", a word that can't be looked up is most likely a course."""
    if is_negated and phrase.kind is Kind.NO_COURSE:
        return Kind.COURSE
    if is_negated and phrase.kind is Kind.UNKNOWN and not lexicon.courses:
        return Kind.COURSE
    return phrase.kind


def _is_reached(reach: _Reach, negated: Kind | None, kind: Kind, before: Phrase | None) -> bool:
    """Whether a "no" leaves out a phrase too, after a phrase of a kind (None: the first) and a joining word."""
    joint = before.kind if before else None
    if negated in {None, kind}:
        return negated is None or kind is not Kind.OWN or reach is not _Reach.FIRST or joint is Kind.OR
    is_joined = joint in {Kind.AND, Kind.OR} and {negated, kind} == {Kind.OWN, Kind.COURSE}
    return is_joined and reach is _Reach.JOINED


def _in_order(phrases: Sequence[Phrase], values: Sequence[str]) -> tuple[str, ...]:
    """The values in the order in which they were typed, each once."""
    wanted = set(values)
    return tuple(dict.fromkeys(phrase.value for phrase in phrases if phrase.value in wanted))


def _is_of_topics(phrases: Sequence[Phrase]) -> bool:
    """Whether "all" belongs to "all results", and so says nothing of regions."""
    follows = {(one.value, other.kind, other.value) for one, other in pairwise(phrases) if one.kind is Kind.OWN}
    return any(kind is Kind.OWN and value != ALL for all_, kind, value in follows if all_ == ALL)


def _is_of_racing(phrases: Sequence[Phrase]) -> bool:
    """Whether "all" belongs to "all Irish racing", and so says nothing of other regions."""
    return any(phrase.kind is Kind.FILLER and phrase.value == "racing" for phrase in phrases)


def _readings(phrases: Sequence[Phrase], lexicon: Lexicon, wanted: Wanted) -> tuple[tuple[str, Wanted], ...]:
    """The ways to read the words, where there are two: "no cards and results", and "GB and Ascot"."""
    if (wanted.regions or wanted.courses) and any(phrase.typed.casefold() == EVERYTHING for phrase in phrases):
        of_place = replace(wanted, everything=False, topics=frozenset(Topic) - wanted.not_topics)
        everywhere = replace(wanted, everything=True, regions=(), courses=())
        return (
            (f"Everything from {listed([*wanted.regions, *wanted.courses])}", of_place),
            ("All regions", everywhere),
        )
    if pairs := _pairs(phrases):
        labels = [" ".join(phrase.value for phrase in sorted(pair, key=_is_topic)) for pair in pairs]
        both = [("All of that for each", wanted)] if not wanted.courses else []
        return (*((label, _sorted(pair, lexicon)) for label, pair in zip(labels, pairs, strict=True)), *both)
    each = [wanted, *(_sorted(phrases, lexicon, reach) for reach in (_Reach.FIRST, _Reach.JOINED))]
    if len(set(each)) > 1:
        full = [replace(one, topics=one.all_topics) for one in dict.fromkeys(each) if one.all_topics]
        return tuple((_label(one), one) for one in full)
    if wanted.courses and any(_joins_region_and_course(phrases, place) for place in range(len(phrases))):
        return (
            (f"All of {listed(wanted.regions)}", replace(wanted, courses=())),
            (f"Only {listed(wanted.courses)}", wanted),
        )
    return ()


def _label(wanted: Wanted) -> str:
    """A reading in few words."""
    only = f", only {listed(wanted.courses)}" if wanted.courses else ""
    without = f", without {listed(wanted.not_courses)}" if wanted.not_courses else ""
    return f"Only {listed(topics_in_order(wanted.topics))}{only}{without}"


def _pairs(phrases: Sequence[Phrase]) -> list[list[Phrase]]:
    """Places and topics by turns, as in "GB results and IRE racecards", pair by pair; none where they don't alternate.

    One subscription has the same topics for all its regions.
    """
    if any(phrase.kind is Kind.NOT for phrase in phrases):
        return []
    things = [phrase for phrase in phrases if phrase.kind in {Kind.REGION, Kind.COURSE, Kind.OWN}]
    turns = [list(turn) for _, turn in groupby((one for one in things if one.value != ALL), key=_is_topic)]
    if len(turns) < len(("GB", "results", "IRE", "racecards")) or len(turns) % 2:
        return []
    return [[*turns[at], *turns[at + 1]] for at in range(0, len(turns), 2)]


def _is_topic(phrase: Phrase) -> bool:
    return phrase.kind is Kind.OWN


def _joins_region_and_course(phrases: Sequence[Phrase], place: int) -> bool:
    """Whether an "and" stands between a region and a course, or a comma after the region.

    "York, GB" is one place, and so is a region with `course:York`.
    """
    before, here, after = (phrases[at] if 0 <= at < len(phrases) else None for at in (place - 1, place, place + 1))
    if here is None or after is None or any(one and one.is_named for one in (before, here, after)):
        return False
    if here.kind is Kind.REGION:
        return here.has_comma and after.kind is Kind.COURSE
    return here.kind in {Kind.AND, Kind.OR} and {before and before.kind, after.kind} == {Kind.REGION, Kind.COURSE}


def _together(words: Sequence[Word]) -> list[Word]:
    """The words, with `course:` joined to the name after a space: `course: Ascot` is `course:Ascot`."""
    found: list[Word] = []
    left = iter(words)
    for word in left:
        name, value = parted(word.text)
        if name and not value:
            follows = next(left, Word(""))
            if not follows.text or parted(follows.text)[0]:
                raise CommandError(
                    f'Nothing follows "{word.text}". Write {word.text}"Name", as /racing courses shows the name.'
                )
            found.append(Word(f"{name}{follows.text}", is_quoted=True, has_comma=follows.has_comma))
        else:
            found.append(word)
    return found

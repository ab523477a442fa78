"""The words of `/racing subscribe` and `unsubscribe`, in any order, in plain English."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from itertools import pairwise
from typing import Any

from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError
from bot.events.days import is_day
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import COURSE_PREFIX
from bot.slack.commands.line_parses import (
    ALL,
    JOINTS,
    clauses,
    is_topic,
    joins_topics_to_places,
    left_out_together,
    without_not_only,
)
from bot.slack.commands.line_phrases import THINGS, WORDS_OF_A_NAME, Kind, Phrase, PhraseReader
from bot.slack.commands.tokens import NOT_COURSE, Word, join, parted, words_of
from bot.slack.messages.conditions.choice_view import ChoiceView, form_offered
from bot.slack.messages.conditions.hour_views import DigestView, EveView, QuietView, ZoneView
from bot.slack.messages.conditions.table import CHOICES, TYPED_AS, VIEWS
from bot.slack.messages.conditions.topic_view import topics_in_order
from bot.slack.messages.kit.text import listed

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

EVERYTHING = "everything"
"""All regions, or all topics of a region: "everything from GB"."""

OWN = {word: topic.value for word, topic in TOPIC_WORDS.items()} | {ALL: ALL, EVERYTHING: ALL}

NO_LISTS = Lexicon()

Values = tuple[tuple[str, tuple[Any, ...]], ...]

_CLOCK = re.compile(r"[0-9]{1,2}[.:][0-9]{2}")

WORDS_OF_A_VALUE = 5
"""The words of "10 pm to 7 am"."""

_BEFORE_A_VALUE = frozenset(["at", "from", "after", "within", "between", "daily", "hours", "to", "in"])

_ZONE = ZoneView()

_OF_HOURS = frozenset(view.typed_as for view in (DigestView(), EveView(), QuietView()))

_UNITS = frozenset(["m", "min", "mins", "minute", "minutes", "h", "hour", "hours", "am", "pm", "a.m.", "p.m."])


@dataclass(frozen=True)
class TypedFilter:
    """The words, sorted by kind. `regions` are not checked; `everything` is the word "all".

    `not_topics` and `not_regions` follow "no" or "except" (`is_negated`). `days` are words for a day. `is_only`: "only"
    was typed. `named` are regions typed by another name, with their codes.
    """

    regions: tuple[str, ...] = ()
    everything: bool = False
    topics: frozenset[Topic] = frozenset()
    courses: tuple[str, ...] = ()
    not_courses: tuple[str, ...] = ()
    values: Values = ()
    not_values: tuple[str, ...] = ()
    not_topics: frozenset[Topic] = frozenset()
    not_regions: tuple[str, ...] = ()
    not_everything: bool = False
    is_negated: bool = False
    days: tuple[str, ...] = ()
    is_only: bool = False
    named: tuple[tuple[str, str], ...] = ()
    spelled: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Courses typed in another letter case, with their published names."""
    readings: tuple[tuple[str, "TypedFilter"], ...] = field(default=(), compare=False)
    """The readings by label, where the words have several."""

    @property
    def is_bare(self) -> bool:
        return not (self.line("") or self.not_topics or self.not_regions or self.not_everything or self.days)

    @property
    def is_whole(self) -> bool:
        return not (self.topics or self.not_topics or self.courses or self.not_courses or self.values)

    @property
    def all_topics(self) -> frozenset[Topic]:
        return (self.topics or DEFAULT_TOPICS) - self.not_topics

    @property
    def is_of_choices(self) -> bool:
        """Whether nothing but choices was typed of regions, as "GB quiet:22:00-07:00"."""
        fields = {view.field for view in CHOICES}
        others = (self.topics, self.not_topics, self.courses, self.not_courses)
        return bool(self.values) and not any(others) and all(name in fields for name, _ in self.values)

    @property
    def topics_of_choices(self) -> frozenset[Topic]:
        """What the typed choices are about: `cards:19:00` asks for racecards."""
        named = dict(self.values)
        return frozenset(view.choice.topic for view in CHOICES if view.choice.topic and view.field in named)

    def line(self, command: str) -> str:
        return join(
            filter(
                None,
                [
                    command,
                    *([ALL] if self.everything else []),
                    *self.regions,
                    *topics_in_order(self.topics),
                    *(f"{COURSE_PREFIX}{one}" for one in self.courses),
                    *(f"{NOT_COURSE}{one}" for one in self.not_courses),
                    *typed_values(self.values),
                ],
            )
        )


def read_typed_filter(text: str, lexicon: Lexicon = NO_LISTS) -> TypedFilter:
    reader = PhraseReader(lexicon, OWN, is_day=_is_day, reads_values=True)
    words = _without_minus(words_of(text), lexicon)
    every = reader.read(_together(_with_colons(words, reader)))
    typed, values, not_values = _without_values(every)
    ways = without_not_only(typed, lexicon)
    phrases = ways[0]
    ways = ways if len(ways) > 1 else left_out_together(phrases, lexicon)
    wanted = _sorted(phrases, lexicon)
    each = [_sorted(way, lexicon) for way in ways]
    readings = _labelled(each, lexicon) if ways else _readings(phrases, lexicon, wanted)
    if lexicon.regions and any(phrase.kind is Kind.UNKNOWN for phrase in phrases):
        # A word that is no name comes first: with the right word there may be a single reading.
        readings = ()
    return replace(
        wanted,
        values=values,
        not_values=not_values,
        is_negated=any(phrase.kind is Kind.NOT for phrase in every),
        readings=tuple((label, replace(one, values=values)) for label, one in readings),
    )


def _without_values(
    phrases: Sequence[Phrase],
) -> tuple[list[Phrase], Values, tuple[str, ...]]:
    left: list[Phrase] = []
    values: dict[str, list[Any]] = {}
    not_values: list[str] = []
    for phrase in phrases:
        if phrase.kind is not Kind.VALUE:
            left.append(phrase)
            continue
        name, text = parted(phrase.value)
        if _is_left_out(phrase, left):
            not_values.append(text)
        else:
            view = TYPED_AS[name]
            try:
                read = [view.condition.from_file(one) for one in text.split(",")] if text else [EVERY_VALUE]
                values.setdefault(view.field, []).extend(read)
            except ValueError as error:
                raise CommandError(f"{error}.", lines=form_offered(view)) from None
    return left, tuple((name, BY_FIELD[name].of_file(some)) for name, some in values.items()), tuple(not_values)


def _is_left_out(value: Phrase, before: list[Phrase]) -> bool:
    """Whether a value follows a "no": directly, or anywhere where the value has no name. A direct "no" is removed."""
    at = len(before) - 1
    while at >= 0 and before[at].kind is Kind.FILLER:
        at -= 1
    if at >= 0 and before[at].kind is Kind.NOT:
        del before[at:]
        return True
    return not value.is_named and any(one.kind is Kind.NOT for one in before)


def typed_values(values: Values) -> list[str]:
    some = ChannelFilter.model_validate({"region": "", "topics": frozenset(), **dict(values)})
    return [word for view in VIEWS if view.field in dict(values) for word in view.typed(some)]


def check_readings(command: str, wanted: TypedFilter) -> None:
    if wanted.readings:
        told = "That can be read in several ways, so nothing was changed. What is meant?"
        raise CommandError(told, lines={label: one.line(command) for label, one in wanted.readings}, asks_meaning=True)


def day_or_time(typed: str) -> str:
    """The kind of a moment: 2.30 is a time, and 2.3.2026 a day."""
    return "time" if _CLOCK.fullmatch(typed) else "day"


def _is_day(typed: str) -> bool:
    return is_day(typed, date.min.replace(year=2000))


class _Reach(StrEnum):
    """The reach of a "no": things of the same kind, the first topic alone, or all joined things."""

    KIND = "kind"
    FIRST = "first"
    JOINED = "joined"


def _sorted(phrases: Sequence[Phrase], lexicon: Lexicon, reach: _Reach = _Reach.KIND) -> TypedFilter:
    taken: dict[Kind, list[str]] = {kind: [] for kind in THINGS}
    left_out: dict[Kind, list[str]] = {kind: [] for kind in THINGS}
    for phrase, is_out in _with_reach(phrases, lexicon, reach):
        if phrase.kind in THINGS:
            (left_out if is_out else taken)[phrase.kind].append(phrase.value)
    topics, not_topics = (frozenset(map(Topic, set(some[Kind.OWN]) - {ALL})) for some in (taken, left_out))
    regions = _in_order(phrases, [*taken[Kind.REGION], *taken[Kind.UNKNOWN], *left_out[Kind.UNKNOWN]])
    return TypedFilter(
        regions=regions,
        everything=ALL in taken[Kind.OWN] and not (regions and _is_of_words(phrases)),
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


def _with_reach(phrases: Sequence[Phrase], lexicon: Lexicon, reach: _Reach) -> list[tuple[Phrase, bool]]:
    found: list[tuple[Phrase, bool]] = []
    negation: Phrase | None = None
    negated: Kind | None = None
    for before, phrase in zip([None, *phrases], phrases, strict=False):
        if phrase.kind is Kind.NOT:
            negation, negated = phrase, None
        is_out = False
        if phrase.kind in THINGS:
            kind = _kind(phrase, lexicon, is_negated=negation is not None)
            is_out = negation is not None and _is_reached(reach, negated, kind, before)
            negation, negated = (negation, kind) if is_out else (None, None)
            phrase = replace(phrase, kind=kind)  # noqa: PLW2901  as it is read here
        found.append((phrase, is_out))
    if negation is not None and negated is None:
        raise CommandError(f'Nothing follows "{negation.typed}". Write what is to be left out after it.')
    return found


def _kind(phrase: Phrase, lexicon: Lexicon, *, is_negated: bool) -> Kind:
    if is_negated and phrase.kind is Kind.NO_COURSE:
        return Kind.COURSE
    if is_negated and phrase.kind is Kind.UNKNOWN and not lexicon.courses:
        return Kind.COURSE
    return phrase.kind


def _is_reached(reach: _Reach, negated: Kind | None, kind: Kind, before: Phrase | None) -> bool:
    """Whether a "no" reaches a phrase, after a phrase of the kind `negated` (None: the first) and a joining word."""
    joint = before.kind if before else None
    if negated in {None, kind}:
        return negated is None or kind is not Kind.OWN or reach is not _Reach.FIRST or joint is Kind.OR
    is_joined = joint in JOINTS or bool(before and before.has_comma)
    return is_joined and {negated, kind} <= {Kind.OWN, Kind.COURSE, Kind.REGION} and reach is _Reach.JOINED


def _in_order(phrases: Sequence[Phrase], values: Sequence[str]) -> tuple[str, ...]:
    wanted = set(values)
    return tuple(dict.fromkeys(phrase.value for phrase in phrases if phrase.value in wanted))


def _is_of_words(phrases: Sequence[Phrase]) -> bool:
    """Whether "all" belongs to words beside "all", and so is not all regions.

    Such words are a topic ("all results"), a region ("all GB", "GB all") and racing ("all Irish racing").
    """
    if any(phrase.kind is Kind.FILLER and phrase.value == "racing" for phrase in phrases):
        return True
    plain = [phrase for phrase in phrases if phrase.kind is not Kind.FILLER]
    return any(
        (one.value == ALL and other.kind is Kind.OWN and other.value != ALL)
        or (ALL in {one.value, other.value} and Kind.REGION in {one.kind, other.kind} and not one.has_comma)
        for one, other in pairwise(plain)
    )


def _readings(phrases: Sequence[Phrase], lexicon: Lexicon, wanted: TypedFilter) -> tuple[tuple[str, TypedFilter], ...]:
    """The readings of ambiguous words, such as "no cards and results" or "GB and Ascot"."""
    if (wanted.regions or wanted.courses) and any(phrase.typed.casefold() == EVERYTHING for phrase in phrases):
        of_place = replace(wanted, everything=False, topics=frozenset(Topic) - wanted.not_topics)
        everywhere = replace(wanted, everything=True, regions=(), courses=())
        return (
            (f"Everything from {listed([*wanted.regions, *wanted.courses])}", of_place),
            ("All regions", everywhere),
        )
    is_taken = [phrase.kind is not Kind.NOT and not out for phrase, out in _with_reach(phrases, lexicon, _Reach.KIND)]
    typed = [phrase for phrase, taken in zip(phrases, is_taken, strict=True) if taken]
    left_out = [phrase for phrase, taken in zip(phrases, is_taken, strict=True) if not taken]
    if found := clauses(typed, lexicon):
        if left_out:
            return _labelled([*(_sorted([*one, *left_out], lexicon) for one in found), wanted], lexicon)
        return _of_clauses(found, lexicon, wanted)
    if joins_topics_to_places(phrases) and not wanted.topics >= DEFAULT_TOPICS:
        return _labelled([wanted, replace(wanted, topics=wanted.topics | DEFAULT_TOPICS)], lexicon)
    each = [wanted, *(_sorted(phrases, lexicon, reach) for reach in (_Reach.FIRST, _Reach.JOINED))]
    each = [one for one in each if one.regions or one.everything or not wanted.regions]
    if len(set(each)) > 1:
        return _labelled([*each, *_whole_beside(each, wanted)], lexicon)
    if wanted.courses and any(_joins_region_and_course(typed, place) for place in range(len(typed))):
        return (
            (f"All of {listed(wanted.regions)}", replace(wanted, courses=())),
            (f"Only {listed(wanted.courses)}", wanted if _fitting(wanted, lexicon) else replace(wanted, regions=())),
        )
    return ()


def _of_clauses(
    found: Sequence[Sequence[Phrase]], lexicon: Lexicon, wanted: TypedFilter
) -> tuple[tuple[str, TypedFilter], ...]:
    each = {" ".join(one.value for one in sorted(clause, key=is_topic)): _sorted(clause, lexicon) for clause in found}
    is_of_all = any(one.value == ALL for clause in found for one in clause)
    if not wanted.courses and not is_of_all:
        return (*each.items(), ("All of that for each", wanted))
    whole = [replace(wanted, courses=())] if wanted.courses and wanted.regions else []
    lines = {one.line("") for one in each.values()}
    together = [wanted, *whole] if wanted.topics and _fitting(wanted, lexicon) else []
    more = [one for one in together if one.line("") not in lines]
    return (*each.items(), *_labelled(more, lexicon, has_places=is_of_all))


def _fitting(wanted: TypedFilter, lexicon: Lexicon) -> TypedFilter | None:
    """The same without exclusions that leave nothing out; None where courses are in none of the regions."""
    places = {one: _regions_of(one, lexicon) for one in (*wanted.courses, *wanted.not_courses)}
    of_courses = {region for one in wanted.courses for region in places[one]}
    regions = set() if wanted.everything else set(wanted.regions) or of_courses
    elsewhere = {one for one, there in places.items() if regions and there and regions.isdisjoint(there)}
    not_courses = tuple(one for one in wanted.not_courses if one not in elsewhere)
    if elsewhere.intersection(wanted.courses) or set(not_courses).intersection(wanted.courses):
        return None
    return replace(wanted, not_courses=not_courses)


def _regions_of(course: str, lexicon: Lexicon) -> set[str]:
    found = (one for one in lexicon.courses if course in {one.name, one.course_id, one.shortcode})
    return {one.region for one in found if one.region}


def _whole_beside(each: Sequence[TypedFilter], wanted: TypedFilter) -> list[TypedFilter]:
    """For "GB no results, IRE": all of IRE."""
    joined = {region for one in each for region in one.not_regions if region in wanted.regions}
    regions = tuple(region for region in wanted.regions if region in joined)
    return [TypedFilter(regions=regions, named=wanted.named)] if wanted.not_topics and regions else []


def _labelled(
    each: Sequence[TypedFilter], lexicon: Lexicon, *, has_places: bool = False
) -> tuple[tuple[str, TypedFilter], ...]:
    fitting = [_fitting(one, lexicon) for one in each]
    full = [replace(one, topics=one.all_topics) for one in fitting if one and one.all_topics]
    spelled = {one.line(""): (one, named) for one, named in ((_spelled(one, lexicon), one) for one in full) if one}
    has_places = has_places or any(one is not named for one, named in spelled.values())
    has_places = has_places or len({(one.regions, one.everything) for one, _ in spelled.values()}) > 1
    return tuple((_label(named, has_places=has_places), one) for one, named in spelled.values())


def _spelled(wanted: TypedFilter, lexicon: Lexicon) -> TypedFilter | None:
    if not (wanted.everything and wanted.not_regions):
        return wanted
    others = tuple(region for region in lexicon.regions if region not in wanted.not_regions)
    return replace(wanted, everything=False, regions=others, not_regions=()) if others else None


def _label(wanted: TypedFilter, *, has_places: bool) -> str:
    regions = "all regions" if wanted.everything else listed(wanted.regions)
    but = f" but {listed(wanted.not_regions)}" if wanted.everything and wanted.not_regions else ""
    where = f" from {regions}{but}" if has_places and regions else ""
    only = f", only {listed(wanted.courses)}" if wanted.courses else ""
    without = f", without {listed(wanted.not_courses)}" if wanted.not_courses else ""
    return f"Only {listed(topics_in_order(wanted.topics))}{where}{only}{without}"


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


def _ends_with_time(word: Word) -> bool:
    name, value = parted(word.text)
    return name.casefold() in TYPED_AS and TYPED_AS[name.casefold()] in CHOICES and value[-1:].isdecimal()


def _with_colons(words: Sequence[Word], reader: PhraseReader) -> list[Word]:
    """The words, with a choice's name joined to the value that follows: "quiet 10pm to 7am" is `quiet:10pm-7am`.

    A city after an hour is the hour's zone: "digest 6pm london".
    """
    found: list[Word] = []
    start = 0
    while start < len(words):
        is_after_hours = bool(found) and parted(found[-1].text)[0].casefold() in _OF_HOURS
        word, size = (_zone_from(words, start, reader) if is_after_hours else None) or _chosen_from(
            words, start, reader
        )
        found.append(word)
        start += size
    return found


def _zone_from(words: Sequence[Word], start: int, reader: PhraseReader) -> tuple[Word, int] | None:
    """The zone of a city's name from `start`, and the number of words; None for other words."""
    first = _past_joining(words, start)
    if first == len(words) or not _is_no_name(words[first:], reader):
        return None
    for end in (first + 2, first + 1):
        run = words[first:end]
        city = " ".join(word.text for word in run)
        if "/" in _zone_named(city):
            says_time = end < len(words) and words[end].text.casefold() == "time"
            zone = Word(f"{_ZONE.typed_as}{city}", is_quoted=True, has_comma=run[-1].has_comma)
            return zone, first + len(run) + says_time - start
    return None


def _past_joining(words: Sequence[Word], start: int) -> int:
    while start < len(words) and words[start].text.casefold() in _BEFORE_A_VALUE:
        start += 1
    return start


def _zone_named(typed: str) -> str:
    try:
        return _ZONE.choice.stored(typed)
    except ValueError:
        return ""


def _is_no_name(words: Sequence[Word], reader: PhraseReader) -> bool:
    """Whether the published lists were read, and no name and no word of the command's own begins here."""
    known = reader.lexicon
    return bool(known.regions) and reader.read(words)[0].kind is Kind.UNKNOWN and not known.is_country(words[0].text)


def _chosen_from(words: Sequence[Word], start: int, reader: PhraseReader) -> tuple[Word, int]:
    """The word at `start`, and 1; or a choice with its value, and the number of words.

    A following word that can only be meant as the value is joined too: its refusal says what would be right.
    """
    word = words[start]
    view = None if word.is_quoted else TYPED_AS.get(f"{word.text.casefold()}:")
    if not isinstance(view, ChoiceView):
        return word, 1
    first = _past_joining(words, start + 1)
    for end in range(min(len(words), first + WORDS_OF_A_VALUE), first, -1):
        run = [one.text.casefold() for one in words[first:end]]
        value = re.sub(r" ?(?:\bto\b|\buntil\b|\btill\b|-) ?", "-", " ".join(run))
        for typed in (" ".join(one.text for one in words[first:end]), value, value.replace(" ", "")):
            if _is_value(view, typed):
                return Word(f"{view.typed_as}{typed}", is_quoted=True, has_comma=words[end - 1].has_comma), end - start
    if first < len(words) and _is_meant(view, words[first:], reader):
        follows = words[first]
        return Word(f"{view.typed_as}{follows.text}", is_quoted=True, has_comma=follows.has_comma), first + 1 - start
    return word, 1


def _is_meant(view: ChoiceView, words: Sequence[Word], reader: PhraseReader) -> bool:
    typed = words[0].text
    if parted(typed)[0] or not (view.is_of_names or any(map(str.isdecimal, typed))):
        return False
    return typed[0] in "@#<" or _is_no_name(words, reader)


def _is_value(view: ChoiceView, typed: str) -> bool:
    try:
        view.choice.stored(typed)
    except ValueError:
        return False
    return True


def _without_minus(words: Sequence[Word], lexicon: Lexicon) -> list[Word]:
    """The words, with `-York` as `-course:York`, and with `-results` and `-IRE` as "no results" and "no IRE"."""
    found: list[Word] = []
    start = 0
    while start < len(words):
        word, size = words[start], 1
        name = "" if parted(word.text)[0] else word.text.removeprefix("-")
        if name in {"", word.text}:
            found.append(word)
        elif name.casefold() in OWN or lexicon.region_called(name):
            found += [Word("not"), word._replace(text=name)]
        else:
            sizes = range(min(WORDS_OF_A_NAME, len(words) - start), 1, -1)
            names = {size: " ".join([name, *(one.text for one in words[start + 1 : start + size])]) for size in sizes}
            size = next((size for size, one in names.items() if lexicon.course_in_any_case(one)), 1)
            last = words[start + size - 1]
            found.append(Word(f"{NOT_COURSE}{names.get(size, name)}", is_quoted=True, has_comma=last.has_comma))
        start += size
    return found


def _together(words: Sequence[Word]) -> list[Word]:
    """The words, with `course:` joined to the name after a space: `course: Ascot` is `course:Ascot`.

    So is the unit of a time: `ack:10 minutes` is `ack:10minutes`.
    """
    found: list[Word] = []
    left = iter(words)
    for word in left:
        name, value = parted(word.text)
        if found and not word.is_quoted and word.text.casefold() in _UNITS and _ends_with_time(found[-1]):
            found[-1] = Word(f"{found[-1].text}{word.text}", found[-1].is_quoted, word.has_comma)
        elif name and not value:
            follows = next(left, Word(""))
            if not follows.text or parted(follows.text)[0]:
                view = TYPED_AS.get(name.casefold())
                example = (
                    '"Name", as /racing courses shows the name'
                    if name.endswith(COURSE_PREFIX)
                    else f"{view.typed_example if view else 1}, for example"
                )
                raise CommandError(f'Nothing follows "{word.text}". Write {word.text}{example}.')
            found.append(Word(f"{name}{follows.text}", is_quoted=True, has_comma=follows.has_comma))
        else:
            found.append(word)
    return found

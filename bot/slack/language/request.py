"""The request of a typed line: topics, places and other values.

A line with several meanings is refused, with the meanings as buttons.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import Any

from bot.channels.conditions.choices import HourCondition
from bot.channels.conditions.condition import Condition
from bot.channels.conditions.event_conditions import COURSE_PREFIX, topics_in_order
from bot.channels.conditions.table import BY_FIELD, CHOICES, VALUED
from bot.channels.filters import ChannelFilter
from bot.errors import WITHOUT_LABEL, CommandError
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.racedata.lexicon import Lexicon
from bot.slack.language.grammar import HOUR_OF_TOPIC, NO_LISTS, Grammar, Phrase
from bot.slack.language.tokens import parted
from bot.slack.language.words import ALL, JOINTS, SUBSCRIBING, THINGS, Kind, Words, parts_in, patterns_in, words_in

_FIELDS_OF_VALUES = frozenset(one.field for one in VALUED)
HOUR_FIELDS = frozenset(one.field for one in VALUED if isinstance(one, HourCondition))

_WANTED = THINGS | {Kind.VALUE}

_EACH_DAY = words_in("each day")

_EXCEPT = frozenset({"but", "except", "excluding"})
"""Negations that after another negation may name what is wanted: "no alerts but abandonments"."""

_PARTING = frozenset({"with", "-"})
"""Joining words that may part two meanings."""

_EACH = "each"

MOST_PHRASES = 300
"""The time to match the patterns of meanings grows with the square of the line's length."""

_MEANINGS = patterns_in("meanings", parts_in("parts of meanings"))

NamedThings = Mapping[str, tuple[Any, ...]]
"""Named values, by the kinds of phrases (`regions`, `days`, `unknown`) and by choices' fields."""


@dataclass(frozen=True)
class Refusal:
    """`told`: the words for the person. `offers`: the requests that buttons make, by the buttons' labels.

    `is_of_meaning`: the line has several meanings, and each button takes one meaning. `command`: the command of the
    buttons, where the buttons have another command than the line.
    """

    told: str
    offers: Mapping[str, "LineRequest"] = field(default_factory=dict)
    is_of_meaning: bool = False
    command: str = ""

    def error(self, command: str) -> CommandError:
        lines = {label: offered.line(self.command or command) for label, offered in self.offers.items()}
        return CommandError(self.told, lines=lines, asks_meaning=self.is_of_meaning)


@dataclass(frozen=True)
class LineRequest:
    """`taken`: what the line asks for, with unknown words. `left_out`: what the line excludes.

    `is_negated`: "no" or "except" was typed; `is_only`: "only" was. `phrases`: all that was typed. `refused`: why the
    line can't be taken as it stands.
    """

    taken: NamedThings
    left_out: NamedThings = field(default_factory=dict)
    is_negated: bool = field(default=False, compare=False)
    is_only: bool = field(default=False, compare=False)
    phrases: Sequence[Phrase] = field(default=(), compare=False)
    refused: Refusal | None = field(default=None, compare=False)

    def of(self, name: str) -> tuple[Any, ...]:
        return self.taken.get(name, ())

    def out(self, name: str) -> tuple[Any, ...]:
        return self.left_out.get(name, ())

    @property
    def everything(self) -> bool:
        return bool(self.of(ALL))

    @property
    def is_bare(self) -> bool:
        return not (self.taken or self.left_out)

    @property
    def not_chosen(self) -> list[str]:
        """The words of racing by which no filter chooses."""
        return [one.typed for one in self.phrases if one.kind is Kind.NOT_CHOSEN]

    @property
    def each_day(self) -> str:
        """The words for one message a day."""
        return next((one.typed for one in self.phrases if one.typed.casefold() in _EACH_DAY), "")

    def digests(self, topics: Collection[Topic]) -> list[Condition]:
        """The choices of an hour that "daily" may mean."""
        return [kind for topic, kind in HOUR_OF_TOPIC.items() if self.each_day and topic in topics]

    @property
    def is_whole(self) -> bool:
        """Whether nothing but places was typed."""
        return not (self.left_out or self.taken.keys() - {Kind.REGION, ALL})

    @property
    def all_topics(self) -> frozenset[Topic]:
        return frozenset(self.of(Kind.TOPIC) or DEFAULT_TOPICS) - set(self.out(Kind.TOPIC))

    @property
    def no_more_than(self) -> frozenset[Topic] | None:
        """The topics, where they were typed with "only" or "no"."""
        return self.all_topics if self.out(Kind.TOPIC) or (self.is_only and self.of(Kind.TOPIC)) else None

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        return {one.field: self.of(one.field) for one in VALUED if one.field in self.taken}

    @property
    def of_choices(self) -> frozenset[Topic] | None:
        """The topics of the choices, where choices alone were typed of regions: `GB cards:19:00`; else None."""
        others = self.taken.keys() - {Kind.REGION, ALL, Kind.UNKNOWN, *(one.field for one in CHOICES)}
        has_choices = any(one.field in self.taken for one in CHOICES)
        return self.topics_of_choices if has_choices and not (others or self.left_out) else None

    @property
    def topics_of_choices(self) -> frozenset[Topic]:
        return frozenset(one.topic for one in CHOICES if one.topic and one.field in self.taken)

    def but(self, **named: Sequence[Any]) -> "LineRequest":
        """The request with these fields replaced. An empty sequence removes the field."""
        taken = {name: tuple(some) for name, some in (dict(self.taken) | named).items() if some}
        return replace(self, taken=taken)

    def with_each(self, kinds: Iterable[Condition], typed: str = "") -> dict[str, "LineRequest"]:
        """The request with each value that `typed`, or the name of a kind alone, may mean, by the value to type."""
        each = ((kind, value) for kind in kinds for value in kind.guesses(typed))
        return {f"{kind.typed_as}{value}": self.but(**{kind.field: (value,)}) for kind, value in each}

    def without(self, *names: str) -> "LineRequest":
        """The request without these fields, taken or left out."""
        taken, out = ({name: some[name] for name in some if name not in names} for some in (self.taken, self.left_out))
        return replace(self, taken=taken, left_out=out)

    def filter(self, region: str, courses: Sequence[Course], not_courses: Sequence[Course]) -> ChannelFilter:
        """The filter that the request asks for in a region, with the known courses."""
        named = {"region": region, "topics": self.all_topics | self.topics_of_choices}
        return ChannelFilter.model_validate(named | self.values | {"courses": courses, "not_courses": not_courses})

    def line(self, command: str = "") -> str:
        """The line that reads as this request."""
        return typed_line([command, *_typed(self.taken), *(f"-{word}" for word in _typed(self.left_out))])

    def mended(self, command: str, right: Mapping[str, str]) -> str:
        """The typed line with right words for the wrong ones. A course is named as `course:Name`."""
        words: list[str] = [command]
        for phrase in self.phrases:
            key = f"{COURSE_PREFIX}{phrase.value}" if phrase.kind is Kind.COURSE else str(phrase.value)
            apart = [wrong.split() for wrong in right if phrase.kind is Kind.UNKNOWN and phrase.value in wrong.split()]
            wrong = " ".join(apart[0]) if apart else key
            if not apart or phrase.value == apart[0][0] or wrong == phrase.value:
                words.append(_as_typed(phrase, right.get(wrong)))
        return " ".join(filter(None, words))

    def offers(self, error: CommandError, command: str) -> dict[str, str]:
        """The typed line with each right word that the refusal offers, by label."""
        return {label: self.mended(command, right) for label, right in error.offers.items()}

    @cached_property
    def label(self) -> str:
        """The request as a subscription is described: "results from GB, only York"."""
        topics = listed(topics_in_order(frozenset(self.of(Kind.TOPIC))))
        where = "all regions" if self.everything else listed(self.of(Kind.REGION))
        values = [f", {word}" for word in typed_values(self.taken)]
        out = [f", without {listed(some)}" for some in self.left_out.values()]
        only = [f", only {listed(self.of(Kind.COURSE))}"] if self.of(Kind.COURSE) else []
        first = " from ".join(filter(None, [topics, where]))
        return "".join([first, *only, *out, *values]).removeprefix(", ")


def read(text: str, lexicon: Lexicon = NO_LISTS, own: Words = SUBSCRIBING) -> LineRequest:
    """`own`: the command's own words."""
    phrases = Grammar(own, has_days=True, has_choices=True).read(text, lexicon)
    phrases = phrases if lexicon.regions or lexicon.courses else _as_places(phrases)
    phrases = _with_only_courses(_without_all_of_words(phrases))
    wanted = request_of(phrases)
    told = f"Your line has more than {MOST_PHRASES} words. Nothing was changed: write several lines."
    too_long = Refusal(told) if len(phrases) > MOST_PHRASES else None
    refused = too_long or wanted.refused or _of_a_moment(wanted)
    if not (refused or wanted.of(Kind.UNKNOWN)):
        refused = _idle_no(phrases) or _doubt(phrases, wanted, lexicon)
    return replace(wanted, refused=refused) if refused else wanted


def request_of(phrases: Sequence[Phrase]) -> LineRequest:
    """The named values of the phrases, or the reason why a value is wrong."""
    taken, out = _split(phrases)
    wanted = LineRequest(
        _named(taken),
        _named(out),
        is_negated=any(one.kind is Kind.NOT for one in phrases),
        is_only=any(one.kind is Kind.ONLY for one in phrases),
        phrases=phrases,
    )
    wrong = next((one for one in phrases if one.wrong), None)
    if wrong is None:
        return wanted
    name = wrong.of_field or (Kind.TOPIC if wrong.kind is Kind.NOT_CHOSEN else wrong.kind)
    # Nobody asks for racecards by "no non-runners".
    meant = () if wanted.not_chosen and (wanted.is_negated or wrong.is_out) else wrong.meant
    offers = {one: wanted.but(**{name: _in_order(name, [*wanted.of(name), one])}) for one in meant}
    return replace(wanted, refused=Refusal(wrong.wrong, offers))


def _of_a_moment(wanted: LineRequest) -> Refusal | None:
    """The refusal of a day or time: a subscription has neither."""
    for name, what in ((Kind.TIME, "time"), (Kind.DAY, "day")):
        if named := (*wanted.of(name), *wanted.out(name)):
            told = f"A subscription has no {what} such as {named[0]}: it lasts until it is ended. Nothing was changed."
            lasting = wanted.without(Kind.DAY, Kind.TIME)
            # "Change digest from 6pm to 8pm" does not ask for 6pm.
            is_meant = lasting.line() and HOUR_FIELDS.isdisjoint(wanted.taken)
            return Refusal(told, {f"{WITHOUT_LABEL}{what}": lasting} if is_meant else {})
    return None


def typed_values(named: NamedThings) -> list[str]:
    """The words of the values among named things."""
    found = {one.field: named[one.field] for one in VALUED if one.field in named}
    some = ChannelFilter.model_validate({"region": "", "topics": frozenset(), **found}) if found else None
    return [word for one in VALUED if some and one.field in found for word in one.typed(some)]


def _typed(named: NamedThings) -> list[str]:
    return [
        *([ALL] if named.get(ALL) else []),
        *named.get(Kind.REGION, ()),
        *topics_in_order(frozenset(named.get(Kind.TOPIC, ()))),
        *(f"{COURSE_PREFIX}{one}" for one in named.get(Kind.COURSE, ())),
        *typed_values(named),
        *(one for name in (Kind.TIME, Kind.DAY, Kind.FLAG, Kind.UNKNOWN) for one in named.get(name, ())),
    ]


def _sort_of(phrase: Phrase) -> str:
    return "class" if phrase.of_field == "classes" and not phrase.is_named else phrase.kind


def _as_places(phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases of a line without lists: unknown words become regions, and after a "no" courses."""
    no = _no_at(phrases)
    return [
        one._replace(kind=Kind.REGION if at < no else Kind.COURSE) if one.kind is Kind.UNKNOWN else one
        for at, one in enumerate(phrases)
    ]


def _without_all_of_words(phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases, without an "all" that belongs to the next words: "all GB", "GB all", "all results from GB"."""
    plain = [one for one in phrases[: _no_at(phrases)] if one.kind is not Kind.FILLER and not one.is_out]
    said = _roles(plain)
    return _without(phrases, [plain[_place(said, one.start())] for one in _ALL_OF_WORDS.finditer(said)])


def _without(phrases: Iterable[Phrase], others: Iterable[Phrase]) -> list[Phrase]:
    """The phrases without these `others`, compared by identity."""
    left_out = set(map(id, others))
    return [one for one in phrases if id(one) not in left_out]


def _with_only_courses(phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases, with courses after "only" as named: they belong to the place before, as in "GB, only York"."""
    found: list[Phrase] = []
    is_only = False
    for one in phrases:
        is_only = one.kind is Kind.ONLY or (is_only and one.kind in {Kind.COURSE, Kind.FILLER, *JOINTS})
        found.append(one._replace(is_named=True) if is_only and one.kind is Kind.COURSE else one)
    return found


def _split(phrases: Sequence[Phrase]) -> tuple[list[Phrase], list[Phrase]]:
    """The phrases that are asked for, and the excluded phrases. A "no" excludes the next phrases of one kind."""
    taken: list[Phrase] = []
    out: list[Phrase] = []
    reach: str | None = None
    for phrase in phrases:
        if phrase.kind is Kind.NOT:
            reach = "any"
        elif phrase.is_out:
            out.append(phrase)
        elif phrase.kind in _WANTED or phrase.kind is Kind.FLAG:
            sort = _sort_of(phrase)
            is_out = reach in {"any", sort} and phrase.kind is not Kind.UNKNOWN
            (out if is_out else taken).append(phrase)
            reach = sort if is_out else reach if phrase.kind is Kind.UNKNOWN else None
    return taken, out


def _named(phrases: Sequence[Phrase]) -> dict[str, tuple[Any, ...]]:
    found: dict[str, list[Any]] = {}
    for one in phrases:
        if not one.wrong:
            found.setdefault(one.of_field or one.kind, []).append(one.value)
    return {name: _in_order(name, some) for name, some in found.items()}


def _in_order(name: str, some: Sequence[Any]) -> tuple[Any, ...]:
    """Each value once, and topics in the order of all topics."""
    if name == Kind.TOPIC:
        return tuple(map(Topic, topics_in_order(some)))
    return BY_FIELD[name].of_file(some) if name in _FIELDS_OF_VALUES else tuple(dict.fromkeys(some))


def _as_typed(phrase: Phrase, right: str | None) -> str:
    """The text of a phrase, with the right word in place of the phrase's own."""
    said = right or phrase.typed
    if phrase.kind is Kind.FILLER:
        return ""
    if phrase.kind is Kind.ONLY:
        return str(phrase.value)
    if phrase.kind is Kind.VALUE and not right:
        said = next(iter(typed_values({phrase.of_field: (phrase.value,)}) if not phrase.wrong else ()), said)
    is_course = phrase.kind is Kind.COURSE and (phrase.is_named or phrase.is_out)
    prefix = COURSE_PREFIX if is_course and not parted(said)[0] else ""
    return f"{'-' if phrase.is_out else ''}{typed_line([prefix + said])}{',' if phrase.has_comma else ''}"


# Lines with several meanings

_ALL_OF_WORDS = re.compile(
    r"^ all(?=(?: topics)+(?: (?:named_)?regions)+$)| all(?= (?:named_)?regions| courses)|(?<=regions) all\b"
)


def _roles(plain: Iterable[Phrase], out: Iterable[Phrase] = ()) -> str:
    """The roles of the phrases, as words.ini explains: " regions; no out_topics"."""
    excluded = set(map(id, out))
    return "".join(
        f" {'out_' * (id(one) in excluded)}{'named_' * one.is_named}{_role_of(one)}{';' * one.has_comma}"
        for one in plain
    )


def _role_of(one: Phrase) -> str:
    if one.kind in {Kind.FILLER, Kind.ALL} or one.value in _EXCEPT:
        return str(one.value)
    return "no" if one.kind is Kind.NOT else one.of_field or one.kind


def _place(said: str, at: int) -> int:
    """The number of phrases whose roles begin before the character `at`."""
    return said.count(" ", 0, at)


def _idle_no(phrases: Sequence[Phrase]) -> Refusal | None:
    """The refusal of a line with a "no" before nothing."""
    for one, other in pairwise(phrases):
        is_twice = other.kind is Kind.NOT and one.value != "but"
        if one.kind is Kind.NOT and (is_twice or other.kind is Kind.ONLY):
            words = f"{one.typed} {other.typed}".capitalize()
            return Refusal(f'"{words}" leaves nothing out: name all that is wanted, without these words.')
    last = next((one for one in reversed(phrases) if one.kind is not Kind.FILLER), None)
    if last and last.kind is Kind.NOT:
        no = last.typed
        return Refusal(f'Nothing follows "{no}". Write what is to be left out: {no} York, for example.')
    return None


def _doubt(phrases: Sequence[Phrase], whole: LineRequest, lexicon: Lexicon) -> Refusal | None:
    """The refusal of a line with several meanings, by the rows of words.ini."""
    plain = [one for one in phrases if one.kind is not Kind.FILLER or one.value in _PARTING]
    said = _roles(plain, _split(plain)[1])
    for pattern, readings in _MEANINGS:
        found = pattern.match(said)
        if found and readings == _EACH:
            meanings = _without_each(plain, whole)
        elif found:
            meanings = [_reading(one, found, plain, whole, lexicon) for one in readings.split("; ")]
        if found and len({one.line() for one in meanings}) > 1:
            break
    else:
        return None
    told = "Your line has several meanings, so nothing was changed. Press the meaning you want."
    # "all GB" would be read as GB.
    offers = {one.label: one for one in meanings if not (one.everything and one.of(Kind.REGION))}
    return Refusal(told, offers, is_of_meaning=True)


def _reading(
    reading: str, found: "re.Match[str]", plain: Sequence[Phrase], whole: LineRequest, lexicon: Lexicon
) -> LineRequest:
    """The request by a reading of words.ini, "meanings"."""
    match reading:
        case "whole":
            return whole
        case "usual":
            return whole.but(topics=_in_order(Kind.TOPIC, [*whole.of(Kind.TOPIC), *DEFAULT_TOPICS]))
        case "every":
            return whole.but(all=(), topics=tuple(Topic))
        case "there":
            regions = {one.region for one in lexicon.courses if one.name in whole.of(Kind.COURSE)}
            return whole.but(regions=()) if regions.isdisjoint(whole.of(Kind.REGION)) else whole
    if reading.startswith("-"):
        return whole.but(**dict.fromkeys(found.expand(reading[1:]).split(" -"), ()))
    no, excluded = Phrase(Kind.NOT, "no", "no"), set(map(id, _split(plain)[1]))
    values = [one._replace(is_out=id(one) in excluded) for one in plain if one.kind is Kind.VALUE]
    said = {"no": [no], "values": values}
    for number in range(1, len(found.groups()) + 1):
        start, end = (_place(found.string, at) for at in found.span(number))
        said[str(number)] = [*plain[start:end]]
    parts = [_split([*chain(*(said[word] for word in part.split()))]) for part in reading.split(" | ")]
    taken, out = (_named([*chain(*some)]) for some in zip(*parts, strict=True))
    return LineRequest(taken, out)


def _without_each(plain: Sequence[Phrase], whole: LineRequest) -> list[LineRequest]:
    """The readings of a "no" before things of two kinds; else []."""
    no = _no_at(plain)
    # "without York, class 1 races only" leaves no class out.
    comma = next((at for at, one in enumerate(plain[no:], no) if one.has_comma), len(plain))
    classes = [one for one in plain[no : comma + 1] if _sort_of(one) == "class"]
    after = [one for one in plain[no:] if one.kind in THINGS or one in classes]
    groups = [(sort, list(group)) for sort, group in groupby(after, key=_sort_of)]
    negations = sum(sort is Kind.NOT for sort, _ in groupby(one.kind for one in plain))
    is_first = all(one.kind is Kind.FILLER for one in plain[:no])
    is_of_place = is_first and groups[1:] and not groups[2:] and groups[0][0] in {Kind.TOPIC, Kind.COURSE}
    if negations >= len(groups) or is_of_place:
        # "no results for GB", with no other place: the results are GB's.
        return []
    before = _without(_split(plain)[0], after)
    return [*(LineRequest(_named(before), _named(group)) for sort, group in groups if sort != "class"), whole]


def _no_at(phrases: Sequence[Phrase]) -> int:
    return next((at for at, one in enumerate(phrases) if one.kind is Kind.NOT), len(phrases))

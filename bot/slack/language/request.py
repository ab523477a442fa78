"""The request of a typed line: topics, places and other values.

A line with several meanings is refused, with the meanings as buttons.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, pairwise, starmap
from typing import Any

from bot.channels.conditions.choices import HourCondition
from bot.channels.conditions.condition import Condition
from bot.channels.conditions.course_condition import COURSE_PREFIX, COURSES_FIELD
from bot.channels.conditions.event_conditions import REGIONS_FIELD, TOPICS_FIELD, topics_in_order
from bot.channels.conditions.table import BY_FIELD, CHOICES, OF_RACES, VALUED
from bot.channels.filters import ChannelFilter
from bot.errors import WITHOUT_LABEL, CommandError
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.racedata.lexicon import Lexicon
from bot.slack.language.grammar import HOUR_OF_TOPIC, NO_LISTS, Grammar, Phrase
from bot.slack.language.tokens import parted
from bot.slack.language.words import ALL, EVERYTHING, JOINTS, SUBSCRIBING, THINGS, Kind, Words

_FIELDS_OF_VALUES = frozenset(one.field for one in VALUED)
HOUR_FIELDS = frozenset(one.field for one in VALUED if isinstance(one, HourCondition))

_ALL_OF_A_PLACE = {(Kind.ALL, Kind.REGION), (Kind.REGION, Kind.ALL), (Kind.ALL, Kind.COURSE)}

_WANTED = THINGS | {Kind.VALUE}

_ONE_CLAUSE, _TWO_CLAUSES = 2, 4
"""Turns of topics and places: "GB results", and "GB results and IRE racecards"."""

_EACH_DAY = frozenset({"daily", "once a day"})

_EXCEPT = frozenset({"but", "except", "excluding"})
"""Negations that after another negation may name what is wanted: "no alerts but abandonments"."""

Joined = tuple[bool, Phrase, Phrase]
"""Neighbours with an "and" (True) or a comma between them."""

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
        return not (self.left_out or self.taken.keys() - {REGIONS_FIELD, ALL})

    @property
    def all_topics(self) -> frozenset[Topic]:
        return frozenset(self.of(TOPICS_FIELD) or DEFAULT_TOPICS) - set(self.out(TOPICS_FIELD))

    @property
    def no_more_than(self) -> frozenset[Topic] | None:
        """The topics, where they were typed with "only" or "no"."""
        return self.all_topics if self.out(TOPICS_FIELD) or (self.is_only and self.of(TOPICS_FIELD)) else None

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        return {one.field: self.of(one.field) for one in VALUED if one.field in self.taken}

    @property
    def of_choices(self) -> frozenset[Topic] | None:
        """The topics of the choices, where choices alone were typed of regions: `GB cards:19:00`; else None."""
        others = self.taken.keys() - {REGIONS_FIELD, ALL, Kind.UNKNOWN, *(one.field for one in CHOICES)}
        has_choices = any(one.field in self.taken for one in CHOICES)
        return self.topics_of_choices if has_choices and not (others or self.left_out) else None

    @property
    def topics_of_choices(self) -> frozenset[Topic]:
        return frozenset(one.topic for one in CHOICES if one.topic and one.field in self.taken)

    def but(self, **named: Sequence[Any]) -> "LineRequest":
        """The request with these fields replaced. An empty sequence removes the field."""
        taken = {name: tuple(some) for name, some in (dict(self.taken) | named).items() if some}
        return replace(self, taken=taken)

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
        topics = listed(topics_in_order(frozenset(self.of(TOPICS_FIELD))))
        where = "all regions" if self.everything else listed(self.of(REGIONS_FIELD))
        values = [f", {word}" for word in typed_values(self.taken)]
        out = [f", without {listed(some)}" for some in self.left_out.values()]
        only = [f", only {listed(self.of(COURSES_FIELD))}"] if self.of(COURSES_FIELD) else []
        first = " from ".join(filter(None, [topics, where]))
        return "".join([first, *only, *out, *values]).removeprefix(", ")


def read(text: str, lexicon: Lexicon = NO_LISTS, own: Words = SUBSCRIBING) -> LineRequest:
    """`own`: the command's own words."""
    phrases = Grammar(own, has_days=True, has_choices=True).read(text, lexicon)
    phrases = phrases if lexicon.regions or lexicon.courses else _as_places(phrases)
    phrases = _with_only_courses(_without_all_of_words(phrases))
    wanted = request_of(phrases)
    refused = wanted.refused or _of_a_moment(wanted)
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
    name = wrong.of_field or (TOPICS_FIELD if wrong.kind is Kind.NOT_CHOSEN else wrong.kind)
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
        *named.get(REGIONS_FIELD, ()),
        *topics_in_order(frozenset(named.get(TOPICS_FIELD, ()))),
        *(f"{COURSE_PREFIX}{one}" for one in named.get(COURSES_FIELD, ())),
        *typed_values(named),
        *(one for name in (Kind.TIME, Kind.DAY, Kind.FLAG, Kind.UNKNOWN) for one in named.get(name, ())),
    ]


def _sort_of(phrase: Phrase) -> str:
    return "class" if phrase.of_field == "classes" and not phrase.is_named else phrase.kind


def _as_places(phrases: Sequence[Phrase]) -> list[Phrase]:
    """Without lists: any other word is a region, and after a "no" a course."""
    no = _no_at(phrases)
    return [
        one._replace(kind=Kind.REGION if at < no else Kind.COURSE) if one.kind is Kind.UNKNOWN else one
        for at, one in enumerate(phrases)
    ]


def _without_all_of_words(phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases, without an "all" that belongs to the next words: "all GB", "GB all", "all results from GB"."""
    if not any(one.kind is Kind.ALL for one in phrases):
        return list(phrases)
    plain = [one for one in phrases[: _no_at(phrases)] if one.kind is not Kind.FILLER and not one.is_out]
    sorts = [kind for kind, _ in groupby(one.kind for one in plain)]
    if sorts == [Kind.ALL, Kind.TOPIC, Kind.REGION] and plain[0].value == ALL and not _joined(plain):
        return [one for one in phrases if one is not plain[0]]
    beside = [
        one if one.value == ALL else other
        for one, other in pairwise(plain)
        if (one.kind, other.kind) in _ALL_OF_A_PLACE and ALL in {one.value, other.value}
        if not (one.has_comma or other.is_named)
    ]
    return _without(phrases, beside)


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


def _request(taken: Sequence[Phrase], out: Sequence[Phrase]) -> LineRequest:
    return LineRequest(_named(taken), _named(out))


def _named(phrases: Sequence[Phrase]) -> dict[str, tuple[Any, ...]]:
    found: dict[str, list[Any]] = {}
    for one in phrases:
        if not one.wrong:
            found.setdefault(one.of_field or one.kind, []).append(one.value)
    return {name: _in_order(name, some) for name, some in found.items()}


def _in_order(name: str, some: Sequence[Any]) -> tuple[Any, ...]:
    """Each value once, and topics in the order of all topics."""
    if name == TOPICS_FIELD:
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


# What a line can mean beside


def _idle_no(phrases: Sequence[Phrase]) -> Refusal | None:
    """The refusal of a line with a "no" before nothing."""
    for one, other in pairwise(phrases):
        is_twice = other.kind is Kind.NOT and one.typed.casefold() != "but"
        if one.kind is Kind.NOT and (is_twice or other.kind is Kind.ONLY):
            words = f"{one.typed} {other.typed}".capitalize()
            return Refusal(f'"{words}" leaves nothing out: name all that is wanted, without these words.')
    last = next((one for one in reversed(phrases) if one.kind is not Kind.FILLER), None)
    if last and last.kind is Kind.NOT:
        no = last.typed
        return Refusal(f'Nothing follows "{no}". Write what is to be left out: {no} York, for example.')
    return None


def _doubt(phrases: Sequence[Phrase], whole: LineRequest, lexicon: Lexicon) -> Refusal | None:
    """The refusal of a line with several meanings, or with unclear topics or places."""
    meanings = _meanings(phrases, whole, lexicon)
    told = "Your line has several meanings, so nothing was changed. Press the meaning you want."
    # "all GB" would be read as GB.
    offers = {one.label: one for one in meanings if not (one.everything and one.of(REGIONS_FIELD))}
    return Refusal(told, offers, is_of_meaning=True) if meanings else None


def _meanings(phrases: Sequence[Phrase], whole: LineRequest, lexicon: Lexicon) -> list[LineRequest]:
    """The meanings of a line in doubt; [] for a clear line."""
    taken, out = _split(phrases)
    plain = [one for one in phrases if one.kind is not Kind.FILLER]
    joined, joined_before_no = _joined(plain), _joined(plain[: _no_at(plain)])
    found = (
        _turned(phrases, out, whole)
        or _clauses(joined_before_no, taken, whole)
        or _without_each(plain, taken, whole)
        or _of_two_kinds(joined, whole)
    )
    # "GB with racecards"
    is_with = any(
        one.value == "with" and other.kind is Kind.TOPIC for one, other in pairwise(phrases[1 : _no_at(phrases)])
    )
    if not found and (is_with or any(starmap(_is_crossing, joined_before_no))):
        more = whole.but(topics=_in_order(TOPICS_FIELD, [*whole.of(TOPICS_FIELD), *DEFAULT_TOPICS]))
        found = [whole, more] if more != whole else []
    if not found and whole.of(REGIONS_FIELD) and whole.of(COURSES_FIELD) and any(starmap(_parts_place, joined)):
        there = {one.region for one in lexicon.courses if one.name in whole.of(COURSES_FIELD)}
        is_apart = there.isdisjoint(whole.of(REGIONS_FIELD))
        found = [whole.but(courses=()), whole.but(regions=()) if is_apart else whole]
    is_place = any(one.kind in {Kind.REGION, Kind.COURSE} and not one.is_named for one in taken)
    if not found and whole.everything and is_place:
        every = tuple(Topic) if EVERYTHING in whole.of(ALL) and not whole.of(TOPICS_FIELD) else whole.of(TOPICS_FIELD)
        found = [whole.but(all=(), topics=every), whole.but(regions=(), courses=())]
    return found


def _turned(phrases: Sequence[Phrase], out: Sequence[Phrase], whole: LineRequest) -> list[LineRequest]:
    """The readings of a line with words that may end or begin an exclusion; [] for any other line.

    "no racecards but abandonments", "without York, with Bath", "no racecards just abandonments", "GB - York".
    """
    no = _no_at(phrases)
    if out[1:] and phrases[-1].kind is Kind.ONLY and phrases[-2] is out[-1]:
        # "no racecards, abandonments only"
        phrases = [*phrases[:-2], phrases[-1], phrases[-2]]
    excluded = set(map(id, out))
    for at, one in enumerate(phrases[1:-1], 1):
        word = one.typed.casefold()
        is_other_no = one.kind is Kind.NOT and word in _EXCEPT and word != phrases[no].typed.casefold()
        is_turn = at > no and (is_other_no or one.kind is Kind.ONLY or one.value == "with")
        if not (is_turn or word == "-"):
            continue
        before, after = phrases[:at], phrases[at + 1 :]
        then = next((other for other in after if other.kind in _WANTED), None)
        if word == "-" and then and then.kind in {Kind.COURSE, Kind.TOPIC}:
            return [whole, _request(*_split([*before, one._replace(kind=Kind.NOT), *after]))]
        if is_turn and id(then) in excluded and after[0].kind is not Kind.NOT:
            (taken, left_out), (then_taken, then_out) = _split(before), _split(after)
            return [_request([*taken, *then_taken], [*left_out, *then_out]), whole]
    return []


def _of_two_kinds(joined: Sequence[Joined], whole: LineRequest) -> list[LineRequest]:
    """The readings of "jumps and class 1": jumps, class 1, or class 1 over jumps. A comma joins choices of one race."""
    fields = {COURSES_FIELD, *(one.field for one in OF_RACES)}
    for is_and, one, other in joined:
        first, second = (each.of_field or each.kind for each in (one, other))
        if is_and and {first, second} <= fields and first != second:
            return [whole.but(**{second: ()}), whole.but(**{first: ()}), whole]
    return []


def _clauses(joined: Sequence[Joined], taken: Sequence[Phrase], whole: LineRequest) -> list[LineRequest]:
    """The clauses of topics and places by turns, as in "GB results and IRE racecards"; else []."""
    turns: list[list[Phrase]] = []
    for one in (one for one in taken if one.kind in THINGS - {Kind.DAY, Kind.TIME}):
        if turns and (one.is_named or (one.kind is Kind.TOPIC) is (turns[-1][0].kind is Kind.TOPIC)):
            turns[-1].append(one)
        else:
            turns.append([one])
    is_joined = any(one.kind is Kind.TOPIC and not other.is_named for _, one, other in joined)
    if len(turns) < _TWO_CLAUSES and not (len(turns) > _ONE_CLAUSE and is_joined and turns[1][0].kind is Kind.TOPIC):
        return []
    values = [one for one in taken if one.kind is Kind.VALUE]
    each = [_request([*chain(*turns[at : at + 2]), *values], ()) for at in range(0, len(turns), 2)]
    return [*each, *([] if whole.of(REGIONS_FIELD) and whole.of(COURSES_FIELD) else [whole])]


def _without_each(plain: Sequence[Phrase], taken: Sequence[Phrase], whole: LineRequest) -> list[LineRequest]:
    """The readings of a "no" before things of two kinds, or before several topics; else []."""
    no = _no_at(plain)
    # "without York, class 1 races only" leaves no class out.
    comma = next((at for at, one in enumerate(plain[no:], no) if one.has_comma), len(plain))
    classes = [one for one in plain[no : comma + 1] if _sort_of(one) == "class"]
    after = [one for one in plain[no:] if one.kind in THINGS or one in classes]
    groups = [(sort, list(group)) for sort, group in groupby(after, key=_sort_of)]
    negations = sum(sort is Kind.NOT for sort, _ in groupby(one.kind for one in plain))
    if negations >= len(groups):
        is_list = negations == 1 and any(one.kind is Kind.AND or one.has_comma for one in plain[no:-1])
        is_unclear = is_list and after[1:] and whole.out(TOPICS_FIELD)
        return [whole, _request([*taken, *after[1:]], after[:1])] if is_unclear else []
    if no == 0 and groups[0][0] in {Kind.TOPIC, Kind.COURSE} and len(groups) == _ONE_CLAUSE:
        # "no results for GB", with no other place: the results are GB's.
        return []
    before = _without(taken, after)
    return [*(_request(before, group) for sort, group in groups if sort != "class"), whole]


def _no_at(phrases: Sequence[Phrase]) -> int:
    return next((at for at, one in enumerate(phrases) if one.kind is Kind.NOT), len(phrases))


def _joined(plain: Sequence[Phrase]) -> list[Joined]:
    threes = zip(plain, plain[1:], plain[2:], strict=False)
    around = [(True, one, other) for one, joint, other in threes if joint.kind in JOINTS]
    return [*around, *((False, one, other) for one, other in pairwise(plain) if one.has_comma)]


def _is_crossing(is_and: bool, one: Phrase, other: Phrase) -> bool:
    """Whether an "and" joins a topic and a place, or "all" and the "all" of a topic."""
    if one.kind is other.kind is Kind.ALL:
        return True
    is_pair = {one.kind, other.kind} <= THINGS and not other.is_named
    return is_and and is_pair and (one.kind is Kind.TOPIC) != (other.kind is Kind.TOPIC)


def _parts_place(is_and: bool, one: Phrase, other: Phrase) -> bool:
    """Whether an "and" parts a region from a course, or a comma after the region. "York, GB" is one place."""
    is_pair = {one.kind, other.kind} == {Kind.REGION, Kind.COURSE} and not (one.is_named or other.is_named)
    return is_pair and (is_and or one.kind is Kind.REGION)

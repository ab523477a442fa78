"""The readings of a line of `/racing subscribe` or `unsubscribe`, each as phrases with a single meaning.

A subscription has the same topics for all its places. A richer line, such as "GB no results for Ascot", is asked about.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, takewhile

from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.line_phrases import THINGS, Kind, Phrase
from bot.slack.messages.conditions.topic_view import topics_in_order

ALL = "all"

JOINTS = frozenset({Kind.AND, Kind.OR})
COURSE_KINDS = frozenset({Kind.COURSE, Kind.NO_COURSE})
PLACE_KINDS = COURSE_KINDS | {Kind.REGION, Kind.UNKNOWN}

_EVERYWHERE = Phrase(Kind.OWN, ALL, ALL)
_NOT = Phrase(Kind.NOT, "no", "no")

Line = Sequence[Phrase]


def is_topic(phrase: Phrase) -> bool:
    return phrase.kind is Kind.OWN and phrase.value != ALL


def is_place(phrase: Phrase) -> bool:
    """Whether a phrase is a region, a course or the word "all". Without lists any other word is likely a place."""
    return phrase.kind in PLACE_KINDS or (phrase.kind is Kind.OWN and phrase.value == ALL)


def without_not_only(phrases: Line, lexicon: Lexicon) -> list[list[Phrase]]:
    """The phrases without the first "not only", once for each reading. "Not only" leaves nothing out."""
    for at, phrase in enumerate(phrases):
        start = _after_fillers(phrases, at + 1)
        if phrase.kind is Kind.NOT and start < len(phrases) and phrases[start].kind is Kind.ONLY:
            end = _end(phrases, start + 1)
            if not any(one.kind in THINGS for one in phrases[start + 1 : end]):
                raise CommandError(f'Nothing follows "{phrase.typed} {phrases[start].typed}".')
            return _widened(phrases[:at], phrases[start + 1 : end], phrases[end:], lexicon)
    return [list(phrases)]


def left_out_together(phrases: Line, lexicon: Lexicon) -> list[list[Phrase]]:
    """The readings of a "no" before a topic and a place together, as in "no results for Ascot"; else []."""
    groups = [(at, _end(phrases, at + 1)) for at, phrase in enumerate(phrases) if phrase.kind is Kind.NOT]
    found = [(at, end) for at, end in groups if _is_mixed(phrases[at + 1 : end])]
    if not found:
        return []
    if len(found) > 1:
        raise CommandError("That leaves out too much at once, so nothing was changed. One thing at a time, please.")
    at, end = found[0]
    group, others = _things(phrases[at + 1 : end]), _bare([*phrases[:at], *phrases[end:]])
    if not lexicon.courses:
        group = [replace(one, kind=Kind.COURSE) if one.kind is Kind.UNKNOWN else one for one in group]
    topics, places = list(filter(is_topic, group)), [one for one in group if one.kind is not Kind.OWN]
    base = any(map(is_place, _taken(others)))
    of_regions = any(one.kind is Kind.REGION for one in places)
    if not topics:
        return _of_places(others, places)
    # "no results for GB", with no other place: these are of GB.
    if not base and is_topic(group[0]):
        return [] if len(_turns(group)) == len(("results", "GB")) else [[*places, *others, _NOT, *topics]]
    around = others if base else [_EVERYWHERE, *others]
    elsewhere = [one for one in others if not is_place(one)] if of_regions else others
    return [
        *([[*others, _NOT, *topics]] if base else []),
        [*around, _NOT, *places],
        *([[*places, *elsewhere, _NOT, *topics]] if is_topic(group[0]) or of_regions or not base else []),
        *([[*places, *others, _NOT, *topics]] if of_regions and base and not _has_all(others) else []),
        *([[*topics, *around, _NOT, *places]] if not is_topic(group[0]) else []),
    ]


def clauses(phrases: Line, lexicon: Lexicon) -> list[list[Phrase]]:
    """The clauses of phrases without "no", where topics may differ, as in "GB results and Ascot"; else []."""
    things = [phrase for phrase in phrases if is_topic(phrase) or is_place(phrase)]
    plain = [phrase for phrase in things if phrase.value != ALL]
    found = _by_turns(plain) or _by_turns(things)
    for before, after in [] if found else _splits(phrases):
        found += [_things(before), _things(after)]
    return [_located(clause, things, lexicon) for clause in found]


def joins_topics_to_places(phrases: Line) -> bool:
    """Whether an "and" before any "no" stands between places and topics, as in "GB and racecards"."""
    plain = [one for one in _taken(phrases) if one.kind is not Kind.FILLER]
    turns = _turns([one for one in plain if is_topic(one) or is_place(one)])
    around = zip(plain, plain[1:], plain[2:], strict=False)
    return len(turns) == len(("GB", "racecards")) and any(
        joint.kind in JOINTS and is_topic(before) + is_topic(after) == 1 and is_place(before) + is_place(after) == 1
        for before, joint, after in around
    )


def _widened(before: Line, group: Line, after: Line, lexicon: Lexicon) -> list[list[Phrase]]:
    things = _things(group)
    first = next(groupby(things, key=_sort_of))[1]
    run = list(first)
    rest = group[_bare(group).index(run[-1]) + 1 :] if not _is_mixed(group) else []
    others = [*before, *rest, *after]
    if _is_mixed(group) and any(map(is_place, before)):
        topics, places = list(filter(is_topic, things)), [one for one in things if one.kind is not Kind.OWN]
        others = _bare(others)
        wide = _with_topics(others, topics)
        return [[*places, *wide], wide, [*topics, *others]]
    if _is_mixed(group):
        others, run = [*before, *group, *after], list(filter(is_topic, things)) or things
        others = [one for one in others if one not in run]
    if is_topic(run[0]):
        return [_with_topics(others, run)]
    return _beside(_bare(others), run, lexicon)


def _beside(others: list[Phrase], places: list[Phrase], lexicon: Lexicon) -> list[list[Phrase]]:
    no_places = [one for one in others if not is_place(one)]
    regions = [one for one in others if one.kind is Kind.REGION or one.value == ALL]
    courses = [one for one in [*others, *places] if one.kind in COURSE_KINDS]
    if places[0].kind is Kind.REGION:
        return [[*places, *others], [_EVERYWHERE, *no_places]]
    if places[0].kind not in COURSE_KINDS:
        return [[*places, *others]]
    if regions and not any(one.kind is Kind.COURSE for one in others):
        elsewhere = [] if _has_all(regions) else _regions_beside(regions, places, lexicon)
        return [others, [*elsewhere, *others]] if elsewhere else [others]
    around = regions or _regions_of(courses, lexicon) or [_EVERYWHERE]
    return [[*places, *others], [*around, *no_places]]


def _with_topics(others: Line, topics: Line) -> list[Phrase]:
    usual = [Phrase(Kind.OWN, topic, topic) for topic in topics_in_order(DEFAULT_TOPICS)]
    first = [one for one in _taken(others) if is_topic(one)] or usual
    return [*(one for one in first if one not in others), *topics, *others]


def _of_places(others: list[Phrase], places: list[Phrase]) -> list[list[Phrase]]:
    """The readings of an exclusion of a region and a course together.

    "York in GB" is a single place, where GB is taken.
    """
    taken = {one.value for one in others if one.kind is Kind.REGION}
    regions = [one for one in places if one.kind is Kind.REGION]
    courses = [one for one in places if one.kind is not Kind.REGION]
    if not any(map(is_place, others)) or (taken and taken.issuperset(one.value for one in regions)):
        return []
    if _has_all(others) and places[0] not in regions:
        return []
    return [[*others, _NOT, *courses], [*others, _NOT, *regions]]


def _is_mixed(group: Line) -> bool:
    """Whether a topic and a place, or a region and a course, are neighbours without a joining word."""
    neighbours = pairwise(_with_joints(group))
    return any(not is_joined and _sort_of(one) != _sort_of(other) for (one, _), (other, is_joined) in neighbours)


def _sort_of(phrase: Phrase) -> str:
    if phrase.kind is Kind.OWN:
        return "topic"
    return "course" if phrase.kind in COURSE_KINDS else phrase.kind


def _by_turns(things: Line) -> list[list[Phrase]]:
    """Pairs of places and topics, as in "GB results and IRE racecards"; else []."""
    turns = _turns(things)
    if len(turns) < len(("GB", "results", "IRE", "racecards")) or len(turns) % 2:
        return []
    return [[*turns[at], *turns[at + 1]] for at in range(0, len(turns), 2)]


def _turns(things: Line) -> list[list[Phrase]]:
    return [list(turn) for _, turn in groupby(things, key=is_topic)]


def _splits(phrases: Line) -> Iterator[tuple[Line, Line]]:
    things = [(one, is_joined) for one, is_joined in _with_joints(phrases) if is_topic(one) or is_place(one)]
    alone = [one for one, _ in things]
    for at in [at for at, (_, is_joined) in enumerate(things) if is_joined and at]:
        if _parts_clauses(alone[:at], alone[at:]):
            yield alone[:at], alone[at:]


def _parts_clauses(before: Line, after: Line) -> bool:
    """Whether a joining word may part clauses here. `course:York` goes with the phrase before."""
    around = (before[-1], after[0])
    if any(map(is_topic, around)):
        follows = next((place for place in after if is_place(place)), None)
        return follows is not None and not follows.is_named and any(map(is_place, before))
    has_more = any(is_topic(one) or one.kind is Kind.COURSE for one in (*before, *after))
    return has_more and _has_all(around)


def _located(clause: list[Phrase], things: Line, lexicon: Lexicon) -> list[Phrase]:
    names = {one.value for one in clause if one.kind is Kind.COURSE}
    if not names or any(one.kind is Kind.REGION for one in clause):
        return clause
    there = {course.region for course in lexicon.courses if course.name in names}
    regions = [one for one in things if one.kind is Kind.REGION and one.value in there]
    return [*regions, *clause]


def _regions_of(courses: Line, lexicon: Lexicon) -> list[Phrase]:
    names = {one.value for one in courses}
    found = {one.region: None for one in lexicon.courses if one.name in names and one.region in lexicon.regions}
    return [Phrase(Kind.REGION, region, region) for region in found if region]


def _regions_beside(regions: Line, courses: Line, lexicon: Lexicon) -> list[Phrase]:
    typed = {one.value for one in regions}
    each = [_regions_of([course], lexicon) for course in courses]
    return [one for there in each if typed.isdisjoint(region.value for region in there) for one in there]


def _with_joints(phrases: Line) -> list[tuple[Phrase, bool]]:
    found: list[tuple[Phrase, bool]] = []
    is_joined = False
    for phrase in phrases:
        if phrase.kind in JOINTS:
            is_joined = True
        elif phrase.kind in THINGS:
            found.append((phrase, is_joined and bool(found)))
            is_joined = phrase.has_comma
        else:
            is_joined = is_joined or phrase.has_comma
    return found


def _taken(phrases: Line) -> list[Phrase]:
    return list(takewhile(lambda phrase: phrase.kind is not Kind.NOT, phrases))


def _things(phrases: Iterable[Phrase]) -> list[Phrase]:
    return _bare(phrase for phrase in phrases if phrase.kind in THINGS)


def _bare(phrases: Iterable[Phrase]) -> list[Phrase]:
    return [replace(phrase, has_comma=False) for phrase in phrases]


def _has_all(phrases: Line) -> bool:
    return any(phrase.kind is Kind.OWN and phrase.value == ALL for phrase in phrases)


def _after_fillers(phrases: Line, at: int) -> int:
    while at < len(phrases) and phrases[at].kind is Kind.FILLER:
        at += 1
    return at


def _end(phrases: Line, at: int) -> int:
    ends = (place for place in range(at, len(phrases)) if phrases[place].kind in {Kind.NOT, Kind.ONLY})
    return next(ends, len(phrases))

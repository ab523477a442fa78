"""`/racecard`, `/results` and `/racing next`: a day's cards, a day's results, and the next races to go off.

The words are a region, a day, a course and an off time, in any order. A day is a published race date. "today" is the
date in UTC, because the zone of the service's dates is not shown (Spec gap G16): every answer names its date.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from bot.channels import subscriptions
from bot.channels.conditions.choices import time_of_day
from bot.channels.conditions.table import OF_RACES
from bot.channels.filters import ALL_REGIONS
from bot.errors import WITHOUT_THAT, CommandError
from bot.events.days import likely_day, utc_today
from bot.events.event import Topic
from bot.events.races import Course
from bot.events.typed_text import SINGLE_QUOTE, folded
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, Card, MeetingCard, at_off
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import (
    LOOKED_UP_MAX,
    course_called,
    course_words,
    find_courses,
    no_region,
    quoted,
    refusal,
    wrong_words,
)
from bot.slack.commands.invocation import Command, CommandPlan, Desk, Invocation, reader_of
from bot.slack.language.grammar import HOUR_OF_TOPIC, NO_LISTS, Grammar, Phrase
from bot.slack.language.refusals import not_chosen, one_at_a_time, unknown_words
from bot.slack.language.request import LineRequest, Refusal, request_of
from bot.slack.language.tokens import without_page
from bot.slack.language.words import JOINTS, NON_RUNNERS, NOT_CHOSEN, NOT_GIVEN, OF_ALL, THINGS, Kind, words_in
from bot.slack.messages.answers import races_of_day
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN

USUAL_REGIONS = ("GB", "IRE")
"""Named first where a channel's subscriptions name no region."""

PLACE_CHECK_S = 3.0

WAS = "was"
"""As in "was York abandoned on Saturday": the day is past."""

BEEN = "been"
"""As in "has York been abandoned on Saturday": a meeting of the last Saturday, or of the coming Saturday."""

_SHOWN_BY = {Topic.RACECARDS: "racecard", Topic.RESULTS: "results", Topic.ABANDONMENTS: "results"}
_HOUR_OF = {command: HOUR_OF_TOPIC[topic] for topic, command in _SHOWN_BY.items() if topic in HOUR_OF_TOPIC}

_OWN = {**words_in("topics"), **NON_RUNNERS, **OF_ALL, **words_in("day")}

_ONE_OF_EACH = {Kind.REGION: "region", Kind.COURSE: "course", Kind.TIME: "off time", Kind.DAY: "day"}
_LIKE_A_REGION = re.compile("[A-Z]{2,4}")


@dataclass(frozen=True)
class DayPlan:
    """The request of a line, the day, and the place: a region (None: all) and a course (None: all).

    `unchecked` words could not be looked up.
    """

    wanted: LineRequest
    day: date
    region: str | None = None
    course: Course | None = None
    unchecked: tuple[str, ...] = ()
    page: int = 1

    @property
    def off(self) -> str | None:
        return next(iter(self.wanted.of(Kind.TIME)), None)


def day_grammar(own: Collection[str] = (), *, looks_back: bool = False) -> Grammar:
    """`own` are the command's own words."""
    flags = {word: (Kind.FLAG, word) for word in own}
    return Grammar({**_OWN, **flags}, has_days=True, looks_back=looks_back)


def day_plan(command: str, grammar: Grammar, shows: Collection[Topic]) -> CommandPlan:
    """The plan of a command that shows some topics of a day. Raises CommandError for unknown words.

    Where a command that looks back is asked for abandonments alone, days are coming days, unless the line says "was".
    """

    async def plan(desk: Desk, invocation: Invocation) -> DayPlan:
        (text, page), today = without_page(invocation.text), utc_today(desk.clock())
        lexicon = await desk.reference.lexicon(PLACE_CHECK_S) if text else NO_LISTS
        read = grammar.read(text, lexicon, today)
        if grammar.looks_back and only_abandonments(found := request_of(read)) and WAS not in found.of(Kind.FLAG):
            # A day that is past would hide a coming loss.
            past, read = read, replace(grammar, looks_back=False).read(text, lexicon, today)
            if BEEN in found.of(Kind.FLAG):
                read += [one for one in past if one.kind is Kind.DAY and one not in read]
        phrases = _with_regions(read, lexicon)
        wanted = request_of(phrases)
        if refused := wanted.refused or _refused(wanted, command, shows):
            raise refused.error(command)
        if question := _hour_asked(phrases, wanted, command):
            raise question
        days = wanted.of(Kind.DAY)
        day, region = date.fromisoformat(days[0]) if days else today, next(iter(wanted.of(Kind.REGION)), None)
        asked = DayPlan(wanted, day, region, page=page)
        try:
            return await _placed(desk, asked, phrases, lexicon, grammar)
        except CommandError as error:
            error.lines = wanted.offers(error, command)
            rest = wanted.but(unknown=(), flags=() if grammar.looks_back else wanted.of(Kind.FLAG)).line()
            if not error.lines:
                error.lines, error.asks = {WITHOUT_THAT: f"{command} {rest}".rstrip()}, False
            raise

    return plan


def only_abandonments(wanted: LineRequest) -> bool:
    return wanted.of(Kind.TOPIC) == (Topic.ABANDONMENTS,)


def _with_regions(phrases: Sequence[Phrase], lexicon: Lexicon) -> Sequence[Phrase]:
    """The phrases. Without lists a word like a code becomes a region."""
    return [
        one._replace(kind=Kind.REGION)
        if not lexicon.regions and one.kind is Kind.UNKNOWN and _LIKE_A_REGION.fullmatch(one.value)
        else one
        for one in phrases
    ]


def _refused(wanted: LineRequest, command: str, shows: Collection[Topic]) -> Refusal | None:
    if wanted.is_negated or wanted.left_out:
        places = [(name, one) for name in (Kind.REGION, Kind.COURSE) for one in wanted.of(name)]
        plain = replace(wanted.but(regions=(), courses=(), topics=(), flags=(), all=()), left_out={})
        told = f"I can leave nothing out here. /{command} shows a region, a course, or everything."
        return Refusal(told, {one: plain.but(**{name: (one,)}) for name, one in places} or {"Everything": plain})
    past = [one for one in wanted.of(Kind.FLAG) if one in {WAS, BEEN}]
    if past and not only_abandonments(wanted):
        known = wanted.without(Kind.FLAG, Kind.UNKNOWN)
        return Refusal(unknown_words(past, "course", "region", "day"), {WITHOUT_THAT: known})
    wanted = wanted.without(Kind.FLAG) if past else wanted
    for name, noun in _ONE_OF_EACH.items():
        if len(several := wanted.of(name)) > 1:
            return Refusal(one_at_a_time(noun, several), {one: wanted.but(**{name: (one,)}) for one in several})
    if elsewhere := [topic for topic in wanted.of(Kind.TOPIC) if topic not in shows]:
        other = _SHOWN_BY[elsewhere[0]]
        told = f"Type /{other} for {elsewhere[0]}."
        return Refusal(
            told,
            {elsewhere[0]: wanted.but(topics=[one for one in elsewhere if one is Topic.ABANDONMENTS], flags=())},
            command=other,
        )
    return _of_some_races(wanted)


def _of_some_races(wanted: LineRequest) -> Refusal | None:
    words = wanted.of(Kind.UNKNOWN)
    two = (f"{one.typed} {other.typed}" for one, other in pairwise(wanted.phrases))
    is_chosen = any(one.meant_by(word) for word in (*words, *two) for one in OF_RACES)
    others = [word for word in words if word.casefold() not in NOT_CHOSEN and not is_chosen]
    if len(others) == len(words):
        return None
    told = "A day is shown with all its races."
    if is_chosen:
        told = f"{told} A subscription can be to race classes, flat, jumps or aw alone."
    elif lacking := [one for one in words if one.casefold() in NOT_GIVEN]:
        told = not_chosen(lacking[0])
    return Refusal(told, {WITHOUT_THAT: wanted.but(unknown=others)})


def _hour_asked(phrases: Sequence[Phrase], wanted: LineRequest, command: str) -> CommandError | None:
    """The question about "results at 6", "results daily": races, or a message each day. "York at 6" is a race."""
    kind = _HOUR_OF.get(command)
    hours = (two for one, two in pairwise(phrases) if one.typed.casefold() == "at" and time_of_day(two.typed))
    each_day = next((one for one in phrases if one.typed.casefold() == "daily"), None)
    typed = next((one for one in hours if one.typed.isalnum()), each_day)
    if kind is None or typed is None or (typed.kind is Kind.TIME and (wanted.of(Kind.COURSE) or wanted.of(Kind.DAY))):
        return None
    at = time_of_day(typed.typed)
    races = wanted.but(unknown=(), times=(f"{at:%H:%M}",) if at else ())
    lines = {f"Races off at {typed.typed}" if at else "A day's races": races.line(command)}
    if not wanted.of(Kind.COURSE) and not wanted.of(Kind.DAY):
        daily = races.but(times=(), topics=(), all=())
        hourly = {one: daily.but(**{kind.field: (one,)}) for one in kind.guesses(typed.typed)}
        lines |= {f"Each day at {hour}": one.line("subscribe") for hour, one in hourly.items()}
    what = "the races at that time" if at else "the racing of a day"
    told = f"{quoted(typed.typed)} may mean {what}, or one message with all {kind.topic} each day."
    return CommandError(f"{told} Which is meant?", lines=lines)


async def _placed(desk: Desk, asked: DayPlan, phrases: Sequence[Phrase], lexicon: Lexicon, grammar: Grammar) -> DayPlan:
    """The plan with its course. A course without a list is known where the day has a meeting there."""
    wanted, region = asked.wanted, asked.region
    unknown = wanted.of(Kind.UNKNOWN)
    unchecked = () if lexicon.regions or region is None else (region,)
    typed = " ".join((*wanted.of(Kind.COURSE), *unknown))
    if not typed:
        return replace(asked, unchecked=unchecked)
    if not find_courses(lexicon.courses, typed):
        others = THINGS - {Kind.REGION, Kind.DAY, Kind.TIME} | JOINTS | {Kind.FILLER}
        whole = " ".join(one.typed for one in phrases if one.kind in others)
        there = (await desk.races.known(None, asked.day)).meetings
        if seen := _seen(there, typed, region) or _seen(there, whole, region):
            return replace(asked, region=region or seen.region, course=seen.course, unchecked=unchecked)
        folded = {code.casefold() for code in lexicon.regions}
        if unknown and (lexicon.courses or any(likely_day(one) or one.casefold() in folded for one in unknown)):
            # A search for near names takes as long as many deliveries.
            raise await asyncio.to_thread(_unknown, wanted, lexicon, grammar)
    course = await asyncio.to_thread(course_called, lexicon.courses, typed, regions=[region] if region else ())
    if not lexicon.courses:
        return replace(asked, course=course, unchecked=(*unchecked, typed))
    own = lexicon.region_of_course(course)
    if region is not None and own is not None and region != own:
        raise CommandError(f"{course.name or typed} is in {own}, not in {region}.", typed=region, meant={own: own})
    return replace(asked, region=region or own, course=course, unchecked=unchecked)


def _unknown(wanted: LineRequest, lexicon: Lexicon, grammar: Grammar) -> CommandError:
    words, regions = wanted.of(Kind.UNKNOWN), wanted.of(Kind.REGION)
    if error := no_region(lexicon, words):
        return error
    countries = {name: code for name, code in lexicon.names.items() if name not in lexicon.regions}
    own = {word for word, (kind, _) in grammar.own.items() if kind is Kind.FLAG or word in set(Topic)}
    known = (*lexicon.regions, *own, *filter(None, map(likely_day, words[:LOOKED_UP_MAX])))

    def alike(courses: Sequence[Any]) -> Any:
        return wrong_words(words, countries | course_words(courses) | {word: word for word in known})

    wrong = alike([one for one in lexicon.courses if not regions or one.region in {None, *regions}])
    if regions and not any(one.meant for one in wrong):
        # No course there is alike. The course may be in another region.
        wrong = alike(lexicon.courses)
    after = "" if any(one.meant for one in wrong) else "/racing courses lists the courses."
    return refusal(unknown_words((one.typed for one in wrong), "course", "region", "day"), wrong, after)


def _seen(meetings: Sequence[MeetingCard], typed: str, region: str | None) -> MeetingCard | None:
    here = [one for one in meetings if region is None or one.region in {region, None}]
    return next(
        (one for one in here if typed == one.course.course_id or _as_typed(typed) == _as_typed(one.course.name)), None
    )


def _as_typed(name: str | None) -> str:
    return " ".join(folded(name or "").replace('"', "").split()).strip(SINGLE_QUOTE + " ")


_RACECARD, _RESULTS, _NEXT = "racecard", "results", "next"

_read_racecard = day_plan(_RACECARD, day_grammar([_NEXT]), {Topic.RACECARDS})
_NUMBERS = {**dict.fromkeys(map(str, range(1, 31)), (Kind.FILLER, "")), **words_in(_NEXT)}
"""The 5 of "next 5 races" is passed over: the answer has a fixed number."""

_read_next = day_plan(_NEXT, replace(day_grammar(), own={**day_grammar().own, **_NUMBERS}), {Topic.RACECARDS})


async def _card(desk: Desk, invocation: Invocation, asked: DayPlan) -> Card:
    """Raises ServiceError without any data."""
    invocation.progress.say = partial(desk.races.progress, asked.region)
    card = at_off(await desk.races.card(asked.region, asked.day, asked.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    return card


async def _question(desk: Desk, invocation: Invocation, asked: DayPlan, card: Card) -> DayQuestion:
    reader = await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN
    there = await desk.database.read(partial(subscriptions.filters_of, channel_id=invocation.channel_id))
    # The channel's regions are listed first.
    regions = [one.region for one in there if one.region != ALL_REGIONS] or USUAL_REGIONS
    return DayQuestion(desk.clock(), asked.unchecked, asked.page, reader, regions)


async def _plan_racecard(desk: Desk, invocation: Invocation) -> DayPlan:
    asked: DayPlan = await _read_racecard(desk, invocation)
    return _without_off(asked) if asked.wanted.of(Kind.FLAG) else asked


async def _answer_racecard(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    if asked.wanted.of(Kind.FLAG):
        return await _answer_next(desk, invocation, asked)
    card = await _card(desk, invocation, asked)
    question = await _question(desk, invocation, asked, card)
    if races_of_day.shows_readers_clock(card):
        zone = await desk.people.zone(invocation.user_id)
        question = replace(question, reader=replace(question.reader, zone=zone))
    # Off the event loop: a course's races with all their runners take a while.
    return await asyncio.to_thread(races_of_day.racecard, card, question)


async def _answer_results(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    card = await _card(desk, invocation, asked)
    question = replace(
        await _question(desk, invocation, asked, card),
        only_abandonments=only_abandonments(asked.wanted),
        countries=await desk.reference.known_countries(),
    )
    return await asyncio.to_thread(races_of_day.results_of_day, card, question)


async def _plan_next(desk: Desk, invocation: Invocation) -> DayPlan:
    return _without_off(await _read_next(desk, invocation))


async def _answer_next(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    """West of UTC, races of yesterday's date are still to come; tomorrow is read where today has too few races.

    Raises ServiceError without any data.
    """
    now = desk.clock()
    invocation.progress.say = partial(desk.races.progress, asked.region)
    first = await desk.races.card(asked.region, asked.day, asked.course)
    cards = [first]
    if not asked.wanted.of(Kind.DAY):
        day = timedelta(days=1)
        cards.append(await desk.races.known(asked.region, asked.day - day, asked.course))
        if len(races_of_day.coming(cards, now)) < races_of_day.NEXT_SHOWN:
            cards.append(await desk.races.card(asked.region, asked.day + day, asked.course))
    if first.failure is not None and all(card.is_empty for card in cards):
        raise first.failure
    zone = await desk.people.zone(invocation.user_id)
    reader = replace(await reader_of(desk, invocation), zone=zone)
    line = asked.wanted.but(flags=()).line(_NEXT)
    return races_of_day.next_off(cards, line, DayQuestion(now, asked.unchecked, asked.page, reader))


def _without_off(asked: DayPlan) -> DayPlan:
    """Raises CommandError for a typed off time."""
    if asked.off:
        race = asked.wanted.but(flags=())
        lines = {"Next off": race.but(times=()).line(_NEXT), asked.off: race.line(_RACECARD)}
        raise CommandError(f"The next races, or {asked.off}?", lines=lines)
    return asked


RACECARD_COMMAND = Command(_RACECARD, _answer_racecard, _plan_racecard)
NEXT_COMMAND = Command(_NEXT, _answer_next, _plan_next)
RESULTS_COMMAND = Command(
    _RESULTS,
    _answer_results,
    day_plan(_RESULTS, day_grammar([WAS, BEEN], looks_back=True), {Topic.RESULTS, Topic.ABANDONMENTS}),
)

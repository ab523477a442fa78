"""The answers of `/racecard`, `/results` and `/racing next`: a line for each meeting, or for each race of a course.

On a card several races of a course have their runners collapsed; a single race has a table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from itertools import chain, tee

from bot.events.days import utc_today
from bot.events.race_state import HAS_RUN, REPORTED_LOST, WITH_RESULT, RaceOutcome
from bot.events.sentences import counted
from bot.events.typed_times import minutes_apart, read_off
from bot.outbox.message import Message
from bot.racedata.day_card import Card, Coverage
from bot.slack.messages.alerts.runner_table import runner_lines, runners_table
from bot.slack.messages.answers.day_answer import DayQuestion, DayView, MeetingView, in_figures, loss_units, share
from bot.slack.messages.answers.failure_words import AnswerReader
from bot.slack.messages.answers.outcome_words import NO_RESULT_YET, TO_COME, RaceView, not_off
from bot.slack.messages.kit.blocks import command_button, section
from bot.slack.messages.kit.layout import SCREEN, Either, section_of, unit
from bot.slack.messages.kit.names import CARD_LINE_MAX, order_note, race_details, race_line, race_line_after_off
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, given, joined, safe
from bot.slack.messages.kit.times import how_long, off_for_readers, off_text, published_day

NEAREST_MAX = 6
"""Races named where no race is off at the asked time."""

TABLE_ROOM = 4_000
"""A table with forty runners and every column. With the abandonments, the table fits on a page."""

NEXT_SHOWN = 5
DUE = timedelta(minutes=5)
"""A race stays so long after its off: races go off late."""

_NO_ZONE = "no time zone published"

ABANDONMENTS_LIST = "abandonments"


def racecard(card: Card, question: DayQuestion) -> Message:
    day, is_missed = DayView(card, question), bool(card.course and card.missed_off)
    abandoned = day.abandoned
    if card.off:
        abandoned = share(card.outcomes.count(RaceOutcome.ABANDONED), len(card.outcomes.each), "abandoned")
    if is_missed:
        units = _nearest(day.meetings, card.missed_off or "")
    elif card.course:
        units = _course_units(day)
    else:
        units = [one.in_a_line for one in day.in_order]
    missed = day.missed_off("these are the nearest" if is_missed else "this is the whole card")
    return day.answer(
        joined([day.title("Racecard"), abandoned], ", "),
        lines=[missed, day.completeness, day.unchecked, _summary(card)],
        units=units,
        command=day.line("racecard"),
    )


def shows_readers_clock(card: Card) -> bool:
    """True if the reader's time zone matters: a race's own lines on a course's card, with a time and its moment."""
    return (card.course is not None and not card.missed_off) and any(
        race.off.text and race.off.off_at
        for race, outcome in card.outcomes.in_order()
        if card.off or outcome is not RaceOutcome.ABANDONED
    )


def _summary(card: Card) -> str | None:
    """The title has the abandonments already, and a course's single race is shown with everything."""
    outcomes = [outcome for _, outcome in card.outcomes.each]
    is_alone = card.course is not None and len(outcomes) == 1
    if is_alone or outcomes.count(RaceOutcome.ABANDONED) == len(outcomes):
        return None
    is_of_one = len(card.meetings) == 1 and (card.course is not None or len(outcomes) == 1)
    counts = [None if is_of_one else counted(len(card.meetings), "meeting"), counted(len(outcomes), "race")]
    return joined([*counts, *in_figures(outcomes, RaceOutcome.ABANDONED)], ", ")


def _nearest(meetings: Sequence[MeetingView], asked: str) -> list[Either]:
    """The races nearest to a time without a race, in a line with a button each; and the button of the whole card."""
    races = [(meeting, one) for meeting in meetings for one in meeting.races]
    nearest = sorted(races, key=lambda each: minutes_apart(each[1].race.off, asked))[:NEAREST_MAX]
    units = [
        unit(section(one.line, meeting.button(off, "racecard", off) if (off := _off(one)) else None))
        for meeting, one in races
        if (meeting, one) in nearest
    ]
    title = f"The whole card: {counted(len(races), 'race')}"
    whole = (meeting.button("Card", "racecard") for meeting in meetings)
    return [*units, *(unit(section(title, button)) for button in whole if button)]


def _off(one: RaceView) -> str | None:
    """The off as a command reads the time."""
    return read_off(one.race.off.text or "")


def _course_units(day: DayView) -> list[Either]:
    are_several = len(day.meetings) > 1
    races = [(one, meeting.name if are_several else None) for meeting in day.meetings for one in meeting.races]
    return [
        unit(section(joined([at, one.line], "  ")))
        if one.outcome is RaceOutcome.ABANDONED and not day.card.off
        else _race_with_runners(one, at, day.question.reader.zone, is_alone=len(races) == 1)
        for one, at in races
    ]


def _race_with_runners(one: RaceView, at: str | None, zone: tzinfo | None, *, is_alone: bool) -> Either:
    race, said, line, has_result = one.race, one.said, joined([at, one.line], "  "), one.outcome in WITH_RESULT
    field = RaceField(race)
    every = field.in_order if has_result else race.runners
    runners = [runner for runner in every if runner.horse or runner.number]
    if not runners and race.field_size:
        return unit(section(line))
    off = off_for_readers(race.off, zone)
    details = clip(race_details(race), CARD_LINE_MAX) or None
    first = joined([at, given("*{}*", off), said], "  ")
    name = joined([first, details], " · " if said else "  ") or race_line(race)
    told = runner_lines(runners, field, on_card=not has_result)
    in_sections = section_of(chain([name], told), 1 + len(runners))
    if runners and not is_alone:
        return Either([collapsed(line, [in_sections])], [in_sections])
    caption = joined(["Runners", off_text(race.off)], ", ")
    table = runners_table(caption, runners, race if has_result else None, TABLE_ROOM)
    if not table:
        return unit(in_sections)
    return Either([section(name), *table], [in_sections])


def results_of_day(card: Card, question: DayQuestion) -> Message:
    day, only_abandonments = DayView(card, question), question.only_abandonments
    outcomes, is_ahead = card.outcomes, _is_ahead(day)
    are_none_lost = only_abandonments and not (outcomes.lost or outcomes.count(*REPORTED_LOST))
    settled_in = {race.region or card.region for race, outcome in outcomes.in_order() if outcome in WITH_RESULT}
    none_lost = f"No abandonment is known {day.nowhere_else} on {day.day}." if are_none_lost else None
    notes = [
        day.missed_off("this is for the whole card"),
        day.completeness or none_lost,
        f"No results yet: these races are on {day.day}." if is_ahead and not only_abandonments else None,
        day.unchecked,
        None if only_abandonments else order_note(question.countries, settled_in),
    ]
    whole = replace(card, outcomes=card.whole)
    at_other_times = loss_units(whole, question.now, "at other times") if are_none_lost else []
    return day.answer(
        day.title("Abandonments" if only_abandonments else "Results"),
        lines=[day.figures, *notes],
        units=at_other_times if only_abandonments else _meetings(day),
        command=day.line("results", *((ABANDONMENTS_LIST,) if only_abandonments else ())),
        room=MESSAGE_MAX if card.course else SCREEN,
    )


def _is_ahead(day: DayView) -> bool:
    """True for a later day of open races, none of them run. In the east a day begins before today (UTC) ends."""
    outcomes = {outcome for _, outcome in day.card.outcomes.each}
    return day.card.day > day.today and RaceOutcome.OPEN in outcomes and outcomes.isdisjoint(HAS_RUN)


def _meetings(day: DayView) -> list[Either]:
    """Meetings with results come first. A single course has a section for each race.

    The answer for all regions lists only meetings with a result and wholly abandoned meetings; of one time, all races.
    """
    if _is_ahead(day):
        return [unit(section("The card has the runners.", command_button("Card", day.line("racecard"))))]
    if day.card.course is not None:
        return [_placings(one) for meeting in day.meetings for one in meeting.races]
    is_whole = day.card.region or day.card.off
    shown = [one for one in day.in_order if is_whole or one.has(HAS_RUN) or one.is_dead]
    return [*map(_results_of, sorted(shown, key=lambda one: not one.has(HAS_RUN)))]


def _results_of(meeting: MeetingView) -> Either:
    if meeting.is_dead:
        return meeting.in_a_line
    told = [_result(one) for one in meeting.races if one.outcome is not RaceOutcome.OPEN]
    words = [meeting.title, *told, *_open(meeting.races)]
    button = meeting.button("All placings", "results") if meeting.has({RaceOutcome.SETTLED}) else None
    return unit(section_of(words, len(words), button))


def _open(races: Sequence[RaceView]) -> Iterator[str]:
    """For example "no result yet: 14:00" and "to come: 15:30, 16:00"."""
    left = [one for one in races if one.outcome is RaceOutcome.OPEN]
    for words, are in ((NO_RESULT_YET, False), (TO_COME, True)):
        if named := [one.name for one in left if one.is_to_come is are]:
            yield clip(f"{words}: {', '.join(named)}", CARD_LINE_MAX)


def _result(one: RaceView) -> str:
    return clip(joined([one.name, one.result], "  "), CARD_LINE_MAX)


def _placings(one: RaceView) -> Either:
    race = one.race
    field = RaceField(race)
    first = joined([given("*{}*", one.off), safe(race.title)], "  ") or race_line(race)
    if one.outcome is not RaceOutcome.SETTLED or not field.placed:
        return unit(section_of([first, one.result], 2))
    told = [runner for runner in field.in_order if runner.position]
    behind, below = tee(clip(line, CARD_LINE_MAX) for line in runner_lines(told, field))
    folded = section_of(chain([first], behind), 1 + len(told))
    whole = section_of(chain([first, clip(one.result, CARD_LINE_MAX)], below), 2 + len(told))
    return Either([collapsed(_result(one), [folded])], [whole])


Coming = tuple[MeetingView, RaceView]


def coming(cards: Sequence[Card], now: datetime) -> list[Coming]:
    """The next NEXT_SHOWN races of the days of `cards`, by their moment; last those without a moment (Spec gap G16).

    A race without a moment is left out on other days than today.
    """
    meetings = (MeetingView(card, meeting, now) for card in cards for meeting in card.meetings)
    found = [
        (meeting, one)
        for meeting in meetings
        for one in not_off(meeting.races, DUE)
        if one.race.off.off_at or meeting.card.day == utc_today(now)
    ]
    return sorted(found, key=lambda one: one[1].race.soonest)[:NEXT_SHOWN]


def next_off(cards: Sequence[Card], line: str, question: DayQuestion) -> Message:
    """The next races of `cards`, between the abandonments of the first day and the abandonments of the next day.

    `line`: the words after /racing.
    """
    first, *others = [DayView(card, question) for card in cards]
    races, missing = coming(cards, question.now), first.completeness
    later = [one for one in others if one.card.day > first.card.day]
    said = [
        None if races or missing else f"No race to come is known {first.nowhere_else}.",
        missing,
        first.unchecked,
        *(f"{one.day}: {one.completeness}" for one in later if one.card.coverage is not Coverage.COMPLETE),
    ]
    units = [
        unit(section(_coming_line(meeting, one, question.reader), meeting.button("Runners", "racecard", _off(one))))
        for meeting, one in races
    ]
    units += [lost for one in later for lost in loss_units(one.card, question.now, one.day)]
    return first.answer(f"Next off: {first.place}, {first.day}", lines=said, units=units, command=line)


def _coming_line(meeting: MeetingView, one: RaceView, reader: AnswerReader) -> str:
    """For example "*17:05* Wolverhampton (GB) · in 12 min · Handicap · 7 runners"."""
    off = off_for_readers(one.race.off, reader.zone)
    day = published_day(one.race.race_date) if meeting.card.day != utc_today(one.now) else None
    first = joined([given("*{}*", off), meeting.course, meeting.region], " ")
    details = clip(race_line_after_off(one.race), CARD_LINE_MAX) or None
    return joined([first, day, _how_soon(one), one.became(), details])


def _how_soon(one: RaceView) -> str:
    off_at, now = one.race.off.off_at, one.now
    if off_at is None:
        return _NO_ZONE
    if off_at <= now:
        return "due off"
    return f"in {how_long(-((now - off_at) // timedelta(minutes=1)))}"

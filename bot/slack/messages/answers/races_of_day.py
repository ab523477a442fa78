"""The answers of `/racecard`, `/results` and `/racing next`: a line for each meeting, or for each race of a course.

On a card several races of a course have their runners collapsed; a single race has a table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from bot.events.days import utc_today
from bot.events.race_state import HAS_RUN, WITH_RESULT, RaceOutcome
from bot.events.sentences import counted
from bot.events.typed_off import minutes_apart, read_off
from bot.outbox.message import Message
from bot.racedata.day_card import Card, Coverage
from bot.slack.messages.alerts.runner_table import (
    FULL_RESULT_COLUMNS,
    HORSE,
    RunnerColumns,
    runner_lines,
    runners_table,
)
from bot.slack.messages.answers.day_answer import (
    DayQuestion,
    MeetingView,
    abandoned_in_figures,
    card_title,
    command_line,
    completeness,
    day_answer,
    in_figures,
    in_order,
    losses_of,
    meetings_of,
    missed_off_words,
    nowhere_else,
    place_of,
    share,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import AnswerReader
from bot.slack.messages.answers.outcome_words import NO_RESULT_YET, TO_COME, RaceView
from bot.slack.messages.kit.blocks import command_button, section
from bot.slack.messages.kit.layout import SCREEN, Either, section_of, unit
from bot.slack.messages.kit.names import (
    CARD_LINE_MAX,
    RUNNERS_PLAUSIBLE,
    order_note,
    race_details,
    race_line,
    race_line_after_off,
    race_name,
)
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, given, joined, safe, without_bold
from bot.slack.messages.kit.times import aware, off_for_readers, off_text, published_day, weekday_and_day

NEAREST_MAX = 6
"""Races named where no race is off at the asked time."""

TABLE_ROOM = 4_000
"""A table with forty runners and every column. With the abandonments, the table fits on a page."""

CARD_COLUMNS: RunnerColumns = {
    title: value for title, value in FULL_RESULT_COLUMNS.items() if title not in {"Pos", "Why"}
} | {HORSE: lambda runner: joined([FULL_RESULT_COLUMNS[HORSE](runner), "non-runner" if runner.is_out else None], ", ")}

NEXT_SHOWN = 5
DUE = timedelta(minutes=5)
"""A race stays so long after its off: races go off late."""

_NO_ZONE = "no time zone published"

ABANDONMENTS_LIST = "abandonments"


def racecard(card: Card, question: DayQuestion) -> Message:
    meetings, is_missed = meetings_of(card, question.now), bool(card.course and card.missed_off)
    abandoned = abandoned_in_figures(card.outcomes)
    if card.off:
        abandoned = share(card.outcomes.count(RaceOutcome.ABANDONED), len(card.outcomes.each), "abandoned")
    if is_missed:
        units = _nearest(meetings, card.missed_off or "")
    elif card.course:
        units = _course_units(meetings, card, question.reader.zone)
    else:
        units = [one.in_a_line for one in in_order(meetings, question.first_regions)]
    said = [
        missed_off_words(card, "these are the nearest" if is_missed else "this is the whole card"),
        completeness(card, question),
        unchecked_words(question.unchecked),
    ]
    return day_answer(
        card,
        question,
        title=joined([card_title("Racecard", card, question.today), abandoned], ", "),
        in_short=_summary(card),
        said=said,
        lines=[*said, None if _is_alone(card) else _summary(card)],
        units=units,
        command=command_line("racecard", card),
    )


def shows_readers_clock(card: Card) -> bool:
    """True if the reader's time zone matters: a race's own lines on a course's card, with a time and its moment."""
    return (card.course is not None and not card.missed_off) and any(
        race.off.text and aware(race.off.off_at)
        for race, outcome in card.outcomes.in_order()
        if card.off or outcome is not RaceOutcome.ABANDONED
    )


def _summary(card: Card) -> str | None:
    """The title has the abandonments already."""
    races, outcomes = [race for race, _ in card.outcomes.in_order()], [outcome for _, outcome in card.outcomes.each]
    if card.outcomes.count(RaceOutcome.ABANDONED) == len(races):
        return None
    is_of_one = len(card.meetings) == 1 and (card.course is not None or len(races) == 1)
    counts = [None if is_of_one else counted(len(card.meetings), "meeting"), counted(len(races), "race")]
    if _is_alone(card):
        counts = [race_line_after_off(races[0]) if card.off else race_line(races[0])]
    return joined([*counts, *in_figures(outcomes, RaceOutcome.ABANDONED)], ", ") or None


def _is_alone(card: Card) -> bool:
    """True for a single race that is shown with everything."""
    return card.course is not None and len(card.outcomes.each) == 1


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
    """As a command reads the time."""
    return read_off(one.race.off.text or "")


def _course_units(meetings: Sequence[MeetingView], card: Card, zone: tzinfo | None) -> list[Either]:
    races = [(one, meeting.name if len(meetings) > 1 else None) for meeting in meetings for one in meeting.races]
    return [
        unit(section(joined([at, one.line], "  ")))
        if one.outcome is RaceOutcome.ABANDONED and not card.off
        else _race_with_runners(one, at, zone, is_alone=len(races) == 1)
        for one, at in races
    ]


def _race_with_runners(one: RaceView, at: str | None, zone: tzinfo | None, *, is_alone: bool) -> Either:
    race, said, line = one.race, one.said, joined([at, one.line], "  ")
    runners = [runner for runner in race.runners if runner.horse or runner.number]
    if not runners and race.field_size:
        return unit(section(line))
    off = off_for_readers(race.off, zone)
    details = clip(race_details(race), CARD_LINE_MAX) or None
    first = joined([at, given("*{}*", off), said], "  ")
    name = joined([first, details], " · " if said else "  ") or race_line(race)
    has_result = one.outcome in WITH_RESULT
    if has_result:
        # Sorting keeps the card's order among runners without a place.
        runners = sorted(runners, key=lambda runner: runner.finishing_position or RUNNERS_PLAUSIBLE)
    in_sections = section_of([name, *runner_lines(runners, race, on_card=not has_result)])
    if runners and not is_alone:
        return Either([collapsed(without_bold(line), [in_sections])], [in_sections])
    caption = joined(["Runners", off_text(race.off)], ", ")
    columns = FULL_RESULT_COLUMNS if has_result else CARD_COLUMNS
    table = runners_table(caption, runners, columns, TABLE_ROOM, result=race if has_result else None)
    if not table:
        return unit(in_sections)
    return Either([section(name), *table], [in_sections])


def results_of_day(card: Card, question: DayQuestion) -> Message:
    only_abandonments, day = question.only_abandonments, weekday_and_day(card.day, question.today)
    outcomes, is_ahead = card.outcomes, _is_ahead(card, question)
    are_none_lost = only_abandonments and not (outcomes.lost or outcomes.count(RaceOutcome.ABANDONED, RaceOutcome.BOTH))
    settled_in = {race.region or card.region for race, outcome in outcomes.in_order() if outcome in WITH_RESULT}
    none_lost = f"No abandonment is known {nowhere_else(card)} on {day}." if are_none_lost else None
    notes = [
        missed_off_words(card, "this is for the whole card"),
        completeness(card, question) or none_lost,
        f"No results yet: these races are on {day}." if is_ahead and not only_abandonments else None,
        unchecked_words(question.unchecked),
        None if only_abandonments else order_note(question.countries, settled_in),
    ]
    summary = _in_figures(card, question)
    return day_answer(
        card,
        question,
        title=card_title("Abandonments" if only_abandonments else "Results", card, question.today),
        in_short=summary,
        said=notes,
        lines=[summary, *notes],
        units=[] if only_abandonments else _meetings(card, question),
        later=[losses_of(replace(card, outcomes=card.whole), "at other times")] if are_none_lost else [],
        command=command_line("results", card, *((ABANDONMENTS_LIST,) if only_abandonments else ())),
        room=MESSAGE_MAX if card.course else SCREEN,
    )


def _in_figures(card: Card, question: DayQuestion) -> str:
    count, races = card.outcomes.count, [one for some in meetings_of(card, question.now) for one in some.races]
    coming = sum(one.is_to_come for one in races)
    overdue = count(RaceOutcome.OPEN) - coming
    both, disputed = count(RaceOutcome.BOTH), count(RaceOutcome.UNCERTAIN)
    settled, void = count(RaceOutcome.SETTLED), count(RaceOutcome.VOID)
    lost = [
        abandoned_in_figures(card.outcomes),
        f"{counted(both, 'race')} reported abandoned and run" if both else None,
        f"{counted(disputed, 'race')} with disputed places" if disputed else None,
    ]
    others = [
        f"{counted(settled, 'result')} in" if settled else None,
        f"{void} void" if void else None,
        f"{counted(overdue, 'race')} without a result yet" if overdue else None,
        f"{counted(coming, 'race')} {TO_COME}" if coming else None,
    ]
    return joined(lost if question.only_abandonments else [*lost, *others], ", ")


def _is_ahead(card: Card, question: DayQuestion) -> bool:
    """True for a later day whose races are all open or abandoned. In the east a day begins before today (UTC) ends."""
    outcomes = {outcome for _, outcome in card.outcomes.each}
    return card.day > question.today and RaceOutcome.OPEN in outcomes <= {RaceOutcome.OPEN, RaceOutcome.ABANDONED}


def _meetings(card: Card, question: DayQuestion) -> list[Either]:
    """Meetings with results come first. A single course has a section for each race.

    The answer for all regions lists only meetings with a result and wholly abandoned meetings.
    """
    if _is_ahead(card, question):
        return [unit(section("The card has the runners.", command_button("Card", command_line("racecard", card))))]
    meetings = meetings_of(card, question.now)
    if card.course is not None:
        return [_placings(one) for meeting in meetings for one in meeting.races]
    ordered = in_order(meetings, question.first_regions)
    if card.region is None:
        ordered = [one for one in ordered if one.has(HAS_RUN) or one.is_dead]
    return [*map(_results_of, sorted(ordered, key=lambda one: not one.has(HAS_RUN)))]


def _results_of(meeting: MeetingView) -> Either:
    if meeting.is_dead:
        return meeting.in_a_line
    told = [_result(one) for one in meeting.races if one.outcome is not RaceOutcome.OPEN]
    button = meeting.button("All placings", "results") if meeting.has({RaceOutcome.SETTLED}) else None
    return unit(section_of([meeting.title, *told, *_open(meeting.races)], button))


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
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first = joined([given("*{}*", one.off), safe(race.title)], "  ") or race_line(race)
    if one.outcome is not RaceOutcome.SETTLED or not placed:
        return unit(section_of([first, one.result]))
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [clip(line, CARD_LINE_MAX) for line in (one.result, *runner_lines([*placed, *others], race))]
    behind, whole = section_of([first, *lines[1:]]), section_of([first, *lines])
    return Either([collapsed(without_bold(_result(one)), [behind])], [whole])


Coming = tuple[MeetingView, RaceView]


def coming(cards: Sequence[Card], now: datetime) -> list[Coming]:
    """The next NEXT_SHOWN races of the days of `cards`, by their moment; last those without a moment (Spec gap G16).

    A race without a moment is left out after a later race of its meeting was run, and on other days than today.
    """
    found: list[Coming] = []
    for meeting in (meeting for card in cards for meeting in meetings_of(card, now)):
        run = [number for number, one in enumerate(meeting.races, start=1) if one.outcome in WITH_RESULT]
        without_moment = len(meeting.races) if meeting.card.day != utc_today(now) else max(run, default=0)
        for number, one in enumerate(meeting.races):
            off_at = aware(one.race.off.off_at)
            is_coming = off_at > now - DUE if off_at else number >= without_moment
            if one.outcome is RaceOutcome.OPEN and is_coming:
                found.append((meeting, one))
    return sorted(found, key=_soonest)[:NEXT_SHOWN]


def _soonest(one: Coming) -> tuple[bool, datetime, int]:
    off = one[1].race.off
    return not aware(off.off_at), aware(off.off_at) or one[1].now, off.minute_of_day or 0


def next_off(cards: Sequence[Card], line: str, question: DayQuestion) -> Message:
    """The next races of `cards`, between the abandonments of the first day and the abandonments of the next day.

    `line`: the words after /racing.
    """
    first, now, today = cards[0], question.now, question.today
    races, missing = coming(cards, now), completeness(first, question)
    later = {weekday_and_day(card.day, today): card for card in cards if card.day > first.day}
    said = [
        None if races or missing else f"No race to come is known {nowhere_else(first)}.",
        missing,
        unchecked_words(question.unchecked),
        *(
            f"{day}: {completeness(card, question)}"
            for day, card in later.items()
            if card.coverage is not Coverage.COMPLETE
        ),
    ]
    return day_answer(
        first,
        question,
        title=f"Next off: {place_of(first)}, {weekday_and_day(first.day, today)}",
        in_short="; ".join(joined([race_name(one.race), _how_soon(one)], " ") for _, one in races),
        said=said,
        lines=said,
        units=[
            unit(section(_coming_line(meeting, one, question.reader), meeting.button("Runners", "racecard", _off(one))))
            for meeting, one in races
        ],
        command=line,
        later=[losses_of(card, day) for day, card in later.items()],
    )


def _coming_line(meeting: MeetingView, one: RaceView, reader: AnswerReader) -> str:
    """For example "*17:05* Wolverhampton (GB) · in 12 min · Handicap · 7 runners"."""
    off = off_for_readers(one.race.off, reader.zone)
    day = published_day(one.race.race_date) if meeting.card.day != utc_today(one.now) else None
    first = joined([given("*{}*", off), meeting.course, meeting.region], " ")
    details = clip(race_line_after_off(one.race), CARD_LINE_MAX) or None
    return joined([first, day, _how_soon(one), details])


def _how_soon(one: RaceView) -> str:
    off_at, now = aware(one.race.off.off_at), one.now
    if off_at is None:
        return _NO_ZONE
    if off_at <= now:
        return "due off"
    hours, minutes = divmod(-((now - off_at) // timedelta(minutes=1)), 60)
    return joined(["in", f"{hours} h" if hours else None, f"{minutes} min" if minutes or not hours else None], " ")

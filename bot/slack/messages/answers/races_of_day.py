"""The answers of `/racecard` and `/results`: each meeting in a line, or the races of a course with their runners.

On a card several races of a course have their runners collapsed; a single race has a table.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from functools import partial

from bot.events.races import Race
from bot.events.typed_off import minutes_apart, read_off
from bot.outbox.message import Message
from bot.racedata.day_card import WITH_RESULT, Card, RaceOutcome
from bot.slack.messages.alerts.runner_table import (
    FULL_RESULT_COLUMNS,
    HORSE,
    RunnerColumns,
    runner_lines,
    runners_table,
)
from bot.slack.messages.answers.day_answer import (
    IN_FIGURES,
    DayQuestion,
    abandoned_in_figures,
    card_title,
    command_line,
    completeness,
    course_button,
    day_answer,
    in_order,
    is_dead,
    meeting_in_a_line,
    meeting_name,
    meeting_title,
    missed_off_words,
    nowhere_else,
    share,
    unchecked_words,
)
from bot.slack.messages.answers.outcome_words import (
    CARD_LINE_MAX,
    NO_RESULT_YET,
    TO_COME,
    became,
    is_overdue,
    is_to_come,
    outcome_line,
    settled_words,
)
from bot.slack.messages.kit.blocks import command_button, section
from bot.slack.messages.kit.layout import SCREEN, Either, section_of, unit
from bot.slack.messages.kit.names import (
    RUNNERS_PLAUSIBLE,
    order_note,
    race_details,
    race_line,
    race_line_after_off,
)
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.result_line import result_line
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, counted, given, joined, safe, without_bold
from bot.slack.messages.kit.times import aware, off_for_readers, off_text, weekday_and_day

NEAREST_MAX = 6
"""Races named where no race is off at the asked time."""

TABLE_ROOM = 4_000
"""A table with forty runners and every column. With the abandonments, the table fits on a page."""

CARD_COLUMNS: RunnerColumns = {
    title: value for title, value in FULL_RESULT_COLUMNS.items() if title not in {"Pos", "Why"}
} | {HORSE: lambda runner: joined([FULL_RESULT_COLUMNS[HORSE](runner), "non-runner" if runner.is_out else None], ", ")}


ABANDONMENTS_LIST = "abandonments"


def racecard(card: Card, question: DayQuestion) -> Message:
    now, zone = question.now, question.reader.zone
    abandoned = abandoned_in_figures(card.outcomes)
    if card.off:
        abandoned = share(card.outcomes.count(RaceOutcome.ABANDONED), len(card.outcomes.of), "abandoned")
    is_missed = bool(card.course and card.missed_off)
    if is_missed:
        units = _nearest(card, now)
    elif card.course:
        units = _course_units(card, now, zone)
    else:
        places = in_order(range(len(card.meetings)), card, question.first_regions)
        units = [meeting_in_a_line(place, card, now) for place in places]
    said = [
        missed_off_words(card, "these are the nearest" if is_missed else "this is the whole card"),
        completeness(card, question),
        unchecked_words(question.unchecked),
    ]
    return day_answer(
        card,
        question,
        title=joined([card_title("Racecard", card, question.today), abandoned], ", "),
        in_short=_summary(card, with_lost=False),
        said=said,
        lines=[*said, None if _is_alone(card) else _summary(card, with_lost=True)],
        units=units,
        command=command_line("racecard", card),
    )


def shows_readers_clock(card: Card) -> bool:
    """True if the reader's time zone matters: a race's own lines on a course's card, with a time and its moment."""
    races = (one for place in range(len(card.meetings)) for one in card.outcomes.of_meeting(place))
    return (card.course is not None and not card.missed_off) and any(
        race.off.text and aware(race.off.off_at)
        for race, outcome in races
        if card.off or outcome is not RaceOutcome.ABANDONED
    )


def _summary(card: Card, *, with_lost: bool) -> str | None:
    """The title beside the notification text has the abandonments already."""
    races = card.outcomes.in_order()
    if all(outcome is RaceOutcome.ABANDONED for _, outcome in races):
        return None
    is_of_one = len(card.meetings) == 1 and (card.course is not None or len(races) == 1)
    counts = [None if is_of_one else counted(len(card.meetings), "meeting"), counted(len(races), "race")]
    if _is_alone(card):
        counts = [race_line_after_off(races[0][0]) if card.off else race_line(races[0][0])]
    figures = [
        share(card.outcomes.count(*which), len(races), words)
        for which, words in IN_FIGURES.items()
        if with_lost or RaceOutcome.ABANDONED not in which
    ]
    return joined([*counts, *figures], ", ") or None


def _is_alone(card: Card) -> bool:
    """True for a single race that is shown with everything."""
    return card.course is not None and len(card.outcomes.of) == 1


def _nearest(card: Card, now: datetime) -> list[Either]:
    """The races nearest to a time without a race, in a line with a button each; and the button of the whole card."""
    races = [(meeting, *one) for place, meeting in enumerate(card.meetings) for one in card.outcomes.of_meeting(place)]
    off = card.missed_off or ""
    nearest = sorted(races, key=lambda one: minutes_apart(one[1].off, off))[:NEAREST_MAX]
    units = [
        unit(section(_race(race, outcome, now), course_button(read, "racecard", meeting, card, read) if read else None))
        for meeting, race, outcome in races
        if (meeting, race, outcome) in nearest
        for read in [read_off(race.off.text or "")]
    ]
    whole = [course_button("Card", "racecard", meeting, card) for meeting in card.meetings]
    title = f"All {counted(len(races), 'race')} of the card, with their runners"
    return [*units, *(unit(section(title, button)) for button in whole if button)]


def _race(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    return outcome_line(race, _said(race, outcome, now))


def _said(race: Race, outcome: RaceOutcome, now: datetime) -> str | None:
    """A race to come needs no words. A race past its off without a result is marked."""
    return became(race, outcome) or (NO_RESULT_YET if is_overdue(race, outcome, now) else None)


def _course_units(card: Card, now: datetime, zone: tzinfo | None) -> list[Either]:
    several = len(card.meetings) > 1
    races = [
        (race, outcome, meeting_name(meeting, card) if several else None)
        for place, meeting in enumerate(card.meetings)
        for race, outcome in card.outcomes.of_meeting(place)
    ]
    return [
        unit(section(joined([at, _race(race, outcome, now)], "  ")))
        if outcome is RaceOutcome.ABANDONED and not card.off
        else _race_with_runners(race, outcome, at, now, zone, is_alone=len(races) == 1)
        for race, outcome, at in races
    ]


def _race_with_runners(
    race: Race, outcome: RaceOutcome, at: str | None, now: datetime, zone: tzinfo | None, *, is_alone: bool
) -> Either:
    runners = [runner for runner in race.runners if runner.horse or runner.number]
    if not runners and race.field_size:
        return unit(section(joined([at, _race(race, outcome, now)], "  ")))
    off = off_for_readers(race.off, zone)
    details = clip(race_details(race), CARD_LINE_MAX) or None
    said = _said(race, outcome, now)
    first = joined([at, given("*{}*", off), said], "  ")
    name = joined([first, details], " · " if said else "  ") or race_line(race)
    has_result = outcome in WITH_RESULT
    if has_result:
        # Sorting keeps the card's order among runners without a place.
        runners = sorted(runners, key=lambda runner: runner.finishing_position or RUNNERS_PLAUSIBLE)
    in_sections = section_of([name, *runner_lines(runners, race, on_card=not has_result)])
    if runners and not is_alone:
        title = without_bold(joined([at, _race(race, outcome, now)], "  "))
        return Either([collapsed(title, [in_sections])], [in_sections])
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
        command=command_line("results", card, *((ABANDONMENTS_LIST,) if only_abandonments else ())),
        room=MESSAGE_MAX if card.course else SCREEN,
    )


def _in_figures(card: Card, question: DayQuestion) -> str:
    outcomes = card.outcomes
    both, disputed, settled, void = (
        outcomes.count(which)
        for which in (RaceOutcome.BOTH, RaceOutcome.UNCERTAIN, RaceOutcome.SETTLED, RaceOutcome.VOID)
    )
    still_open = [race for race, outcome in outcomes.in_order() if outcome is RaceOutcome.OPEN]
    coming = sum(is_to_come(race, question.now) for race in still_open)
    overdue = len(still_open) - coming
    lost = [
        abandoned_in_figures(outcomes),
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
    outcomes = set(card.outcomes.of.values())
    return card.day > question.today and RaceOutcome.OPEN in outcomes <= {RaceOutcome.OPEN, RaceOutcome.ABANDONED}


def _meetings(card: Card, question: DayQuestion) -> list[Either]:
    """Meetings with results come first. A single course has a section for each race.

    The answer for all regions lists only meetings with a result and wholly abandoned meetings.
    """
    if _is_ahead(card, question):
        return [unit(section("The card has the runners.", command_button("Card", command_line("racecard", card))))]
    shown: Sequence[int] = range(len(card.meetings))
    if card.course is not None:
        races = [one for place in shown for one in card.outcomes.of_meeting(place)]
        return [_placings(race, outcome, question.now) for race, outcome in races]
    if card.region is None:
        shown = [place for place in shown if _has_results(place, card) or is_dead(card.outcomes, place)]
    ordered = in_order(shown, card, question.first_regions)
    ordered.sort(key=lambda place: not _has_results(place, card))
    return [_results_of(place, card, question.now) for place in ordered]


def _has_results(place: int, card: Card) -> bool:
    return any(outcome in WITH_RESULT | {RaceOutcome.VOID} for _, outcome in card.outcomes.of_meeting(place))


def _results_of(place: int, card: Card, now: datetime) -> Either:
    if is_dead(card.outcomes, place):
        return meeting_in_a_line(place, card, now)
    meeting, races = card.meetings[place], card.outcomes.of_meeting(place)
    told = [_result(race, outcome, now) for race, outcome in races if outcome is not RaceOutcome.OPEN]
    is_settled = any(outcome is RaceOutcome.SETTLED for _, outcome in races)
    button = course_button("All placings", "results", meeting, card) if is_settled else None
    return unit(section_of([meeting_title(place, card), *told, *_open(races, now)], button))


def _open(races: Sequence[tuple[Race, RaceOutcome]], now: datetime) -> Iterator[str]:
    """For example "no result yet: 14:00" and "to come: 15:30, 16:00"."""
    left = [race for race, outcome in races if outcome is RaceOutcome.OPEN]
    for words, are in ((NO_RESULT_YET, False), (TO_COME, True)):
        if named := [_name(race) for race in left if is_to_come(race, now) is are]:
            yield clip(f"{words}: {', '.join(named)}", CARD_LINE_MAX)


def _name(race: Race) -> str:
    return off_text(race.off) or safe(race.title) or race_line(race)


def _result(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    return clip(joined([_name(race), _became(race, outcome, now)], "  "), CARD_LINE_MAX)


def _became(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    run = partial(result_line, first="result in")
    said = became(race, outcome, run) or (TO_COME if is_to_come(race, now) else NO_RESULT_YET)
    return joined([said, settled_words(race, run(race))]) if outcome is RaceOutcome.BOTH else said


def _placings(race: Race, outcome: RaceOutcome, now: datetime) -> Either:
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first, said = joined([given("*{}*", off_text(race.off)), safe(race.title)], "  "), _became(race, outcome, now)
    if outcome is not RaceOutcome.SETTLED or not placed:
        return unit(section_of([first or race_line(race), said]))
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [clip(line, CARD_LINE_MAX) for line in (said, *runner_lines([*placed, *others], race))]
    behind, whole = section_of([first or race_line(race), *lines[1:]]), section_of([first or race_line(race), *lines])
    return Either([collapsed(without_bold(_result(race, outcome, now)), [behind])], [whole])

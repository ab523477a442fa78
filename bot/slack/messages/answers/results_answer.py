"""The answer of `/results`: results, abandonments and open races by meeting."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from bot.events.races import Race
from bot.outbox.message import Message
from bot.racedata.day_card import CONFLICTS, WITH_RESULT, Card, RaceOutcome
from bot.slack.messages.alerts.runner_table import runner_lines
from bot.slack.messages.answers.day_answer import (
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
    meeting_title,
    missed_off_words,
    nowhere_else,
    unchecked_words,
)
from bot.slack.messages.answers.outcome_words import (
    CARD_LINE_MAX,
    NO_RESULT_YET,
    TO_COME,
    became,
    is_to_come,
    settled_words,
)
from bot.slack.messages.kit.blocks import command_button, section, section_of
from bot.slack.messages.kit.names import order_note, race_line
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.pages import SCREEN, Unit, unit
from bot.slack.messages.kit.result_line import result_line
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, counted, given, joined, safe, without_bold
from bot.slack.messages.kit.times import off_text, weekday_and_day

ABANDONMENTS_LIST = "abandonments"


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
    summary = _summary(card, question)
    return day_answer(
        card,
        question,
        title=card_title("Abandonments" if only_abandonments else "Results", card, question.today),
        in_short=summary,
        said=notes,
        lines=[summary, *notes],
        units=[] if only_abandonments else _units(card, question),
        command=command_line("results", card, *((ABANDONMENTS_LIST,) if only_abandonments else ())),
        room=MESSAGE_MAX if card.course else SCREEN,
    )


def _summary(card: Card, question: DayQuestion) -> str:
    outcomes = card.outcomes
    disputed, settled, void = (
        outcomes.count(*which) for which in (CONFLICTS, {RaceOutcome.SETTLED}, {RaceOutcome.VOID})
    )
    still_open = [race for race, outcome in outcomes.in_order() if outcome is RaceOutcome.OPEN]
    coming = sum(is_to_come(race, question.now) for race in still_open)
    overdue = len(still_open) - coming
    lost = [abandoned_in_figures(outcomes), f"{counted(disputed, 'race')} in conflict" if disputed else None]
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


def _units(card: Card, question: DayQuestion) -> list[Unit]:
    """Meetings with results come first. A single course has a section for each race.

    The answer for all regions lists only meetings with a result and wholly abandoned meetings.
    """
    if _is_ahead(card, question):
        return [unit(section("The card has the runners.", command_button("Card", command_line("racecard", card))))]
    shown: Sequence[int] = range(len(card.meetings))
    if card.course is not None:
        races = [one for place in shown for one in card.outcomes.of_meeting(place)]
        return [_whole_race(race, outcome, question.now) for race, outcome in races]
    if card.region is None:
        shown = [place for place in shown if _has_results(place, card) or is_dead(card.outcomes, place)]
    shown = in_order(shown, card, question.first_regions)
    return [
        _meeting(place, card, question.now) for place in sorted(shown, key=lambda place: not _has_results(place, card))
    ]


def _has_results(place: int, card: Card) -> bool:
    return any(outcome in WITH_RESULT | {RaceOutcome.VOID} for _, outcome in card.outcomes.of_meeting(place))


def _meeting(place: int, card: Card, now: datetime) -> Unit:
    if is_dead(card.outcomes, place):
        return meeting_in_a_line(place, card, now)
    meeting, races = card.meetings[place], card.outcomes.of_meeting(place)
    told = [_race(race, outcome, now) for race, outcome in races if outcome is not RaceOutcome.OPEN]
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


def _race(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    return clip(joined([_name(race), _said(race, outcome, now)], "  "), CARD_LINE_MAX)


def _said(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    run = partial(result_line, first="result in")
    said = became(race, outcome, run) or (TO_COME if is_to_come(race, now) else NO_RESULT_YET)
    return joined([said, settled_words(race, run(race))]) if outcome is RaceOutcome.BOTH else said


def _whole_race(race: Race, outcome: RaceOutcome, now: datetime) -> Unit:
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first, said = joined([given("*{}*", off_text(race.off)), safe(race.title)], "  "), _said(race, outcome, now)
    if outcome is not RaceOutcome.SETTLED or not placed:
        return unit(section_of([first or race_line(race), said]))
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [clip(line, CARD_LINE_MAX) for line in (said, *runner_lines([*placed, *others], race))]
    behind, whole = section_of([first or race_line(race), *lines[1:]]), section_of([first or race_line(race), *lines])
    return Unit((collapsed(without_bold(_race(race, outcome, now)), [behind]),), sections=(whole,))

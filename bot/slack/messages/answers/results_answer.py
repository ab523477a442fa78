"""The answer of `/results`: results, abandonments and open races by meeting."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from bot.events.days import utc_today
from bot.events.races import Race
from bot.outbox.message import Message
from bot.racedata.day_card import WITH_RESULT, Card, RaceOutcome
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.alerts.finishing_order import order_note
from bot.slack.messages.alerts.runner_table import runner_lines
from bot.slack.messages.answers.day_answer import (
    Losses,
    abandoned_in_figures,
    card_title,
    command_line,
    completeness,
    conflicts_in_figures,
    in_order,
    is_dead,
    losses_of,
    missed_off_words,
    nowhere_else,
    small_print,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.answers.outcome_words import (
    CARD_LINE_MAX,
    NO_RESULT_YET,
    TO_COME,
    conflict_words,
    is_to_come,
    lost_words,
    settled_words,
    uncertain_words,
)
from bot.slack.messages.answers.racecard_answer import (
    LINES_ON_PAGE,
    course_button,
    lines_section,
    meeting_in_a_line,
    meeting_title,
    with_button,
)
from bot.slack.messages.kit.blocks import command_button, section
from bot.slack.messages.kit.marks import MARKED_VOID
from bot.slack.messages.kit.names import race_line
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.pages import SCREEN, Paper, Turning, Unit, paged
from bot.slack.messages.kit.result_line import result_line
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, counted, joined, safe, sentences, without_bold
from bot.slack.messages.kit.times import off_text, weekday_and_day

ABANDONMENTS_LIST = "abandonments"


@dataclass(frozen=True)
class ResultsQuestion:
    now: datetime
    unchecked: Sequence[str] = ()
    page: int = 1
    only_abandonments: bool = False
    countries: Sequence[KnownCountry] = ()
    reader: AnswerReader = NOBODY_KNOWN
    first_regions: Collection[str] = ()
    """Their meetings come before the others."""

    @property
    def today(self) -> date:
        return utc_today(self.now)


def results_of_day(card: Card, question: ResultsQuestion) -> Message:
    kind = "Abandonments" if question.only_abandonments else "Results"
    title = card_title(kind, card, question.today)
    losses = losses_of(card)
    on_every_page, listed_first = losses.parts()
    summary = _summary(card, question)
    notes = [
        words
        for words in (
            missed_off_words(card, "this is for the whole card"),
            completeness(card, question.today, question.unchecked, question.reader)
            or _none_lost(card, losses, question),
            _none_yet(card, question),
            unchecked_words(question.unchecked),
            None if question.only_abandonments else order_note(question.countries, _settled_in(card)),
        )
        if words
    ]
    paper = Paper(
        title,
        lambda shown: sentences([joined([shown, summary], ": "), losses.in_text, *notes]),
        [*listed_first, *([] if question.only_abandonments else _units(card, question))],
        head=[*on_every_page, section("\n".join([*([summary] if summary else []), *notes]))],
        foot=small_print(card, question.now),
    )
    words = (ABANDONMENTS_LIST,) if question.only_abandonments else ()
    room = MESSAGE_MAX if card.course else SCREEN
    turning = Turning(command_line("results", card, *words), question.page)
    return paged(paper, turning, most=LINES_ON_PAGE, room=room)


def _summary(card: Card, question: ResultsQuestion) -> str | None:
    outcomes = card.outcomes
    settled = outcomes.count(RaceOutcome.SETTLED)
    void = outcomes.count(RaceOutcome.VOID)
    still_open = [race for race, outcome in outcomes.in_order() if outcome is RaceOutcome.OPEN]
    coming = sum(is_to_come(race, question.now) for race in still_open)
    overdue = len(still_open) - coming
    figures = [abandoned_in_figures(outcomes), conflicts_in_figures(outcomes)]
    if not question.only_abandonments:
        figures = [
            *figures,
            counted(settled, "result") + " in" if settled else None,
            f"{void} void" if void else None,
            f"{counted(overdue, 'race')} without a result yet" if overdue else None,
            f"{counted(coming, 'race')} {TO_COME}" if coming else None,
        ]
    return joined(figures, ", ") or None


def _none_lost(card: Card, losses: Losses, question: ResultsQuestion) -> str | None:
    if losses.lost or losses.disputed or not question.only_abandonments:
        return None
    day = weekday_and_day(card.day, question.today)
    return f"No abandonment is known {nowhere_else(card.region, card.course)} on {day}."


def _none_yet(card: Card, question: ResultsQuestion) -> str | None:
    if question.only_abandonments or not _is_ahead(card, question):
        return None
    return f"No results yet: these races are on {weekday_and_day(card.day, question.today)}."


def _is_ahead(card: Card, question: ResultsQuestion) -> bool:
    """True for a later day whose races are all open or abandoned. In the east a day begins before today (UTC) ends."""
    outcomes = set(card.outcomes.of.values())
    return card.day > question.today and RaceOutcome.OPEN in outcomes <= {RaceOutcome.OPEN, RaceOutcome.ABANDONED}


def _settled_in(card: Card) -> set[str | None]:
    places = range(len(card.meetings))
    races = (one for place in places for one in card.outcomes.of_meeting(place))
    return {race.region or card.region for race, outcome in races if outcome in WITH_RESULT}


def _units(card: Card, question: ResultsQuestion) -> list[Unit]:
    """Meetings with results come first. A single course has a section for each race.

    The answer for all regions lists only meetings with a result and wholly abandoned meetings.
    """
    if _is_ahead(card, question):
        return [with_button("The card has the runners.", command_button("Card", command_line("racecard", card)))]
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
    told = [(race, outcome) for race, outcome in races if outcome is not RaceOutcome.OPEN]
    lines = [*(_race(race, outcome, now) for race, outcome in told), *_open(races, now)]
    block = lines_section(meeting_title(place, card), lines, len(lines))
    is_settled = any(outcome is RaceOutcome.SETTLED for _, outcome in races)
    button = course_button("All placings", "results", meeting, card) if is_settled else None
    return Unit((block | ({"accessory": button} if button else {}),))


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
    settled = settled_words(race, result_line(race, first="result in"))
    return {
        RaceOutcome.SETTLED: settled,
        RaceOutcome.ABANDONED: lost_words(race),
        RaceOutcome.BOTH: joined([conflict_words(race), settled]),
        RaceOutcome.UNCERTAIN: uncertain_words(race, settled),
        RaceOutcome.VOID: MARKED_VOID,
        RaceOutcome.OPEN: TO_COME if is_to_come(race, now) else NO_RESULT_YET,
    }[outcome]


def _whole_race(race: Race, outcome: RaceOutcome, now: datetime) -> Unit:
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first = joined([f"*{off_text(race.off)}*" if off_text(race.off) else None, safe(race.title)], "  ") or race_line(
        race
    )
    if outcome is not RaceOutcome.SETTLED or not placed:
        return Unit((lines_section(first, [_said(race, outcome, now)], 1),))
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [clip(line, CARD_LINE_MAX) for line in runner_lines([*placed, *others], race)]
    behind = lines_section(first, lines, len(lines))
    whole = lines_section(first, [clip(_said(race, outcome, now), CARD_LINE_MAX), *lines], len(lines) + 1)
    return Unit((collapsed(without_bold(_race(race, outcome, now)), [behind]),), sections=(whole,))

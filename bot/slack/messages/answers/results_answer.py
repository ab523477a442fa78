"""The answer of `/results`: results, abandonments and open races by meeting."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from bot.events.races import Race
from bot.outbox.message import Block, Message
from bot.racedata.day_card import Card, RaceOutcome
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.alerts.finishing_order import order_note
from bot.slack.messages.alerts.result import NO_ORDER
from bot.slack.messages.answers.day_answer import (
    abandoned_in_figures,
    abandoned_in_text,
    abandoned_lines,
    abandoned_units,
    command_line,
    completeness,
    nowhere_else,
    place_of,
    small_print,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.answers.racecard_answer import (
    CARD_LINE_MAX,
    conflict_words,
    course_button,
    lines_section,
    meeting_title,
)
from bot.slack.messages.kit.blocks import header, section
from bot.slack.messages.kit.names import SHORT_MAX, horse_name, race_line, runner_line
from bot.slack.messages.kit.pages import Turning, paged
from bot.slack.messages.kit.text import clip, counted, joined, safe, sentences
from bot.slack.messages.kit.times import off_text

ABANDONMENTS_LIST = "abandonments"
POSITION_MAX = 12
PLACES_SHOWN = 3


@dataclass(frozen=True)
class ResultsQuestion:
    today: date
    unchecked: Sequence[str] = ()
    page: int = 1
    only_abandonments: bool = False
    countries: Sequence[KnownCountry] = ()
    reader: AnswerReader = NOBODY_KNOWN


def results_of_day(card: Card, question: ResultsQuestion) -> Message:
    kind = "Abandonments" if question.only_abandonments else "Results"
    title = f"{kind}: {place_of(card.region, card.course)}, {card.day.isoformat()}"
    lost = abandoned_lines(card.outcomes, card.region)
    summary = _summary(card, question)
    notes = [
        words
        for words in (
            completeness(card, question.today, question.unchecked, question.reader) or _none_lost(card, lost, question),
            unchecked_words(question.unchecked),
            None if question.only_abandonments else order_note(question.countries, _settled_in(card)),
        )
        if words
    ]
    text = sentences([joined([title, summary], ": "), abandoned_in_text(lost), *notes])
    head = [header(title), section("\n".join([*([summary] if summary else []), *notes]))]
    units = [] if question.only_abandonments else _units(card)
    words = (ABANDONMENTS_LIST,) if question.only_abandonments else ()
    turn = Turning(command_line("results", card, *words), question.page)
    return paged(text, head, [*abandoned_units(lost), *units], small_print(card), turn)


def _summary(card: Card, question: ResultsQuestion) -> str | None:
    outcomes = card.outcomes
    settled = outcomes.count(RaceOutcome.SETTLED, RaceOutcome.BOTH)
    void, still_open = outcomes.count(RaceOutcome.VOID), outcomes.count(RaceOutcome.OPEN)
    figures = [abandoned_in_figures(outcomes)]
    if not question.only_abandonments:
        figures = [
            *figures,
            counted(settled, "result") + " in" if settled else None,
            f"{void} void" if void else None,
            f"{still_open} not known yet" if still_open else None,
        ]
    return joined(figures, ", ") or None


def _none_lost(card: Card, lost: Sequence[str], question: ResultsQuestion) -> str | None:
    if lost or not question.only_abandonments:
        return None
    return f"No abandonment is known {nowhere_else(card.region, card.course)} on {card.day.isoformat()}."


def _settled_in(card: Card) -> set[str | None]:
    places = range(len(card.meetings))
    races = (one for place in places for one in card.outcomes.of_meeting(place))
    return {race.region or card.region for race, outcome in races if outcome in {RaceOutcome.SETTLED, RaceOutcome.BOTH}}


def _units(card: Card) -> list[Block]:
    """Settled meetings come first. A single course has a section for each race."""
    places = range(len(card.meetings))
    if card.course is None:
        return [_meeting(place, card) for place in sorted(places, key=lambda place: not _has_results(place, card))]
    return [_whole_race(race, outcome) for place in places for race, outcome in card.outcomes.of_meeting(place)]


def _has_results(place: int, card: Card) -> bool:
    return any(outcome in {RaceOutcome.SETTLED, RaceOutcome.BOTH} for _, outcome in card.outcomes.of_meeting(place))


def _meeting(place: int, card: Card) -> Block:
    meeting, races = card.meetings[place], card.outcomes.of_meeting(place)
    block = lines_section(meeting_title(meeting, card), [_race(race, outcome) for race, outcome in races], len(races))
    is_settled = any(outcome is RaceOutcome.SETTLED for _, outcome in races)
    button = course_button("All placings", "results", meeting, card) if is_settled else None
    return block | ({"accessory": button} if button else {})


def _race(race: Race, outcome: RaceOutcome) -> str:
    name = off_text(race.off) or safe(race.title) or race_line(race)
    return clip(joined([name, _said(race, outcome)], "  "), CARD_LINE_MAX)


def _said(race: Race, outcome: RaceOutcome) -> str:
    lost = joined(["*ABANDONED*", safe(race.reason, SHORT_MAX * 2)], ", ")
    placed = [runner for runner in race.placed() if runner.finishing_position]
    front = [runner for runner in placed if (runner.finishing_position or 0) <= PLACES_SHOWN][: PLACES_SHOWN * 2]
    places = ", ".join(f"{safe(runner.position, POSITION_MAX)} {horse_name(runner)}" for runner in front or placed[:1])
    settled = places or NO_ORDER.lower()
    return {
        RaceOutcome.SETTLED: settled,
        RaceOutcome.ABANDONED: lost,
        RaceOutcome.BOTH: f"{settled}. {conflict_words(race)}",
        RaceOutcome.VOID: "*VOID*",
        RaceOutcome.OPEN: "not known yet",
    }[outcome]


def _whole_race(race: Race, outcome: RaceOutcome) -> Block:
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first = joined([f"*{off_text(race.off)}*" if off_text(race.off) else None, safe(race.title)], "  ") or race_line(
        race
    )
    if outcome is not RaceOutcome.SETTLED or not placed:
        return lines_section(first, [_said(race, outcome)], 1)
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [
        clip(runner_line(runner, safe(runner.position, POSITION_MAX)), CARD_LINE_MAX) for runner in [*placed, *others]
    ]
    return lines_section(first, lines, len(lines))

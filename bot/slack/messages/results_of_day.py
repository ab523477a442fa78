"""The answer of `/results`: what has settled, what was abandoned, and what is not known yet, meeting by meeting."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from bot.book.card import Card, Meeting
from bot.book.outcomes import Outcome, Outcomes
from bot.domain.events import RacingEvent
from bot.domain.meetings import is_part_of
from bot.domain.message import Block, Message
from bot.domain.races import Race
from bot.slack.messages.blocks import header, section
from bot.slack.messages.card import LINE_MAX, course_button, listed, meeting_title
from bot.slack.messages.day import command_line, coverage, place_of, small_print, unchecked_words
from bot.slack.messages.names import SHORT_MAX, course_name, horse_name, race_line, race_name, reason, runner_line
from bot.slack.messages.pages import Turning, paged
from bot.slack.messages.text import clip, counted, joined, safe
from bot.slack.messages.times import off_text
from bot.storage.reference import KnownCountry

ABANDONMENTS = "abandonments"
"""The word that asks for these alone, as the command's line has it."""

NAMED = 12
"""Abandonments that the text itself names; all of them are in the blocks."""

POSITION_MAX = 12
PLACES = 3


@dataclass(frozen=True)
class Shown:
    """What is to be shown of a day: what was asked for, and what the region's country publishes."""

    today: date
    unchecked: Sequence[str] = ()
    page: int = 1
    only_abandonments: bool = False
    country: KnownCountry | None = None


def results_of_day(card: Card, outcomes: Outcomes, shown: Shown) -> Message:
    """The day's results, a page at a time; the abandoned first, in the text and in the blocks."""
    kind = "Abandonments" if shown.only_abandonments else "Results"
    title = f"{kind}: {place_of(card.region, card.course)}, {card.day.isoformat()}"
    lost = _lost_lines(outcomes)
    summary = _summary(outcomes, shown)
    notes = [
        words
        for words in (
            _coverage(card, outcomes, shown),
            unchecked_words(shown.unchecked),
            _order_note(outcomes, shown),
        )
        if words
    ]
    named = [*lost[:NAMED], *([f"and {len(lost) - NAMED} more"] if len(lost) > NAMED else [])]
    text = joined([joined([title, summary], ": "), f"ABANDONED: {'; '.join(named)}" if named else None, *notes], ". ")
    head = [header(title), section("\n".join([*([summary] if summary else []), *notes]))]
    abandoned = [listed("*ABANDONED*", lost, len(lost))] if lost else []
    units = [] if shown.only_abandonments else _units(card, outcomes)
    words = (ABANDONMENTS,) if shown.only_abandonments else ()
    turn = Turning(command_line("results", card, *words), shown.page)
    return paged(text, head, [*abandoned, *units], small_print(card), turn)


def _summary(outcomes: Outcomes, shown: Shown) -> str | None:
    """How many races settled, were abandoned, and are not known yet."""
    settled = outcomes.count(Outcome.SETTLED, Outcome.BOTH)
    lost, still_open = outcomes.count(Outcome.ABANDONED), outcomes.count(Outcome.OPEN)
    whole = counted(len(outcomes.lost), "whole meeting") + " abandoned" if outcomes.lost else None
    races = [f"{counted(lost, 'race')} abandoned" if lost else None]
    if not shown.only_abandonments:
        races = [
            f"{settled} settled" if settled else None,
            *races,
            f"{still_open} not known yet" if still_open else None,
        ]
    return joined([whole, *races], ", ") or None


def _coverage(card: Card, outcomes: Outcomes, shown: Shown) -> str | None:
    """What is not known of the day; "no racing" not where a delivery told of some."""
    said = coverage(card, shown.today, shown.unchecked)
    if said and (card.meetings or not (outcomes.meetings or outcomes.lost)):
        return said
    nothing_lost = not outcomes.lost and not outcomes.count(Outcome.ABANDONED, Outcome.BOTH)
    if shown.only_abandonments and nothing_lost:
        return f"No abandonment is known for {place_of(card.region, card.course)} on {card.day.isoformat()}."
    return None


def _order_note(outcomes: Outcomes, shown: Shown) -> str | None:
    """That not everybody's place is published, where that is what the country does (Interface, Country)."""
    country = shown.country
    if country is None or shown.only_abandonments or not outcomes.count(Outcome.SETTLED, Outcome.BOTH):
        return None
    name = safe(country.name, SHORT_MAX) or safe(country.country_code, SHORT_MAX) or "This country"
    if country.full_result_order is False:
        share = f": {country.position_pct:.0%} of runners have a place" if country.position_pct is not None else ""
        return f"{name} does not publish the full finishing order{share}."
    return None


def _lost_lines(outcomes: Outcomes) -> list[str]:
    """The lost meetings, then the races that were called off by themselves."""
    whole = [_lost_meeting(event) for event in outcomes.lost]
    singly = [
        joined([race_name(race), safe(race.reason)], ", ") + ("" if race.region else " (region unknown)")
        for place, meeting in enumerate(outcomes.meetings)
        for number, race in enumerate(meeting.races)
        if outcomes.of[place, number] in {Outcome.ABANDONED, Outcome.BOTH}
        and not any(is_part_of(RacingEvent(key="", race=race), event) for event in outcomes.lost)
    ]
    return [*whole, *singly]


def _lost_meeting(event: RacingEvent) -> str:
    region = "" if event.race.region else " (region unknown)"
    return joined([course_name(event.race) or "course not given", f"whole meeting{region}", reason(event)], ", ")


def _units(card: Card, outcomes: Outcomes) -> list[Block]:
    """A section for each meeting; of a single course one for each race, with all who ran."""
    units = []
    for place, meeting in enumerate(outcomes.meetings):
        of = [outcomes.of[place, number] for number in range(len(meeting.races))]
        if card.course is None:
            units.append(_meeting(meeting, of, card))
        else:
            units += [_whole_race(race, outcome) for race, outcome in zip(meeting.races, of, strict=True)]
    return units


def _meeting(meeting: Meeting, of: Sequence[Outcome], card: Card) -> Block:
    lines = [_race(race, outcome) for race, outcome in zip(meeting.races, of, strict=True)]
    block = listed(meeting_title(meeting, card), lines, len(lines))
    button = course_button("All placings", "results", meeting, card) if Outcome.SETTLED in of else None
    return block | ({"accessory": button} if button else {})


def _race(race: Race, outcome: Outcome) -> str:
    """A race on one line: its off time, and the first three, or what else is known of it."""
    name = off_text(race.off) or safe(race.title) or race_line(race)
    return clip(joined([name, _said(race, outcome)], "  "), LINE_MAX)


def _said(race: Race, outcome: Outcome) -> str:
    lost = joined(["*ABANDONED*", safe(race.reason, SHORT_MAX * 2)], ", ")
    placed = [runner for runner in race.placed() if runner.finishing_position]
    front = [runner for runner in placed if (runner.finishing_position or 0) <= PLACES][: PLACES * 2]
    places = ", ".join(f"{safe(runner.position, POSITION_MAX)} {horse_name(runner)}" for runner in front or placed[:1])
    settled = places or "settled; no finishing order published"
    return {
        Outcome.SETTLED: settled,
        Outcome.ABANDONED: lost,
        Outcome.BOTH: f"{settled}. {lost} too: the two contradict each other",
        Outcome.OPEN: "not known yet",
    }[outcome]


def _whole_race(race: Race, outcome: Outcome) -> Block:
    """A race with everybody who is placed, then those who are not, by what came in place of a position."""
    placed = [runner for runner in race.placed() if runner.finishing_position]
    first = joined([f"*{off_text(race.off)}*" if off_text(race.off) else None, safe(race.title)], "  ") or race_line(
        race
    )
    if outcome is not Outcome.SETTLED or not placed:
        return listed(first, [_said(race, outcome)], 1)
    others = [runner for runner in race.runners if not runner.finishing_position and runner.position]
    lines = [clip(runner_line(runner, safe(runner.position, POSITION_MAX)), LINE_MAX) for runner in [*placed, *others]]
    return listed(first, lines, len(lines))

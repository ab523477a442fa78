"""The answer of `/racing next`: the next races to go off."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.events.days import utc_today
from bot.events.races import Race
from bot.events.typed_off import read_off
from bot.outbox.message import Block, Message
from bot.racedata.day_card import WITH_RESULT, Card, Coverage, MeetingCard, RaceOutcome
from bot.slack.messages.answers.day_answer import (
    DayQuestion,
    completeness,
    course_button,
    day_answer,
    losses_of,
    nowhere_else,
    place_of,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import AnswerReader
from bot.slack.messages.answers.outcome_words import CARD_LINE_MAX
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.layout import unit
from bot.slack.messages.kit.names import SHORT_MAX, course_name, race_line_after_off, race_name
from bot.slack.messages.kit.text import clip, given, joined, safe
from bot.slack.messages.kit.times import aware, off_for_readers, published_day, weekday_and_day

NEXT_SHOWN = 5
DUE = timedelta(minutes=5)
"""A race stays so long after its off: races go off late."""

_NO_ZONE = "no time zone published"


@dataclass(frozen=True)
class Coming:
    """`off_at`: None without a published offset."""

    race: Race
    meeting: MeetingCard
    card: Card
    off_at: datetime | None


def coming(cards: Sequence[Card], now: datetime) -> list[Coming]:
    """The next NEXT_SHOWN races of the days of `cards`, by their moment; last those without a moment (Spec gap G16).

    A race without a moment is left out after a later race of its meeting was run, and on other days than today.
    """
    found: list[Coming] = []
    for card in cards:
        for place, meeting in enumerate(card.meetings):
            races = card.outcomes.of_meeting(place)
            first = max((number + 1 for number, (_, outcome) in enumerate(races) if outcome in WITH_RESULT), default=0)
            for number, (race, outcome) in enumerate(races):
                off_at = aware(race.off.off_at)
                is_coming = off_at > now - DUE if off_at else card.day == utc_today(now) and number >= first
                if outcome is RaceOutcome.OPEN and is_coming:
                    found.append(Coming(race, meeting, card, off_at))
    found.sort(key=lambda one: (one.off_at is None, one.off_at or now, one.race.off.minute_of_day or 0))
    return found[:NEXT_SHOWN]


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
        in_short="; ".join(joined([race_name(one.race), _how_soon(one, now)], " ") for one in races),
        said=said,
        lines=said,
        units=[unit(section(_line(one, now, question.reader), _button(one))) for one in races],
        command=line,
        later=[losses_of(card, day) for day, card in later.items()],
    )


def _line(one: Coming, now: datetime, reader: AnswerReader) -> str:
    """For example "*17:05* Wolverhampton (GB) · in 12 min · Handicap · 7 runners"."""
    region = safe(one.meeting.region, SHORT_MAX) if one.card.region is None else None
    course = course_name(one.race.model_copy(update={"course": one.meeting.course})) or "course not named"
    off = off_for_readers(one.race.off, reader.zone)
    day = published_day(one.race.race_date) if one.card.day != utc_today(now) else None
    first = joined([given("*{}*", off), course, given("({})", region)], " ")
    details = clip(race_line_after_off(one.race), CARD_LINE_MAX) or None
    return joined([first, day, _how_soon(one, now), details])


def _how_soon(one: Coming, now: datetime) -> str:
    if one.off_at is None:
        return _NO_ZONE
    if one.off_at <= now:
        return "due off"
    hours, minutes = divmod(-((now - one.off_at) // timedelta(minutes=1)), 60)
    return joined(["in", f"{hours} h" if hours else None, f"{minutes} min" if minutes or not hours else None], " ")


def _button(one: Coming) -> Block | None:
    off = read_off(one.race.off.text or "")
    return course_button("Runners", "racecard", one.meeting, one.card, off)

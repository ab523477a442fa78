"""The answer of `/racing next`: the next races to go off."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.events.days import utc_today
from bot.events.races import Race
from bot.events.typed_off import read_off
from bot.outbox.message import Message
from bot.racedata.day_card import WITH_RESULT, Card, Coverage, MeetingCard, RaceOutcome
from bot.slack.messages.answers.day_answer import (
    completeness,
    losses_of,
    nowhere_else,
    place_of,
    small_print,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.answers.outcome_words import CARD_LINE_MAX
from bot.slack.messages.answers.racecard_answer import course_button, with_button
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.names import SHORT_MAX, course_name, race_line_after_off, race_name
from bot.slack.messages.kit.pages import Paper, Turning, paged
from bot.slack.messages.kit.text import clip, joined, safe, sentences
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


@dataclass(frozen=True)
class NextQuestion:
    """`line`: the words after /racing."""

    line: str
    now: datetime
    unchecked: Sequence[str] = ()
    page: int = 1
    reader: AnswerReader = NOBODY_KNOWN


def next_off(cards: Sequence[Card], asked: NextQuestion) -> Message:
    """The next races of `cards`, between the abandonments of the first day and the abandonments of the next day."""
    first, now = cards[0], asked.now
    races, today = coming(cards, now), utc_today(now)
    title = f"Next off: {place_of(first.region, first.course)}, {weekday_and_day(first.day, today)}"
    notes = [completeness(first, today, asked.unchecked, asked.reader), unchecked_words(asked.unchecked)]
    if not races and not notes[0]:
        notes.insert(0, f"No race to come is known {nowhere_else(first.region, first.course)}.")
    notes += [
        f"{weekday_and_day(card.day, today)}: {completeness(card, today, asked.unchecked, asked.reader)}"
        for card in cards
        if card.day > first.day and card.coverage is not Coverage.COMPLETE
    ]
    said = [words for words in notes if words]
    losses = losses_of(first)
    on_every_page, listed_first = losses.parts()
    later = [losses_of(card, weekday_and_day(card.day, today)) for card in cards if card.day > first.day]
    in_short = "; ".join(joined([race_name(one.race), _how_soon(one, now)], " ") for one in races) or None
    paper = Paper(
        title,
        lambda shown: sentences(
            [joined([shown, in_short], ": "), *(one.in_text for one in (losses, *later) if one.in_text), *said]
        ),
        [
            *listed_first,
            *(with_button(_line(one, now, asked.reader), _button(one)) for one in races),
            *(unit for one in later for unit in one.units()),
        ],
        head=[*on_every_page, section("\n".join(said))],
        foot=small_print(first, now),
    )
    return paged(paper, Turning(asked.line, asked.page))


def _line(one: Coming, now: datetime, reader: AnswerReader) -> str:
    """For example "*17:05* Wolverhampton (GB) · in 12 min · Handicap · 7 runners"."""
    region = safe(one.meeting.region, SHORT_MAX) if one.card.region is None else None
    course = course_name(one.race.model_copy(update={"course": one.meeting.course})) or "course not named"
    off = off_for_readers(one.race.off, reader.zone)
    day = published_day(one.race.race_date) if one.card.day != utc_today(now) else None
    first = joined([f"*{off}*" if off else None, course, f"({region})" if region else None], " ")
    details = clip(race_line_after_off(one.race), CARD_LINE_MAX) or None
    return joined([first, day, _how_soon(one, now), details])


def _how_soon(one: Coming, now: datetime) -> str:
    if one.off_at is None:
        return _NO_ZONE
    if one.off_at <= now:
        return "due off"
    hours, minutes = divmod(-((now - one.off_at) // timedelta(minutes=1)), 60)
    return joined(["in", f"{hours} h" if hours else None, f"{minutes} min" if minutes or not hours else None], " ")


def _button(one: Coming) -> dict[str, object] | None:
    off = read_off(one.race.off.text or "")
    return course_button("Runners", "racecard", one.meeting, one.card, off)

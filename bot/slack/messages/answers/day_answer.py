"""Shared parts of `/racecard` and `/results`: place, completeness, small print."""

from collections.abc import Callable, Sequence
from datetime import date

from bot.events.races import Course
from bot.outbox.message import Block
from bot.racedata.day_card import Card, Coverage
from bot.slack.messages.answers.failure_words import Reader, failure_words, shown_to
from bot.slack.messages.answers.filter_words import listed
from bot.slack.messages.kit.blocks import context, mrkdwn
from bot.slack.messages.kit.names import SHORT_MAX
from bot.slack.messages.kit.text import safe
from bot.slack.messages.kit.times import in_readers_zone


def place_of(region: str | None, course: Course | None) -> str:
    shown = safe(region, SHORT_MAX) or "all regions"
    name = safe(course.name, SHORT_MAX * 2) or safe(course.course_id) if course else None
    return f"{name} ({shown})" if name else shown


def nowhere_else(region: str | None, course: Course | None) -> str:
    """For example "for GB", "for Ascot (GB)", "in any region"."""
    return "in any region" if region is None and course is None else f"for {place_of(region, course)}"


def command_line(name: str, card: Card, *words: str) -> str:
    course = card.course and (card.course.course_id or card.course.name)
    quoted = '"' + course.replace('"', "") + '"' if course else None
    return " ".join(filter(None, [name, card.region, card.day.isoformat(), quoted, *words]))


def coverage(card: Card, today: date, unchecked: Sequence[str], reader: Reader) -> str | None:
    """A sentence on missing data; None for a complete card. A day with deliveries is never called "No racing"."""
    told: dict[Coverage, Callable[[], str | None]] = {
        Coverage.COMPLETE: lambda: _none(card, today, unchecked) if card.is_empty else None,
        Coverage.PARTIAL: lambda: f"This may not be all: {_reached(card)}",
        Coverage.UNREAD: lambda: f"Not read yet: {_reached(card)}",
        Coverage.OUTSIDE_WINDOW: lambda: f"{card.day.isoformat()} is outside your plan's window{_window(card)}.",
        Coverage.QUOTA: lambda: f"{_incomplete(card)}: stopped by quota. {_quota(card, reader)}",
        Coverage.FAILED: lambda: f"{_incomplete(card)}. {_failure(card, reader)}",
    }
    return told[card.coverage]()


def unchecked_words(words: Sequence[str]) -> str | None:
    """A warning: an unchecked region may not exist, and looks like a day without racing."""
    named = [word for word in (safe(word, SHORT_MAX) for word in words) if word]
    if not named:
        return None
    return f"I could not check {listed(named)} against the data service's lists: taken as typed."


def small_print(card: Card) -> Block | None:
    as_of = safe(card.data_as_of, SHORT_MAX)
    said = (
        f"read {in_readers_zone(card.read_at)}" if card.read_at else None,
        f"data as of {as_of}" if as_of else None,
        "dates and times as published",
    )
    return context([mrkdwn(words) for words in said if words])


def _none(card: Card, today: date, unchecked: Sequence[str]) -> str:
    where = nowhere_else(card.region, card.course)
    if unchecked:
        return f"Nothing found {where} on {card.day.isoformat()}."
    if card.day > today:
        return f"No card has been published yet {where} on {card.day.isoformat()}."
    return f"No racing: the data service lists none {where} on {card.day.isoformat()}."


def _reached(card: Card) -> str:
    reached = safe(card.reached, SHORT_MAX)
    so_far = f" and have come to {reached}" if reached else ""
    return f"I am still reading the data service's list{so_far}. Ask again in a moment."


def _incomplete(card: Card) -> str:
    return "Not read" if card.is_empty else "This may not be all"


def _window(card: Card) -> str:
    window = safe(card.window)
    return f" ({window})" if window else ""


def _quota(card: Card, reader: Reader) -> str:
    if card.failure is not None:
        return _failure(card, reader)
    setting = " (COMMAND_QUOTA_SHARE)" if reader.is_admin else ""
    return f"Commands have spent their share{setting} of what the month has left. Alerts go on."


def _failure(card: Card, reader: Reader) -> str:
    words = failure_words(card.failure, reader) if card.failure else ""
    return shown_to(words, reader) or "The data service did not do what was asked."

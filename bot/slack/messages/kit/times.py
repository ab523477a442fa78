"""Times as published, and in the reader's zone if an offset was published (Spec gap G16)."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from bot.events.races import OffTime
from bot.slack.messages.kit.text import safe

_TIME_TEXT_MAX = 40
_DAY_S = 86_400
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_FOR_READERS = re.compile(r"<!date\^[^|>]*\|([^>]*)>")

DAY_UNSAID_WITHIN = timedelta(hours=12)
"""An older moment is said with its day."""


def utc_clock(moment: datetime, *, seconds: bool = False) -> str:
    # `astimezone` overflows at both ends of the calendar.
    second_of_day = int(moment.timestamp()) % _DAY_S
    clock = f"{second_of_day // 3600:02}:{second_of_day // 60 % 60:02}"
    return f"{clock}:{second_of_day % 60:02} UTC" if seconds else f"{clock} UTC"


def in_readers_zone(moment: datetime, *, seconds: bool = False) -> str:
    """Slack shows the token in each reader's zone, else as UTC.

    https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    style = "{time_secs}" if seconds else "{time}"
    return f"<!date^{int(moment.timestamp())}^{style}|{utc_clock(moment, seconds=seconds)}>"


def in_utc(words: str) -> str:
    """The words with each moment by UTC in place of the reader's clock."""
    return _FOR_READERS.sub(r"\1", words)


def moment_for_readers(moment: datetime, *, seconds: bool = False) -> str:
    in_utc = f"{moment.astimezone(UTC):%Y-%m-%d} {utc_clock(moment, seconds=seconds)}"
    style = "{time_secs}" if seconds else "{time}"
    return f"<!date^{int(moment.timestamp())}^{{date_short}} {style}|{in_utc}>"


def how_long(minutes: int) -> str:
    """For example "42 min", "5 h 55 min", "8 d 2 h"."""
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = (days, "d"), (hours, "h"), (0 if days else minutes, "min")
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 min"


def day_in_words(day: date) -> str:
    return f"{day.day} {day:%B}"


def weekday_and_day(day: date, today: date | None = None) -> str:
    """For example "Sat 21 Nov"; "Sat 21 Nov 2020" if the year is not today's."""
    year = f" {day.year}" if today and day.year != today.year else ""
    return f"{day:%a} {day.day} {day:%b}{year}"


def month_in_words(month: str) -> str:
    """For example "November 2026", of "2026-11"."""
    return f"{date.fromisoformat(f'{month}-01'):%B %Y}"


@lru_cache(maxsize=64)
def published_day(published: str | None, today: date | None = None) -> str | None:
    """`weekday_and_day` of "2026-11-21"; another form of a date as published."""
    if _ISO_DATE.fullmatch(published or ""):
        with suppress(ValueError):
            return weekday_and_day(date.fromisoformat(published or ""), today)
    return safe(published, _TIME_TEXT_MAX)


def published_moment(published: str | None, now: datetime) -> str | None:
    """The moment in each reader's zone, without the day if near to `now`. Text without an offset stays as published."""
    if published is None:
        return None
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(published)
        if moment.tzinfo:
            is_near = abs(now - moment) < DAY_UNSAID_WITHIN
            return in_readers_zone(moment) if is_near else moment_for_readers(moment)
    return published_day(published, now.date())


def off_text(off: OffTime) -> str | None:
    moment = off.off_at
    return safe(off.text, _TIME_TEXT_MAX) or (utc_clock(moment) if moment else None)


def off_for_readers(off: OffTime, zone: tzinfo | None) -> str | None:
    """The off with the time by the reader's clock, unless the clock in the reader's `zone` shows the published time."""
    text, moment = safe(off.text, _TIME_TEXT_MAX), off.off_at
    if moment is None:
        return text
    if text and zone and not off.is_of_half_day and off.minute_of_day == _minute_by_clock(moment, zone):
        return text
    return f"{text} (your clock: {in_readers_zone(moment)})" if text else in_readers_zone(moment)


def _minute_by_clock(moment: datetime, zone: tzinfo) -> int | None:
    try:
        there = moment.astimezone(zone)
    except OverflowError:  # at both ends of the calendar
        return None
    return there.hour * 60 + there.minute

"""Times as messages show them: as published, and in the reader's own zone where an offset came (Spec gap G16)."""

from datetime import UTC, date, datetime

from bot.events.races import OffTime
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.kit.text import safe

_TIME_TEXT_MAX = 40
_DAY_S = 86_400


def utc_clock(moment: datetime, *, seconds: bool = False) -> str:
    """The moment in UTC: "14:32 UTC", or "14:32:10 UTC"."""
    # By arithmetic, because `astimezone` overflows at both ends of the calendar.
    second_of_day = int(moment.timestamp()) % _DAY_S
    clock = f"{second_of_day // 3600:02}:{second_of_day // 60 % 60:02}"
    return f"{clock}:{second_of_day % 60:02} UTC" if seconds else f"{clock} UTC"


def in_readers_zone(moment: datetime, *, seconds: bool = False) -> str:
    """A token that Slack shows in each reader's own zone, and as UTC where it can't.

    https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    style = "{time_secs}" if seconds else "{time}"
    return f"<!date^{int(moment.timestamp())}^{style}|{utc_clock(moment, seconds=seconds)}>"


def moment_for_readers(moment: datetime, *, seconds: bool = True) -> str:
    """Day and time of a moment, in each reader's own zone; in UTC where Slack can't."""
    in_utc = f"{moment.astimezone(UTC):%Y-%m-%d} {utc_clock(moment, seconds=seconds)}"
    style = "{time_secs}" if seconds else "{time}"
    return f"<!date^{int(moment.timestamp())}^{{date_short}} {style}|{in_utc}>"


def day_in_words(day: date) -> str:
    """A day of this year or the next: "1 December"."""
    return f"{day.day} {day:%B}"


def off_text(off: OffTime) -> str | None:
    """The off time as published; in UTC where only the moment is known; None where nothing is."""
    moment = aware(off.off_at)
    return safe(off.text, _TIME_TEXT_MAX) or (utc_clock(moment) if moment else None)


def off_for_readers(off: OffTime) -> str | None:
    """The off time as published, and beside it the reader's own where an offset came with it."""
    text, moment = safe(off.text, _TIME_TEXT_MAX), aware(off.off_at)
    if moment is None:
        return text
    return f"{text} (your clock: {in_readers_zone(moment)})" if text else in_readers_zone(moment)


def minutes_late(context: MessageContext) -> int | None:
    """How late the message is, in whole minutes; None where that is not worth a word.

    Measured from when the service had this version of the event, else from receipt. The off time says nothing about
    lateness: a race settles minutes after the off, and is corrected hours after it.
    """
    since = min(context.had_at or context.received_at, context.received_at)
    late_s = (context.now - since).total_seconds()
    return int(late_s // 60) if late_s > context.late_after_s and late_s >= 60 else None


def aware(moment: datetime | None) -> datetime | None:
    """The moment, or None where it has no offset: such a one can't be compared with any other."""
    return moment if moment and moment.utcoffset() is not None else None

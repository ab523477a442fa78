"""What is said of a pause: until when, and what becomes of what comes meanwhile."""

from datetime import datetime

from bot.domain.days import UTC_NAME, zone_of
from bot.domain.message import Message
from bot.outbox.reopening import SUMMARY_AFTER
from bot.slack.messages.blocks import message, section
from bot.slack.messages.text import counted, safe
from bot.slack.messages.times import moment_for_readers


def paused(until: datetime | None, keep_hours: int, zone: str | None = None) -> Message:
    """The answer of `/racing pause`. `zone` is the time zone in which a day or a time of day was read."""
    ends = f"until {moment_for_readers(until, seconds=False)}" if until else "until somebody types `/racing resume`"
    hours = counted(int(SUMMARY_AFTER.total_seconds()) // 3600, "hour")
    words = (
        f"This channel is paused {ends}.{_in_zone(until, zone)} What comes meanwhile is kept, abandonments too. When "
        f"the pause is over, what came in the last {hours} is posted as usual, and one summary names every abandonment "
        f"before that and the results. What has waited more than {counted(keep_hours, 'hour')} is not posted."
    )
    if until:
        words += " `/racing resume` ends the pause sooner."
    return message(words, [section(words)])


def _in_zone(until: datetime | None, zone: str | None) -> str:
    """A sentence on the zone in which the words were read, after a space; "" where no zone matters."""
    if until is None or zone is None:
        return ""
    moment = f"{until.astimezone(zone_of(zone)):%Y-%m-%d %H:%M}"
    if zone == UTC_NAME:
        return f" That is {moment} UTC: I don't know your time zone."
    return f" That is {moment} in {safe(zone)}, your time zone in Slack."


def resumed(subscriptions: int) -> Message:
    """The answer of `/racing resume`."""
    if not subscriptions:
        return message(words := "This channel was not paused: `/racing list` shows what it receives.", [section(words)])
    words = "The pause is over. What waited is posted now, the older of it in one summary."
    return message(words, [section(words)])

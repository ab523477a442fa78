"""What is said of a pause: until when, and what becomes of what comes meanwhile."""

from datetime import datetime

from bot.alerts.reopening import SUMMARY_AFTER
from bot.domain.message import Message
from bot.slack.messages.blocks import message, section
from bot.slack.messages.text import counted
from bot.slack.messages.times import moment_for_readers


def paused(until: datetime | None, keep_hours: int) -> Message:
    """The answer of `/racing pause`."""
    ends = f"until {moment_for_readers(until, seconds=False)}" if until else "until somebody types `/racing resume`"
    hours = counted(int(SUMMARY_AFTER.total_seconds()) // 3600, "hour")
    words = (
        f"This channel is paused {ends}. What comes meanwhile is kept, abandonments too. When the pause is over, what "
        f"came in the last {hours} is posted as usual, and one summary names every abandonment before that and the "
        f"results. What has waited more than {counted(keep_hours, 'hour')} is not posted."
    )
    if until:
        words += " `/racing resume` ends the pause sooner."
    return message(words, [section(words)])


def resumed(subscriptions: int) -> Message:
    """The answer of `/racing resume`."""
    if not subscriptions:
        return message(words := "This channel was not paused: `/racing list` shows what it receives.", [section(words)])
    words = "The pause is over. What waited is posted now, the older of it in one summary."
    return message(words, [section(words)])

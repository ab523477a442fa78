"""Message builders: values in, text and blocks out. Channels see `alerts`, people see `answers`; `kit` is shared."""

from collections.abc import Callable

from bot.events.event import EventKind, RacingEvent
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import Corrected, MessageContext
from bot.slack.messages.alerts.alert_notes import drill, unreadable
from bot.slack.messages.alerts.event_alerts import meeting_abandoned, race_abandoned, racecard_published, result

__all__ = ["EVENT_MESSAGES", "Corrected", "MessageContext", "render"]

EVENT_MESSAGES: dict[EventKind, Callable[[RacingEvent, MessageContext], Message]] = {
    EventKind.RESULT_RECEIVED: result,
    EventKind.RACE_ABANDONED: race_abandoned,
    EventKind.MEETING_ABANDONED: meeting_abandoned,
    EventKind.RACECARD_PUBLISHED: racecard_published,
}


def render(event: RacingEvent, context: MessageContext) -> Message:
    """A message within Slack's limits. Text from outside triggers no formatting, link or mention."""
    if event.drill is not None:
        return drill(event, context)
    build = EVENT_MESSAGES[event.kind] if event.kind else unreadable
    return build(event, context)

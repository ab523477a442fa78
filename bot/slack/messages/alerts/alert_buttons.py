"""The buttons below an event's message: acknowledge, full result, mute, trace."""

from bot.channels.filters import QUIETED, meeting_of
from bot.events.event import RacingEvent
from bot.outbox.message import Block
from bot.outbox.message_view import AskedInView
from bot.slack.messages.alerts.acknowledge_words import acknowledge_button
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, action_button, actions, command_button
from bot.slack.messages.kit.text import size

FULL_RESULT_WORD = "full_result"
MUTE = "mute_meeting"

EVENT_KEY_MAX = BUTTON_VALUE_MAX - len("trace ")


def alert_buttons(event: RacingEvent, asked: AskedInView | None = None, *, full_result: bool = False) -> Block | None:
    """None where the event's key is too long for a button's value. `full_result`: no runner stands in the message."""
    if size(event.key) > EVENT_KEY_MAX:
        return None
    shown: list[Block] = []
    if asked is not None and asked.by is None:
        shown.append(acknowledge_button(asked.key))
    if full_result:
        shown.append(action_button("Full result", FULL_RESULT_WORD, event.key))
    if event.topic in QUIETED and meeting_of(event.race).is_known:
        shown.append(action_button("Mute this meeting here", MUTE, event.key))
    return actions([*shown, command_button("Who was told", f"trace {event.key}")])

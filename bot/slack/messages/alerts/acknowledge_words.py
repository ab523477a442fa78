"""The button of an abandonment that is to be acknowledged, and the words once somebody has."""

from bot.outbox.message import Block
from bot.slack.messages.kit.buttons import action_button
from bot.slack.messages.kit.marks import TAKEN_OVER
from bot.slack.messages.kit.mentions import named

ACKNOWLEDGE = "acknowledge"

I_HAVE_IT = "I have it"


def acknowledge_button(key: str) -> Block:
    """`key`: of the abandonment's message."""
    return action_button(I_HAVE_IT, ACKNOWLEDGE, key) | {"style": "primary"}


def taken_words(by: str, clock: str) -> str:
    return f"{TAKEN_OVER} {named(by)} has it since {clock}"

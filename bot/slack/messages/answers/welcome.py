"""The message in a channel after the bot's invitation."""

from collections.abc import Sequence

from bot.channels.filters import ChannelFilter
from bot.outbox.message import Message
from bot.slack.messages.answers.filter_words import in_plain_words
from bot.slack.messages.kit.blocks import sentence


def welcome(filters: Sequence[ChannelFilter], *, is_paused: bool) -> Message:
    if not filters:
        return sentence(
            "Thank you for the invitation. I post horse racing results and abandonments. Type /racing subscribe GB for "
            "a region, or /racing subscribe all. /racing help shows what else I understand."
        )
    receives = f"This channel receives {in_plain_words(filters)}."
    paused = (
        " The channel is paused, though: messages are kept until the pause ends, or /racing resume."
        if is_paused
        else ""
    )
    return sentence(f"Thank you for the invitation. {receives}{paused} /racing list shows the subscriptions.")

"""The button of an abandonment that is to be acknowledged, and the words once somebody has."""

from bot.outbox.acknowledgements import Untaken
from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import action_button
from bot.slack.messages.kit.marks import TAKEN_OVER
from bot.slack.messages.kit.mentions import named
from bot.slack.messages.kit.names import abandonment_name
from bot.slack.messages.kit.text import counted, listed

ACKNOWLEDGE = "acknowledge"

GIVE_BACK = "give_back"

I_HAVE_IT = "I have it"


def acknowledge_button(key: str) -> Block:
    """`key`: of the abandonment's message."""
    return action_button(I_HAVE_IT, ACKNOWLEDGE, key) | {"style": "primary"}


def give_back_button(key: str) -> Block:
    return action_button("I don't have it", GIVE_BACK, key)


def taken_words(by: str, clock: str) -> str:
    return f"{TAKEN_OVER} {named(by)} has it since {clock}"


def untaken_words(untaken: Untaken, where: str = "") -> str:
    """For example "Taken by nobody here: 1 abandonment of the last 24 hours (Ascot 14:30)". `where`: " here"."""
    told = counted(untaken.count, "abandonment")
    return f"Taken by nobody{where}: {told} of the last 24 hours ({untaken_named(untaken)})"


def untaken_named(untaken: Untaken) -> str:
    """For example "Ascot 14:30, York (whole meeting) and 2 more"."""
    names = [abandonment_name(event, untaken.partly_run) for event in untaken.first]
    more = untaken.count - len(names)
    return listed([*names, f"{more} more"] if more else names)

"""The buttons of subscriptions, also those for what arrives because another one overrides what was chosen."""

from collections.abc import Sequence

from bot.domain.filters import Overridden
from bot.domain.message import Block
from bot.slack.messages.buttons import action_button
from bot.slack.messages.filter_words import region_named

EDIT = "edit_subscription"
REMOVE = "remove_subscription"


def edit_button(region: str, label: str = "Edit") -> Block:
    """Opens the form of the channel's subscription to a region, as it is by then."""
    return action_button(label, EDIT, region)


def overriding_buttons(overridden: Sequence[Overridden]) -> list[Block]:
    """Opens the form of each subscription that overrides another, each once.

    It changes nothing by itself: what one leaves out by region, topic and course another can seldom leave out alone.
    """
    regions = dict.fromkeys(found.by.region for found in overridden)
    return [edit_button(region, f"Edit {region_named(region)}") for region in regions]


def remove_button(region: str) -> Block:
    """Ends it. It carries the region, and not the subscription's number, which a later one can have."""
    question = f"This channel would no longer receive its subscription to {region_named(region)}."
    return action_button("Remove", REMOVE, region, confirm=question)

"""The buttons of subscriptions."""

from collections.abc import Sequence

from bot.channels.filters import ChannelFilter, Overridden
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.region_view import region_named
from bot.slack.messages.conditions.table import VIEWS
from bot.slack.messages.kit.blocks import action_button, command_button
from bot.slack.messages.kit.text import listed

EDIT = "edit_subscription"
REMOVE = "remove_subscription"
FORM = "fill_form"

LACKING_MAX = 5


def edit_button(region: str, label: str = "Edit") -> Block:
    return action_button(label, EDIT, region)


def form_button(words: str) -> Block:
    """Opens the form of a new subscription, filled with these words of `/racing subscribe`."""
    return action_button("Open the form", FORM, words or "subscribe")


def no_abandonments(lacking: Sequence[ChannelFilter]) -> str:
    return f"Abandonments from {listed([region_named(one.region) for one in lacking])} will not be posted here."


def abandonments_buttons(lacking: Sequence[ChannelFilter]) -> list[Block]:
    return [
        command_button(
            "Add abandonments" if len(lacking) == 1 else f"Add abandonments from {region_named(one.region)}",
            " ".join(["subscribe", *map(_quoted, _same_with_abandonments(one))]),
        )
        for one in lacking[:LACKING_MAX]
    ]


def overriding_buttons(overridden: Sequence[Overridden]) -> list[Block]:
    """Opens the form of each overriding subscription.

    Nothing changes by itself: a command can seldom leave the same out.
    """
    regions = dict.fromkeys(found.by.region for found in overridden)
    return [edit_button(region, f"Edit {region_named(region)}") for region in regions]


def remove_button(region: str) -> Block:
    """Ends the subscription. The value is the region, because a later row can have the same number."""
    question = f"This channel would no longer receive its subscription to {region_named(region)}."
    return action_button("Remove", REMOVE, region, confirm=question)


def _same_with_abandonments(chosen: ChannelFilter) -> list[str]:
    """The words for abandonments of the same races. Excluded courses stay excluded."""
    views = [view for view in VIEWS if view.condition.is_narrowing or view.field == "region"]
    first, *others = [view.typed(chosen) for view in views]
    return [*first, Topic.ABANDONMENTS, *(word for words in others for word in words)]


def _quoted(word: str) -> str:
    name, colon, value = word.replace('"', "").partition(":")
    if not colon:
        return f'"{name}"' if " " in name else name
    return f'{name}:"{value}"' if " " in value else f"{name}:{value}"

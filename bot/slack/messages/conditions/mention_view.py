"""Mentions as people meet them: in the form alone."""

from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import HERE, ChannelFilter, is_mention
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    PublishedChoices,
    Submitted,
    form_field,
    looked_up,
)
from bot.slack.messages.kit.blocks import options, plain_text
from bot.slack.messages.kit.text import listed

PEOPLE_FIELD = "people"
GROUPS_FIELD = "groups"

PEOPLE_MAX = 20
GROUPS_MAX = 10


class MentionView(ConditionView):
    condition = BY_FIELD["mentions"]

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", mentioning {listed(list(chosen.mentions))}" if chosen.mentions else ""

    def typed(self, _chosen: ChannelFilter) -> list[str]:
        return []

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        people = [one for one in chosen.mentions if one[0] in "UW"]
        menu: Block = {"type": "multi_users_select", "max_selected_items": max(PEOPLE_MAX, len(people))}
        menu |= {"placeholder": plain_text("Choose people")} | ({"initial_users": people} if people else {})
        named = ((f"@{one}", one) for one in chosen.mentions if one == HERE or one[0] == "S")
        groups = looked_up("Type here, or a group's name", options(named), GROUPS_MAX)
        return [
            form_field(PEOPLE_FIELD, "Mention when something is abandoned", menu, optional=True),
            form_field(GROUPS_FIELD, "Mention @here or user groups too", groups, optional=True),
        ]

    def read(self, form: FilledForm) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*form.users(PEOPLE_FIELD), *form.selected(GROUPS_FIELD)]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        errors: dict[str, str] = {}
        if wrong := [one for one in submitted[self.field] if not is_mention(one)]:
            errors[GROUPS_FIELD] = f"{wrong[0][:40]} is no user group."
        if submitted[self.field] and Topic.ABANDONMENTS not in submitted["topics"]:
            errors[PEOPLE_FIELD] = "Only abandonments mention anybody: let them be posted too, or mention nobody."
        return errors

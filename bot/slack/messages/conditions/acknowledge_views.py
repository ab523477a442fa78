"""Acknowledgement as people meet it: the minutes as a text, and menus of people, groups and channels."""

from bot.channels.conditions.acknowledge_conditions import (
    ACK_EXAMPLE,
    ESCALATE_EXAMPLE,
    AckCondition,
    EscalateCondition,
    is_channel,
    minutes_of,
)
from bot.channels.filters import HERE, ChannelFilter
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.choice_view import ChoiceView
from bot.slack.messages.conditions.condition_view import (
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    form_field,
    looked_up,
)
from bot.slack.messages.kit.blocks import options, plain_text
from bot.slack.messages.kit.text import counted, listed

ESCALATE_PEOPLE_FIELD = "escalate_people"
ESCALATE_GROUPS_FIELD = "escalate_groups"
ESCALATE_CHANNELS_FIELD = "escalate_channels"

TOLD_MAX = 10
"""Of people, of groups, and of channels."""


class AckView(ChoiceView):
    condition = choice = AckCondition()
    typed_as = f"{choice.field}:"
    typed_example = ACK_EXAMPLE
    label = "Abandonments to be acknowledged within"
    help = "each abandonment has a button, and somebody is to press the button within that time"
    hint = f"Write {ACK_EXAMPLE} for ten minutes. Each abandonment has a button, and everybody sees who has taken it."

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.said(chosen)}" if minutes_of(chosen) else ""

    def said(self, chosen: ChannelFilter) -> str:
        minutes = minutes_of(chosen)
        if minutes is None:
            return "no acknowledgement of abandonments"
        return f"abandonments to be acknowledged within {counted(minutes, 'minute')}"

    def change(self, now: ChannelFilter) -> Loss:
        minutes = minutes_of(now)
        if minutes is None:
            return Loss("turned off acknowledgement for")
        return Loss("set the time to acknowledge for", f": {counted(minutes, 'minute')}")

    def problems(self, submitted: Submitted) -> dict[str, str]:
        if submitted[self.field] and Topic.ABANDONMENTS not in submitted["topics"]:
            return {self.field: "Only abandonments are acknowledged: let them be posted too."}
        return super().problems(submitted)


class EscalateView(ChoiceView):
    condition = choice = EscalateCondition()
    typed_as = f"{choice.field}:"
    typed_example = ESCALATE_EXAMPLE
    is_of_names = True
    help = "who is told of an abandonment that nobody has acknowledged: a person, a user group or a channel"

    def said(self, chosen: ChannelFilter) -> str:
        return f"else telling {listed(list(chosen.escalate))}" if chosen.escalate else "else telling nobody"

    def change(self, now: ChannelFilter) -> Loss:
        told = listed(list(now.escalate)) or "nobody"
        return Loss("changed who is told when nobody takes an abandonment from", f": now {told}")

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        people = [one for one in chosen.escalate if one[0] in "UW"]
        menu: Block = {"type": "multi_users_select", "max_selected_items": max(TOLD_MAX, len(people))}
        menu |= {"placeholder": plain_text("Choose people")} | ({"initial_users": people} if people else {})
        named = ((f"@{one}", one) for one in chosen.escalate if one == HERE or one[0] == "S")
        groups = looked_up("Type here, or a group's name", options(named), TOLD_MAX)
        there = [one for one in chosen.escalate if is_channel(one)]
        channels: Block = {
            "type": "multi_conversations_select",
            "max_selected_items": max(TOLD_MAX, len(there)),
            "placeholder": plain_text("Choose channels that I am in"),
            "filter": {"include": ["public", "private"]},
        }
        channels |= {"initial_conversations": there} if there else {}
        return [
            form_field(ESCALATE_PEOPLE_FIELD, "If nobody acknowledges, mention", menu, optional=True),
            form_field(ESCALATE_GROUPS_FIELD, "And mention @here or user groups", groups, optional=True),
            form_field(
                ESCALATE_CHANNELS_FIELD,
                "If still nobody acknowledges, post in",
                channels,
                hint="After the same time again, or at once where nobody is mentioned.",
                optional=True,
            ),
        ]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        fields = (ESCALATE_PEOPLE_FIELD, ESCALATE_GROUPS_FIELD, ESCALATE_CHANNELS_FIELD)
        if form.had.isdisjoint(fields):
            return None
        chosen = (
            *form.users(ESCALATE_PEOPLE_FIELD),
            *form.selected(ESCALATE_GROUPS_FIELD),
            *form.conversations(ESCALATE_CHANNELS_FIELD),
        )
        return tuple(dict.fromkeys(chosen))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        told = submitted[self.field] or ()
        for one in told:
            try:
                self.choice.stored(one)
            except ValueError:
                return {ESCALATE_GROUPS_FIELD: f"{one[:40]} is no person, no user group and no channel."}
        if told and Topic.ABANDONMENTS not in submitted["topics"]:
            return {ESCALATE_PEOPLE_FIELD: "Only abandonments are escalated: let them be posted too, or name nobody."}
        return {}

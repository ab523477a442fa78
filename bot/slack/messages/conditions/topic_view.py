"""Topics as people meet them."""

from collections.abc import Iterator

from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    form_field,
)
from bot.slack.messages.kit.blocks import options
from bot.slack.messages.kit.text import listed

TOPICS_FIELD = "topics"

TOPIC_LABELS = {
    Topic.RESULTS: "Results",
    Topic.ABANDONMENTS: "Abandoned races and meetings",
    Topic.RACECARDS: "Racecards",
}


class TopicView(ConditionView):
    condition = BY_FIELD["topics"]

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return listed(topics_in_order(chosen.topics))

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if lost := was.topics - now.topics:
            yield Loss(f"ended {listed(topics_in_order(lost))} from")

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return topics_in_order(chosen.topics)

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        every = options((label, topic.value) for topic, label in TOPIC_LABELS.items())
        initial = [one for one in every if Topic(one["value"]) in chosen.topics]
        element = {"type": "checkboxes", "options": every} | ({"initial_options": initial} if initial else {})
        hint = "Abandonments come as soon as they are reported."
        return [form_field(TOPICS_FIELD, "What to post", element, hint=hint)]

    def read(self, form: FilledForm) -> frozenset[Topic]:
        return frozenset(Topic(value) for value in form.selected(TOPICS_FIELD) if value in set(Topic))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {TOPICS_FIELD: "Choose at least one of them."}


def topics_in_order(topics: frozenset[Topic]) -> list[str]:
    return [topic.value for topic in Topic if topic in topics]

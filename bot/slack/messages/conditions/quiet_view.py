"""Quiet hours as people meet them."""

import re
from collections.abc import Iterator

from bot.channels.conditions.quiet_condition import QUIET_EXAMPLE, QUIET_KEY, hours_of
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import QUIETED, ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    PublishedChoices,
    Submitted,
    form_field,
)
from bot.slack.messages.conditions.topic_view import topics_in_order
from bot.slack.messages.kit.text import listed

QUIET_FIELD = "quiet"

TYPED_HOURS_MAX = 200


class QuietView(ConditionView):
    condition = BY_FIELD[QUIET_KEY]
    typed_as = f"{QUIET_KEY}:"
    typed_example = QUIET_EXAMPLE

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", quiet from {_hours(chosen)}" if chosen.quiet else ""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[str]:
        if now.quiet and not self.condition.covers(now, was):
            yield f"set quiet hours ({_hours(now)}) for {listed(topics_in_order(now.topics & QUIETED))}"

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}".rstrip(":") for one in chosen.quiet]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        shown = ", ".join(chosen.quiet)
        element: Block = {"type": "plain_text_input", "max_length": TYPED_HOURS_MAX}
        element |= {"initial_value": shown} if shown else {}
        hint = (
            f"For example: {QUIET_EXAMPLE}. Results and racecards wait, and come together at the end. "
            "Abandonments come at once."
        )
        return [form_field(QUIET_FIELD, "Quiet hours", element, hint=hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if QUIET_FIELD not in form.had:
            return None
        words = [word.strip() for word in re.split("[,;\n]", form.text(QUIET_FIELD)) if word.strip()]
        return tuple(dict.fromkeys(map(_as_stored, words)))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        for word in submitted[self.field] or ():
            try:
                hours_of(word)
            except ValueError as error:
                return {QUIET_FIELD: f"{error}."}
        return {}


def _hours(chosen: ChannelFilter) -> str:
    each = listed([one.replace("-", " to ") for one in chosen.quiet])
    return f"{each} {chosen.zone[0] if chosen.zone else 'UTC'}"


def _as_stored(word: str) -> str:
    try:
        return hours_of(word)
    except ValueError:
        return word

"""The time zone of a subscription's hours as people meet the zone."""

from collections.abc import Iterator

from bot.channels.conditions.table import BY_FIELD
from bot.channels.conditions.zone_condition import ZONE, ZONE_EXAMPLE, zone_named
from bot.channels.filters import ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    PublishedChoices,
    Submitted,
    form_field,
)

ZONE_FIELD = "zone"

TYPED_ZONE_MAX = 60


class ZoneView(ConditionView):
    """Hours are said with their zone: the zone has words of its own only without hours."""

    condition = BY_FIELD[ZONE]
    typed_as = f"{ZONE}:"
    typed_example = ZONE_EXAMPLE

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", hours in {chosen.zone[0]}" if chosen.zone and not chosen.quiet else ""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[str]:
        if now.zone and was.zone != now.zone:
            yield f"set the clock of {now.zone[0]} for what comes"

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}".rstrip(":") for one in chosen.zone]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        element: Block = {"type": "plain_text_input", "max_length": TYPED_ZONE_MAX}
        element |= {"initial_value": chosen.zone[0]} if chosen.zone else {}
        hint = f"For example: {ZONE_EXAMPLE}. Without a time zone the hours are UTC."
        return [form_field(ZONE_FIELD, "Time zone of these hours", element, hint=hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if ZONE_FIELD not in form.had:
            return None
        typed = form.text(ZONE_FIELD).strip()
        return (_as_stored(typed),) if typed else ()

    def problems(self, submitted: Submitted) -> dict[str, str]:
        for word in submitted[self.field] or ():
            try:
                zone_named(word)
            except ValueError as error:
                return {ZONE_FIELD: f"{error}."}
        return {}


def _as_stored(word: str) -> str:
    try:
        return zone_named(word)
    except ValueError:
        return word

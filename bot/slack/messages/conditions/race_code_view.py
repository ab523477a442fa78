"""Codes of racing as people meet them: flat, jumps, all-weather."""

from collections.abc import Iterator

from bot.channels.conditions.race_code_condition import ALL_WEATHER, CODE, FLAT, JUMPS
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import ConditionView, FilledForm, Loss, PublishedChoices, form_field
from bot.slack.messages.kit.blocks import options
from bot.slack.messages.kit.text import listed

CODE_LABELS = {FLAT: "Flat", JUMPS: "Jumps", ALL_WEATHER: "All-weather"}


class RaceCodeView(ConditionView):
    condition = BY_FIELD["codes"]
    typed_as = f"{CODE}:"
    typed_example = JUMPS
    plural = "codes of racing"

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.named(chosen)} races only" if chosen.codes else ""

    def named(self, chosen: ChannelFilter) -> str:
        return listed([CODE_LABELS[one].lower() for one in chosen.codes])

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if not self.condition.covers(now, was):
            yield Loss(f"ended all races but {self.named(now)} from")

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}" for one in chosen.codes]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        every = options((label, code) for code, label in CODE_LABELS.items())
        initial = [one for one in every if one["value"] in chosen.codes]
        element: Block = {"type": "checkboxes", "options": every}
        element |= {"initial_options": initial} if initial else {}
        hint = "Races that don't say come too. Flat is on turf and all-weather alike."
        return [form_field(self.field, "Only this racing", element, hint=hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        chosen = [one for one in form.selected(self.field) if one in CODE_LABELS]
        return tuple(self.condition.of_file(chosen)) if self.field in form.had else None

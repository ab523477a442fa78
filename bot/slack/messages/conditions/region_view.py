"""Regions as people meet them."""

from collections.abc import Sequence

from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    PublishedChoices,
    Submitted,
    form_field,
)
from bot.slack.messages.kit.blocks import all_options, in_groups, plain_text

REGIONS_FIELD = "regions"

TYPED_REGIONS_MAX = 300


class RegionView(ConditionView):
    condition = BY_FIELD["region"]
    typed_as = "region:"

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return region_named(chosen.region)

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [region_words(chosen.region)]

    def form(self, chosen: ChannelFilter, known: PublishedChoices) -> list[Block]:
        regions = known.chosen or tuple(filter(None, [chosen.region]))
        return [_typed_regions(regions) if known.regions is None else _listed_regions(known.regions, regions)]

    def read(self, form: FilledForm) -> tuple[str, ...]:
        words = form.text(REGIONS_FIELD).replace(",", " ").split()
        codes = [ALL_REGIONS if word.lower() == "all" else word for word in words]
        return tuple(dict.fromkeys([*form.selected(REGIONS_FIELD), *codes]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {REGIONS_FIELD: "Choose at least one region, or all."}


def region_words(region: str) -> str:
    return "all" if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    return "all regions" if region == ALL_REGIONS else region


def _typed_regions(chosen: Sequence[str]) -> Block:
    element: Block = {"type": "plain_text_input", "max_length": TYPED_REGIONS_MAX}
    element |= {"initial_value": " ".join(map(region_words, chosen))} if chosen else {}
    return form_field(REGIONS_FIELD, "Regions", element, hint="Codes such as GB IRE, or the word all")


def _listed_regions(regions: Sequence[str], chosen: Sequence[str]) -> Block:
    # A region that is no longer published can still be seen and kept.
    codes = [*regions, *(one for one in chosen if one != ALL_REGIONS and one not in regions)]
    every = list(all_options([("All regions", ALL_REGIONS), *((code, code) for code in codes)]))
    initial = [one for one in every if one["value"] in chosen]
    element = {"type": "multi_static_select", "placeholder": plain_text("Choose regions"), **in_groups(every)}
    return form_field(REGIONS_FIELD, "Regions", element | ({"initial_options": initial} if initial else {}))

"""Regions, topics and mentions as people meet them. Mentions are in the form alone."""

from collections.abc import Iterator, Mapping, Sequence

from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    TOPIC_LABELS,
    TOPICS_FIELD,
    CheckboxView,
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    filled,
    form_field,
    looked_up,
    several,
)
from bot.slack.messages.kit.blocks import all_options, in_groups, options, plain_text
from bot.slack.messages.kit.text import listed

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
        return tuple(dict.fromkeys([*form.chosen(REGIONS_FIELD), *codes]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {REGIONS_FIELD: "Choose at least one region, or all."}


def region_words(region: str) -> str:
    return "all" if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    return "all regions" if region == ALL_REGIONS else region


def _typed_regions(chosen: Sequence[str]) -> Block:
    element = {"type": "plain_text_input", "max_length": TYPED_REGIONS_MAX}
    shown = filled(element, "initial_value", " ".join(map(region_words, chosen)))
    return form_field(REGIONS_FIELD, "Regions", shown, hint="Codes such as GB IRE, or the word all")


def _listed_regions(regions: Sequence[str], chosen: Sequence[str]) -> Block:
    # A region that is no longer published can still be seen and kept.
    codes = [*regions, *(one for one in chosen if one != ALL_REGIONS and one not in regions)]
    every = list(all_options([("All regions", ALL_REGIONS), *((code, code) for code in codes)]))
    initial = [one for one in every if one["value"] in chosen]
    element = {"type": "multi_static_select", "placeholder": plain_text("Choose regions"), **in_groups(every)}
    return form_field(REGIONS_FIELD, "Regions", filled(element, "initial_options", initial))


class TopicView(CheckboxView):
    condition = BY_FIELD[TOPICS_FIELD]
    label = "What to post"
    hint = "Abandonments come as soon as they are reported."
    labels = TOPIC_LABELS

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return listed(topics_in_order(chosen.topics))

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if lost := was.topics - now.topics:
            yield Loss(f"ended {listed(topics_in_order(lost))} from")

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return topics_in_order(chosen.topics)

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {TOPICS_FIELD: "Choose at least one of them."}


def topics_in_order(topics: frozenset[Topic]) -> list[str]:
    return [topic.value for topic in Topic if topic in topics]


PEOPLE_FIELD = "people"
GROUPS_FIELD = "groups"

PEOPLE_MAX = 20
GROUPS_MAX = 10


class PeopleView(ConditionView):
    """Menus of people, of user groups, and perhaps of channels. `menus`: by field, the label and the most to choose."""

    menus: Mapping[str, tuple[str, int]]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        told = self.condition.of(chosen)
        kinds = zip((_people, _groups, _channels), self.menus.items(), strict=False)
        return [made(field, label, most, told) for made, (field, (label, most)) in kinds]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if form.had.isdisjoint(self.menus):
            return None
        return tuple(dict.fromkeys(one for field in self.menus for one in form.chosen(field)))


class MentionView(PeopleView):
    condition = BY_FIELD["mentions"]
    problem_block = PEOPLE_FIELD
    menus: Mapping[str, tuple[str, int]] = {
        PEOPLE_FIELD: ("Mention when something is abandoned", PEOPLE_MAX),
        GROUPS_FIELD: ("Mention @here or user groups too", GROUPS_MAX),
    }

    def said(self, chosen: ChannelFilter) -> str:
        return f"mentioning {listed(list(chosen.mentions))}"

    def typed(self, _chosen: ChannelFilter) -> list[str]:
        return []


def _people(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    people = [one for one in told if one[0] in "UW"]
    menu = several("multi_users_select", "Choose people", people, most)
    return form_field(field, label, filled(menu, "initial_users", people), optional=True)


def _groups(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    named = options((f"@{one}", one) for one in told if one == HERE or one[0] == "S")
    return form_field(field, label, looked_up("Type here, or a group's name", named, most), optional=True)


def _channels(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    there = [one for one in told if is_channel(one)]
    kinds = {"include": ["public", "private"]}
    menu = several("multi_conversations_select", "Choose channels that I am in", there, most, filter=kinds)
    hint = "After the same time again, or at once where nobody is mentioned."
    return form_field(field, label, filled(menu, "initial_conversations", there), hint=hint, optional=True)

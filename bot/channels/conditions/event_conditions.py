"""The conditions on an event's region and topic, and whom an abandonment mentions."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.channels.conditions.condition import ALL_REGIONS, Condition, FilterFields, SaidCondition
from bot.events.event import RacingEvent, Topic
from bot.events.sentences import listed

REGIONS_FIELD, TOPICS_FIELD = "regions", "topics"
"""The fields of a typed line and of the form: both name several regions."""

EVERY_REGION = "all"
"""ALL_REGIONS in a file."""


class RegionCondition(Condition):
    """The region. A channel has one subscription a region, so regions are never merged.

    An abandonment of unknown region is taken everywhere. Other events of unknown region are taken where all regions, or
    the delivery's own words, were chosen.
    """

    field = file_key = file_noun = "region"
    is_needed = True
    typed_as = "region:"

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        region = event.race.region
        if chosen.region in {ALL_REGIONS, region} or event.race.said_region == chosen.region:
            return True
        if region is None:
            return event.reports_loss
        return chosen.fails_open_for(event) and region.casefold() == chosen.region.casefold()

    def takes_unreadable(self, chosen: FilterFields) -> bool:
        return chosen.region == ALL_REGIONS

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return wide.region in {ALL_REGIONS, narrow.region}

    def joined(self, one: FilterFields, _other: FilterFields) -> str:
        return one.region

    def without(self, before: FilterFields, _words: Collection[str]) -> str:
        return before.region

    def to_file(self, chosen: FilterFields) -> str:
        return region_words(chosen.region)

    def stored(self, typed: str) -> str:
        return ALL_REGIONS if typed == EVERY_REGION else typed

    def of_file(self, values: Sequence[Any]) -> Any:
        return values[0]

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        return region_named(chosen.region)

    def typed(self, chosen: FilterFields) -> list[str]:
        return [region_words(chosen.region)]


def region_words(region: str) -> str:
    return EVERY_REGION if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    return "all regions" if region == ALL_REGIONS else region


class TopicCondition(Condition):
    field = file_key = TOPICS_FIELD
    file_noun = "a topic"
    is_needed = True
    label = "What to post"
    hint = "Abandonments come as soon as they are reported."
    labels: Mapping[str, str] = {
        Topic.RESULTS: "Results",
        Topic.ABANDONMENTS: "Abandoned races and meetings",
        Topic.RACECARDS: "Racecards",
    }

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        """Whoever takes abandonments hears of a lost race whichever event says so."""
        return event.topic in chosen.topics or (Topic.ABANDONMENTS in chosen.topics and event.reports_loss)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return topics_in_order(chosen.topics)

    def stored(self, typed: str) -> Topic:
        if typed not in set(Topic):
            raise ValueError(f"{typed} is no topic; topics are {', '.join(Topic)}")
        return Topic(typed)

    def of_file(self, values: Sequence[Any]) -> frozenset[Topic]:
        return frozenset(values)

    def typed(self, chosen: FilterFields) -> list[str]:
        return topics_in_order(chosen.topics)

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        return listed(topics_in_order(chosen.topics))


_IN_ORDER = tuple(topic.value for topic in Topic)


def topics_in_order(topics: Collection[Topic]) -> list[str]:
    return [topic for topic in _IN_ORDER if topic in topics]


HERE = "here"
"""The active people of the channel."""

_MENTION = re.compile(r"here|[UWS][A-Z0-9]{1,30}", re.ASCII)


PEOPLE_FIELD, GROUPS_FIELD = "people", "groups"


class MentionCondition(SaidCondition):
    """Mentions take no event away. The form and the file have mentions; nobody types mentions."""

    field = file_key = "mentions"
    file_noun = "a mention"
    topic = Topic.ABANDONMENTS
    menus: Mapping[str, tuple[str, int]] = {
        PEOPLE_FIELD: ("Mention when something is abandoned", 20),
        GROUPS_FIELD: ("Mention @here or user groups too", 10),
    }

    def stored(self, typed: str) -> str:
        if not is_mention(typed):
            raise ValueError(f"{typed[:40]} is no mention: give here, or the id of a person or of a user group")
        return typed

    def typed(self, _chosen: FilterFields) -> list[str]:
        return []

    def said(self, chosen: FilterFields) -> str:
        return f"mentioning {listed(chosen.mentions)}"


def is_mention(mention: str) -> bool:
    return bool(_MENTION.fullmatch(mention))


def is_person(channel_id: str) -> bool:
    """Slack takes a user's id for direct messages with the person.

    Source: Slack's reference of posting a message, "Channels".
    """
    return channel_id.startswith(("U", "W"))


def is_direct_message(channel_id: str) -> bool:
    """True also between two people, who can type commands there too."""
    return channel_id.startswith("D")

"""The people and user groups that an abandonment mentions."""

import re
from collections.abc import Collection

from bot.channels.conditions.condition import Condition, FileData, FilterFields, word_of
from bot.events.event import RacingEvent

HERE = "here"
"""The active people of the channel."""

_MENTION = re.compile(r"here|[UWS][A-Z0-9]{1,30}", re.ASCII)


class MentionCondition(Condition):
    """Mentions take no event away. The form and the file have mentions; nobody types mentions."""

    field = file_key = "mentions"
    file_noun = "a mention"

    def takes(self, _chosen: FilterFields, _event: RacingEvent) -> bool:
        return True

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return set(wide.mentions) >= set(narrow.mentions)

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*one.mentions, *other.mentions)))

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002
        return self.joined(before, chosen)

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        return tuple(one for one in before.mentions if one not in words)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return list(chosen.mentions)

    def from_file(self, data: FileData) -> str:
        word = word_of(data)
        if not is_mention(word):
            raise ValueError(f"{word} is no mention: give here, or the id of a person or of a user group")
        return word


def is_mention(mention: str) -> bool:
    return bool(_MENTION.fullmatch(mention))


def is_person(channel_id: str) -> bool:
    """Slack takes a user's id for direct messages with the person.

    Source: Slack's reference of posting a message, "Channels".
    """
    return channel_id.startswith(("U", "W"))

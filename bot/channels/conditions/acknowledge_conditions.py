"""Whether abandonments are to be acknowledged: within how many minutes, and who is told otherwise."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bot.channels.conditions.choice_condition import ChoiceCondition
from bot.channels.conditions.condition import FilterFields
from bot.channels.conditions.mention_condition import HERE, is_mention
from bot.events.event import Topic
from bot.events.typed_times import read_length

ACK = "ack"
ACK_EXAMPLE = "10m"
ESCALATE = "escalate"
ESCALATE_EXAMPLE = "U0123ABCD"

MINUTES_MAX = 720

MINUTES_UNSAID = 10
"""Where people are named and no time."""

_CHANNEL = re.compile("[CG][A-Z0-9]{1,30}", re.ASCII)
_MARKUP = re.compile(r"<[@#!](?:subteam\^)?([A-Z0-9]+|here)(?:\|[^>]*)?>", re.ASCII)
"""As Slack sends a person, a user group or a channel."""


class AckCondition(ChoiceCondition):
    """At most a single value, as "10m"."""

    field = file_key = ACK
    ends_too = (ESCALATE,)
    file_noun = "a time to acknowledge"
    topic = Topic.ABANDONMENTS

    def stored(self, typed: str) -> str:
        word = typed.strip()
        length = read_length(f"{word}m" if word.isdecimal() else word) or timedelta(0)
        minutes, seconds = divmod(int(length.total_seconds()), 60)
        if seconds or not 1 <= minutes <= MINUTES_MAX:
            raise ValueError(
                f"{typed[:40]} is no time to acknowledge: write {ACK_EXAMPLE}, for example, and at most {MINUTES_MAX}m"
            )
        return f"{minutes}m"

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not narrow.ack or wide.ack == narrow.ack

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return min((values for values in (one.ack, other.ack) if values), key=_minutes, default=())

    def of_file(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The last of several."""
        return tuple(values[-1:])


class EscalateCondition(ChoiceCondition):
    """Ids of people, user groups and channels, or HERE. Newly typed ids are added to present ids."""

    field = file_key = ESCALATE
    file_noun = "somebody to tell"
    topic = Topic.ABANDONMENTS

    def stored(self, typed: str) -> str:
        word = typed.strip()
        in_markup = _MARKUP.fullmatch(word)
        # Small letters are a name: as an id, "steve" would be a user group.
        told = in_markup[1] if in_markup else HERE if word.removeprefix("@").lower() == HERE else word
        if not (is_mention(told) or is_channel(told)):
            raise ValueError(
                f"{word[:40]} is no id, and Slack looks up no name for me: Edit in /racing list offers people, groups "
                f"and channels. An id can be typed, as {ESCALATE}:{ESCALATE_EXAMPLE}"
            )
        return told

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return set(wide.escalate) >= set(narrow.escalate)

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*one.escalate, *other.escalate)))

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002
        return self.joined(before, chosen)


def is_channel(told: str) -> bool:
    return bool(_CHANNEL.fullmatch(told))


def minutes_of(chosen: FilterFields) -> int | None:
    """None where nobody is asked."""
    return _minutes(chosen.ack) if chosen.ack or chosen.escalate else None


def _minutes(stored: Sequence[str]) -> int:
    minutes = stored[0].removesuffix("m") if stored else ""
    return int(minutes) if minutes.isdecimal() else MINUTES_UNSAID

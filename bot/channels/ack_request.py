"""The abandonments that a channel wants acknowledged, and the people and channels told otherwise."""

from collections.abc import Iterable

from bot.channels.conditions.choices import is_channel, minutes_of
from bot.channels.filters import ChannelFilter
from bot.events.event import RacingEvent
from bot.events.races import Value


class AckRequest(Value):
    """`people`: people and user groups, mentioned after `minutes`. `channels`: told after `minutes` more."""

    minutes: int
    people: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def asks(chosen: ChannelFilter) -> bool:
    return minutes_of(chosen) is not None


def request_of(filters: Iterable[ChannelFilter], event: RacingEvent) -> AckRequest | None:
    """The fewest minutes, and everybody named, of all filters that take the abandonment."""
    taking = [chosen for chosen in filters if chosen.matches(event)]
    minutes = [found for chosen in taking if (found := minutes_of(chosen)) is not None]
    if not (event.reports_loss and minutes):
        return None
    told = dict.fromkeys(one for chosen in taking for one in chosen.escalate)
    return AckRequest(
        minutes=min(minutes),
        people=tuple(one for one in told if not is_channel(one)),
        channels=tuple(one for one in told if is_channel(one)),
    )

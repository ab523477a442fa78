"""Values for every event, kept in memory until the generation moves."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from sqlmodel import Session

from bot.channels import mutes, subscriptions, watches
from bot.channels.filters import ALL_REGIONS, ChannelFilter, asks
from bot.channels.watches import Watches
from bot.db.tables import MutedMeetingRow
from bot.events.event import RacingEvent
from bot.racedata.lexicon import Lexicon, kept


@dataclass
class FanoutKnowledge:
    """Values of one generation. `queues`: channels with a queue, extended by fan-out."""

    listening: Sequence[tuple[str, ChannelFilter]]
    lists: Lexicon
    _mutes: Sequence[MutedMeetingRow]
    watches: Watches
    queues: set[str] = field(default_factory=set)

    def mutes(self, now: datetime) -> Sequence[MutedMeetingRow]:
        return [row for row in self._mutes if row.muted_at > now - mutes.KEPT_FOR]

    @cached_property
    def filters(self) -> Mapping[ChannelFilter, Sequence[str]]:
        """Each filter's channels: many channels choose alike."""
        found: dict[ChannelFilter, list[str]] = {}
        for channel_id, chosen in self.listening:
            found.setdefault(chosen, []).append(channel_id)
        return found

    @cached_property
    def _by_region(self) -> Mapping[str, Sequence[tuple[ChannelFilter, Sequence[str]]]]:
        found = defaultdict[str, list[tuple[ChannelFilter, Sequence[str]]]](list)
        for chosen, channels in self.filters.items():
            found[chosen.region.casefold()].append((chosen, channels))
        return found

    def taking(self, event: RacingEvent) -> set[str]:
        """The channels with a filter that takes the event. A filter of another region is not asked."""
        region, said = event.race.region, event.race.said_region
        regions = {ALL_REGIONS, region.casefold(), (said or region).casefold()} if region else self._by_region
        asked = (one for each in regions for one in self._by_region.get(each, ()))
        return {channel_id for chosen, channels in asked if chosen.matches(event) for channel_id in channels}

    @cached_property
    def listeners(self) -> frozenset[str]:
        return self.watches.channels.union(channel_id for channel_id, _ in self.listening)

    @cached_property
    def with_hours(self) -> dict[str, list[ChannelFilter]]:
        """All filters of channels with quiet hours or digests."""
        return self._of_channels_with(lambda chosen: chosen.has_hours)

    @cached_property
    def with_live_messages(self) -> dict[str, list[ChannelFilter]]:
        """All filters of channels with live messages."""
        return self._of_channels_with(lambda chosen: bool(chosen.show))

    @cached_property
    def with_asking(self) -> dict[str, list[ChannelFilter]]:
        """All filters of channels that want abandonments acknowledged."""
        return self._of_channels_with(asks)

    @cached_property
    def mentioning(self) -> dict[str, list[ChannelFilter]]:
        return self._of_channels_with(lambda chosen: bool(chosen.mentions))

    def _of_channels_with(self, has: Callable[[ChannelFilter], bool]) -> dict[str, list[ChannelFilter]]:
        found = {channel_id: list[ChannelFilter]() for channel_id, chosen in self.listening if has(chosen)}
        for channel_id, chosen in self.listening:
            if channel_id in found:
                found[channel_id].append(chosen)
        return found


def read(session: Session, now: datetime) -> FanoutKnowledge:
    muted = mutes.active(session, now)
    for row in muted:
        # A rollback would make the session forget the row's values.
        session.expunge(row)
    return FanoutKnowledge(subscriptions.listening(session), kept(session), muted, watches.read(session))


class KnownOfGeneration:
    """For one thread at a time."""

    def __init__(self) -> None:
        self._known: FanoutKnowledge | None = None
        self._mark: str | None = None

    def at(self, session: Session, mark: str | None, now: datetime) -> FanoutKnowledge:
        """`mark` is the generation read in this transaction."""
        if self._known is None or mark != self._mark:
            self._known, self._mark = read(session, now), mark
        return self._known

    def has_queues(self, channel_ids: frozenset[str]) -> None:
        if self._known is not None:
            self._known.queues |= channel_ids

    def forget(self) -> None:
        self._known = None

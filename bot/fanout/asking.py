"""Which new messages are to be acknowledged, and which earlier messages ask no longer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session

from bot.channels.ack_request import AckRequest, request_of
from bot.channels.filters import ChannelFilter
from bot.events.event import RacingEvent
from bot.outbox import acknowledgements
from bot.outbox.revisions import Bump, Bumps


@dataclass(frozen=True)
class Asking:
    """`filters`: all filters of the channels that want abandonments acknowledged. False without any."""

    session: Session
    filters: Mapping[str, Sequence[ChannelFilter]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.filters)

    def of(self, event: RacingEvent, channel_id: str) -> AckRequest | None:
        filters = self.filters.get(channel_id)
        return request_of(filters, event) if filters and event.reports_loss else None

    def end(self, messages: Collection[int]) -> None:
        """Newer messages of the channels ask instead."""
        if messages:
            acknowledgements.end(self.session, messages)

    def follow(self, bumps: Bumps, messages: Mapping[int, Bump]) -> None:
        """The escalations of messages that get a revision get a revision too, whatever the channel wants now."""
        if messages:
            bumps.add(acknowledgements.follow(self.session, messages))

"""Which new messages are to be acknowledged, and which earlier messages ask no longer."""

from collections.abc import Iterable, Mapping, Sequence
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

    def of(self, event: RacingEvent, channels: Iterable[str]) -> Mapping[str, AckRequest]:
        if not (self.filters and event.is_abandonment):
            return {}
        found = {one: request_of(self.filters[one], event) for one in channels if one in self.filters}
        return {channel: asked for channel, asked in found.items() if asked is not None}

    def replace(self, messages: Iterable[tuple[str, int]]) -> None:
        """A newer message of the channel asks instead. `messages`: channel and message."""
        if replaced := [post_id for channel, post_id in messages if channel in self.filters]:
            acknowledgements.end(self.session, replaced)

    def follow(self, bumps: Bumps, messages: Mapping[int, Bump]) -> None:
        """The escalations of messages that get a revision get a revision too, whatever the channel wants now."""
        if messages:
            bumps.add(acknowledgements.follow(self.session, messages))

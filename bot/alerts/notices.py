"""What admins are told, each thing once, through the same durable posting as everything else."""

from collections.abc import Callable

from sqlmodel import Session

from bot.domain.clock import Clock
from bot.domain.events import RacingEvent
from bot.domain.message import Message
from bot.logs import get_logger
from bot.storage import posts
from bot.storage.lanes import Claim

log = get_logger(__name__)

RenderNotice = Callable[[str], Message]
"""Turns plain sentences into a message, escaped."""


class Notices:
    """Tells admins. Where there is no admin channel, the log is all there is."""

    def __init__(self, admin_channel: str | None, render: RenderNotice, *, clock: Clock) -> None:
        self._admin_channel = admin_channel
        self._render = render
        self._clock = clock

    def tell(self, session: Session, key: str, words: str) -> bool:
        """Whether it was news. `key` names what is told: the same key is told once, for ever."""
        news = posts.add_notice(session, key, self._admin_channel, self._render(words), self._clock())
        if news:
            log.warning("admins_told", key=key, words=words, channel_id=self._admin_channel)
        return news

    def unreadable(self, session: Session, event: RacingEvent, reference: str) -> None:
        """A signed delivery could not be read: it is kept, and was posted where all regions are taken."""
        # An unknown event may come in thousands: once for each name will do. A broken payload is told each time.
        key = f"unknown-event:{event.name}" if event.name else f"unreadable:{event.key}"
        self.tell(
            session,
            key,
            f"A signed delivery could not be read: {event.unreadable_because or 'unknown form'}. It is kept whole as "
            f"{reference}, and a plain line was posted in the channels that take all regions.",
        )

    def lane_closed(self, session: Session, channel_id: str, reason: str, creators: list[str]) -> None:
        """A channel can't be posted to any more."""
        day = self._clock().date().isoformat()
        made_by = f" Subscribed by {', '.join(creators)}." if creators else ""
        self.tell(
            session,
            f"lane:{channel_id}:{reason}:{day}",
            f"Slack no longer lets me post in channel {channel_id} ({reason}). Its subscriptions are suspended, "
            f"nothing is deleted, and what waits is kept. Unarchive it or invite me back, and it goes on.{made_by}",
        )

    def parked(self, session: Session, claim: Claim, error: str) -> None:
        """A post was given up. Of a notice that is only logged: a notice about it would fare no better."""
        if claim.event is None:
            log.error("notice_not_posted", post=claim.post.dedupe_key, reason=error)
            return
        self.tell(
            session,
            f"parked:{claim.post.dedupe_key}",
            f"A message for channel {claim.channel_id} was not posted: {error}. It is kept, and not tried again by "
            f"itself ({claim.post.dedupe_key}).",
        )

"""What a post says: the message of an event's version, or the notice that was stored with it."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.events import VersionRemarks
from bot.domain.message import Message
from bot.logs import get_logger
from bot.slack.identity import Identity
from bot.slack.messages import Corrected, MessageContext, render
from bot.slack.messages.plain import sentence
from bot.storage import events, inbox
from bot.storage.lanes import Claim
from bot.storage.shown import Shown

log = get_logger(__name__)


@dataclass(frozen=True)
class PostRenderer:
    """Makes messages at the moment they are sent, so that they can say how late they are."""

    identity: Identity
    late_after_s: float

    def __call__(self, claim: Claim, now: datetime) -> Message:
        """The message of a claim. Never raises: a message that can't be built is said in words."""
        try:
            return self._render(claim, now)
        except Exception:
            # A bug in a builder must not cost anybody the news that there was an event.
            log.exception("message_not_built", post=claim.post.dedupe_key)
            about = claim.event.event_key if claim.event else claim.post.dedupe_key
            kind = "ABANDONED: " if claim.event and "abandoned" in (claim.event.kind or "") else ""
            return sentence(f"{kind}an event came that I could not show: {about}. The log of the bot has more.")

    def _render(self, claim: Claim, now: datetime) -> Message:
        shown = claim.shown
        if shown is None:
            return Message.model_validate_json(claim.post.content or "")
        event, latest = events.read(shown.newest)
        _, remarks = events.read(shown.own)
        post = shown.post
        context = MessageContext(
            received_at=post.received_at,
            # How late it came does not change when it is edited.
            now=max(post.sent_at or now, post.received_at),
            late_after_s=self.late_after_s,
            changes=remarks.changes,
            corrected=_corrected(shown, latest),
            order_unknown=remarks.order_unknown or latest.order_unknown,
            contradicts=remarks.contradicts,
            previous_link=self._link(claim, claim.previous_ts),
            in_meeting=shown.in_meeting,
            meeting_link=self._link(claim, shown.meeting_ts),
            lost=tuple(events.read(version)[0] for version in shown.lost),
            settled=shown.settled,
            data_as_of=event.data_as_of,
            may_be_repeat=post.may_be_repeat,
            reference=inbox.reference(shown.own.inbox_id),
            mentions=shown.mentions,
        )
        return render(event, context)

    def _link(self, claim: Claim, message_ts: str | None) -> str | None:
        return self.identity.permalink(claim.channel_id, message_ts) if message_ts else None


def _corrected(shown: Shown, latest: VersionRemarks) -> Corrected | None:
    """What the newest version changed in a message that was made for an earlier one."""
    if shown.newest.version == shown.own.version or not (latest.changes or latest.more_races):
        return None
    return Corrected(at=shown.newest.received_at, changes=latest.changes, more_races=latest.more_races)

"""What a post says: the message of an event's version, or the notice that was stored with it."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.message import Message
from bot.logs import get_logger
from bot.slack.identity import Identity
from bot.slack.messages import MessageContext, render
from bot.slack.messages.plain import sentence
from bot.storage import events, inbox
from bot.storage.lanes import Claim

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
        if claim.event is None:
            return Message.model_validate_json(claim.post.content or "")
        event, remarks = events.read(claim.event)
        link = self.identity.permalink(claim.channel_id, claim.previous_ts) if claim.previous_ts else None
        context = MessageContext(
            received_at=claim.post.received_at,
            now=max(now, claim.post.received_at),
            late_after_s=self.late_after_s,
            changes=remarks.changes,
            order_unknown=remarks.order_unknown,
            contradicts=remarks.contradicts,
            previous_link=link,
            data_as_of=event.data_as_of,
            may_be_repeat=claim.post.may_be_repeat,
            reference=inbox.reference(claim.event.inbox_id),
        )
        return render(event, context)

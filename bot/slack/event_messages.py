"""The message of a post: built from an event's versions, or the notice stored with the post."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial

from bot.events import event_store
from bot.logs import get_logger
from bot.outbox.acknowledgements import Escalation
from bot.outbox.channel_queues import Claim
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Message
from bot.outbox.message_view import MessageView
from bot.slack.messages import Corrected, MessageContext, render
from bot.slack.messages.alerts.alert_context import corrected
from bot.slack.messages.alerts.alert_notes import escalation
from bot.slack.messages.answers.outcome_words import live_meeting
from bot.slack.messages.kit.layout import sentence
from bot.slack.workspace import BotIdentity

log = get_logger(__name__)

MESSAGES_CACHED = 64
"""An event goes to many channels within a second."""


class PostRenderer:
    """Builds a message at the moment of sending, because a message tells its lateness."""

    def __init__(self, identity: BotIdentity, late_after_s: float) -> None:
        self.identity = identity
        self._message = lru_cache(maxsize=MESSAGES_CACHED)(partial(_message, late_after_s=late_after_s))

    def __call__(self, claim: Claim, now: datetime) -> Message:
        """Never raises: a sentence replaces a failed message."""
        try:
            return self._render(claim, now)
        except Exception:
            log.exception("message_not_built", post=claim.post.idempotency_key)
            about = claim.event.event_key if claim.event else claim.post.idempotency_key
            kind = "ABANDONED: " if claim.event and "abandoned" in (claim.event.kind or "") else ""
            return sentence(f"{kind}an event came that I could not show: {about}. The log of the bot has more.")

    def _render(self, claim: Claim, now: datetime) -> Message:
        match claim.shown:
            case LiveMeeting() as live:
                # By the clock of `live_meetings.read`, which notes when the words will be out of date.
                return live_meeting(live, claim.claimed_at)
            case Escalation() as escalated:
                return self._escalation(escalated, now)
            case MessageView() as shown:
                return self._message(self._telling(claim.channel_id, shown, now))
        return Message.from_json(claim.post.content or "")

    def _telling(self, channel_id: str, shown: MessageView, now: datetime) -> "_Telling":
        # An edit keeps the lateness of the first post.
        made_at = max(shown.post.sent_at or now, shown.post.received_at).replace(microsecond=0)
        superseded = shown.beside.superseded
        later = superseded.message_ts if superseded else None
        links = tuple(self._link(channel_id, ts) for ts in (shown.previous_ts, shown.meeting_ts, later))
        return _Telling(shown.own.id, shown.same, made_at, links, shown)

    def _escalation(self, told: Escalation, now: datetime) -> Message:
        """The abandonment by present values, without the mentions, watches and button of the alert."""
        alert, channel_id = told.alert, told.alert.post.channel_id
        beside = alert.beside.model_copy(update={"mentions": (), "watched": (), "asked": None})
        message = self._message(self._telling(channel_id, replace(alert, beside=beside), now))
        return escalation(told, message.text, self._link(channel_id, alert.post.message_ts))

    def _link(self, channel_id: str, message_ts: str | None) -> str | None:
        return self.identity.permalink(channel_id, message_ts) if message_ts else None


@dataclass(frozen=True)
class _Telling:
    """Equal values give one cached message. `event_id` is hashed in place of `same`, because hashing `same` is slow."""

    event_id: int | None
    same: tuple[object, ...] = field(hash=False)
    made_at: datetime
    links: tuple[str | None, ...]
    """Links to the earlier message, the abandoned meeting's message, and the later message."""
    shown: MessageView = field(compare=False)


def _message(telling: _Telling, late_after_s: float) -> Message:
    shown, post = telling.shown, telling.shown.post
    previous_link, meeting_link, later_link = telling.links
    event, remarks = shown.event, event_store.remarks_of(shown.own)
    later = [(row, event_store.remarks_of(row)) for row in shown.later]
    again = [
        Corrected(at=row.received_at, changes=of.changes, order_unknown=True)
        for row, of in later
        if of.again is not None
    ]
    context = MessageContext(
        received_at=post.received_at,
        now=max(telling.made_at, post.received_at),
        late_after_s=late_after_s,
        due_at=post.due_at,
        corrected=corrected([shown.own, *(row for row, of in later if of.again is None)]),
        repeated=again[-1] if again else None,
        previous_link=previous_link,
        later_link=later_link,
        meeting_link=meeting_link,
        may_be_repeat=post.may_be_repeat,
        **(vars(remarks) | vars(shown.beside)),
    )
    return render(event, context)

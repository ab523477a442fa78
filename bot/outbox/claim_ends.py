"""What is written down of a claim: the ways in which it can end. Whoever has lost the lane's lease changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.db.tables import Reason
from bot.errors import SlackError
from bot.logs import get_logger
from bot.outbox import claim_outcomes, method_holds
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_outcomes import Taken
from bot.outbox.hold import close_channel, end_closing
from bot.outbox.notices import Notices, is_person

log = get_logger(__name__)

CREDENTIALS_HOLD_S = 60.0
"""With dead credentials nothing is sent for so long; then what waits tries again."""

DOUBTFUL_WAIT = timedelta(seconds=1)
"""A lane with a doubtful post waits at least so long, even where the call's deadline has passed."""


@dataclass(frozen=True)
class Outcome:
    """What is to be written down of a claim: `record` names the lane's lease and does nothing once that is lost.

    `message_ts`: where Slack has the message. `taken`: what is to be written down, where Slack took the message and
    nothing else is to be written down with it.
    """

    name: str
    record: Callable[[Session, datetime], bool]
    taken: Taken | None = None
    message_ts: str | None = None


@dataclass(frozen=True)
class Outcomes:
    """Makes outcomes. `channel_s`: seconds between two posts in a channel."""

    notices: Notices
    channel_s: float

    def sent(self, claim: Claim, message_ts: str, name: str = "sent") -> Outcome:
        """Slack has it. The limit of edits is the method's, not the channel's."""
        pause = timedelta(0) if claim.edited else self._pause

        def record(session: Session, now: datetime) -> bool:
            if not claim_outcomes.record_sent(session, claim, message_ts, now, free_at=now + pause):
                return False
            # One that was looked for may have been taken before the channel was closed.
            if not (claim.edited or claim.doubtful):
                self.notices.taken(claim.channel_id)
            if claim.trial_since and not (claim.edited or claim.doubtful):
                end_closing(session, self.notices, claim.channel_id, claim.trial_since, now)
            return True

        others = claim.shown is not None and any(number != claim.post.id for number in claim.shown.edits)
        is_plain = name == "sent" and not (claim.doubtful or claim.trial_since or others)
        return Outcome(name, record, Taken(claim, message_ts, pause) if is_plain else None, message_ts)

    def record_taken(self, session: Session, taken: Sequence[Taken], now: datetime) -> dict[str, bool]:
        """The channels whose lease was still ours, each with whether more waits there."""
        ours = claim_outcomes.record_taken(session, taken, now)
        for one in taken:
            if one.claim.channel_id in ours and not one.claim.edited:
                self.notices.taken(one.claim.channel_id)
        return ours

    def retry(self, claim: Claim, reason: str, *, after_s: float, plain: bool | None = None) -> Outcome:
        """Certainly not posted: once more after so long."""
        wait = timedelta(seconds=after_s)
        return Outcome(
            "retry",
            lambda session, now: claim_outcomes.record_not_sent(
                session, claim, free_at=now + wait, detail=reason, plain=plain
            ),
        )

    def not_edited(self, claim: Claim, reason: str) -> Outcome:
        """The edit becomes a message of its own."""
        return Outcome(
            "not_edited",
            lambda session, now: claim_outcomes.record_not_edited(session, claim, free_at=now, detail=reason),
        )

    def doubtful(self, claim: Claim, reason: str) -> Outcome:
        """Nobody knows whether it was posted: it is looked for."""

        def record(session: Session, now: datetime) -> bool:
            free_at = max(claim.post.deadline_at or now, now + DOUBTFUL_WAIT)
            return claim_outcomes.record_doubtful(
                session, claim, free_at=free_at, detail=reason, looks=0, failed_looks=0
            )

        return Outcome("doubtful", record)

    def held(self, claim: Claim, error: SlackError, wait_s: float) -> Outcome:
        """Nothing is sent by the method for so long; the lane goes on with what needs another."""

        def record(session: Session, now: datetime) -> bool:
            method_holds.hold_method(session, claim.method, now + timedelta(seconds=wait_s), error.code)
            return claim_outcomes.record_not_sent(session, claim, free_at=now, detail=str(error))

        return Outcome("wait", record)

    def credentials_dead(self, claim: Claim, reason: str) -> Outcome:
        """Nothing is sent at all for a while."""

        def record(session: Session, now: datetime) -> bool:
            until = now + timedelta(seconds=CREDENTIALS_HOLD_S)
            method_holds.hold_method(session, method_holds.EVERY_METHOD, until, reason)
            log.error("slack_credentials_dead", reason=reason)
            return claim_outcomes.record_not_sent(session, claim, free_at=now, detail=reason)

        return Outcome("credentials_dead", record)

    def channel_closed(self, claim: Claim, code: str) -> Outcome:
        """The lane is held, and its subscriptions suspended."""

        def record(session: Session, now: datetime) -> bool:
            if is_person(claim.channel_id):
                # Nobody can reopen a person's direct messages for us, and what they would have said admins know.
                return self._give_up(session, claim, Reason.NO_ENTRY, code, code, now)
            if not claim_outcomes.record_not_sent(session, claim, free_at=now, detail=code):
                return False
            close_channel(session, self.notices, claim.channel_id, code, now)
            return True

        return Outcome("channel_closed", record)

    def given_up(self, claim: Claim, reason: Reason, detail: str, told: str | None = None) -> Outcome:
        """Given up, and admins are told why: `told`, or the detail itself."""
        return Outcome(
            "parked", lambda session, now: self._give_up(session, claim, reason, detail, told or detail, now)
        )

    def _give_up(  # noqa: PLR0917  what is written down, and what is told
        self, session: Session, claim: Claim, reason: Reason, detail: str, told: str, now: datetime
    ) -> bool:
        free_at = now + self._pause
        if not claim_outcomes.record_given_up(session, claim, now, free_at=free_at, reason=reason, detail=detail):
            return False
        self.notices.parked(session, claim, told, is_closed=reason is Reason.NO_ENTRY)
        return True

    @property
    def _pause(self) -> timedelta:
        return timedelta(seconds=self.channel_s)

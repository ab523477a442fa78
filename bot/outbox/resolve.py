"""Settling a doubtful post: it was sent, and nobody heard what became of it. Look before repeating.

There is no idempotency key on chat.postMessage. Every post carries its own key in the message's metadata, and the
channel's history is read twice for it after the call's deadline has passed; only a post that is not there is repeated.
The history leaves out replies in threads, and the bot posts none, so that none has to be looked for.

A claim reads one page, because each page is a call of conversations.history, whose number is limited; the next claim
goes on from there.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.db.database_clock import FAR
from bot.db.tables import Reason
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackError,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.logs import get_logger
from bot.outbox import channel_queues, claim_outcomes, method_holds
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_ends import Outcome, Outcomes
from bot.outbox.notices import Notices
from bot.outbox.poison_messages import Doubt
from bot.outbox.poster import LookedAt, Sender
from bot.settings import DoubtfulPosts

log = get_logger(__name__)

LOOKS = 2
LOOK_AGAIN = timedelta(seconds=5)
"""History may lag a post by seconds."""

FAILED_LOOK_WAITS_S = (5, 10, 20, 40, 60)
"""Waits after looks that failed, by how many did."""

LOOK_BACK = timedelta(minutes=5)
"""How far before the call the history is read, and how far after its deadline, by Slack's clock as far as is known."""

LOOK_BACK_BLINDLY = timedelta(days=1)
"""The same where Slack has taken no post of the channel's by which to tell how far the clocks are apart."""

LOOK_S = 7.0
"""A page is read by then, which is within the lane's lease."""

PAGES = 100
"""Far enough back for ten minutes of the busiest channel, even where Slack gives 15 messages a page."""

GIVE_UP_LOOKING_AFTER = {DoubtfulPosts.REPEAT: 6, DoubtfulPosts.HOLD: 64}
"""Looks that failed, after which a post is treated as one that can't be looked for.

To hold it is to give it up, so that takes an hour of failed looks: an outage of Slack's is mostly over by then.
"""


@dataclass(frozen=True)
class _Place:
    """How far a look has come: of which call and which time it is, and where the history goes on."""

    look: tuple[int | None, datetime | None, int]
    cursor: str | None = None
    pages: int = 0


@dataclass(frozen=True)
class SettleDoubtful:
    """Decides what became of a doubtful post, by the channel's history where that can be read."""

    sender: Sender
    notices: Notices
    settle_s: float
    doubtful_posts: DoubtfulPosts
    channel_s: float
    _places: dict[str, _Place] = field(default_factory=dict)
    """Looks that are not at their end, one a channel. Another process begins such a look again."""

    @property
    def _outcomes(self) -> Outcomes:
        return Outcomes(self.notices, self.channel_s)

    def calls_slack(self, claim: Claim) -> bool:
        """Whether the claim reads history: its deadline has passed long enough ago."""
        return not self._wait(claim)

    async def __call__(self, claim: Claim, doubt: Doubt) -> Outcome:
        """What to write down of it. `doubt`: what was seen of it in calls before."""
        post = claim.post
        if wait := self._wait(claim):
            return self._look_again(claim, "waiting for its deadline", wait, post.looks)
        place = self._place(claim)
        try:
            page = await self._read(claim, place)
        except SlackWait as error:
            self._places[claim.channel_id] = place
            return self._hold_looks(claim, error)
        except SlackError as error:
            return self._cannot_look(claim, error, doubt)
        if page.message_ts is not None:
            return self._found(claim.saying(page.edits), page.message_ts)
        if page.next_cursor is not None:
            self._places[claim.channel_id] = _Place(place.look, page.next_cursor, place.pages + 1)
            return self._look_again(claim, "reading the channel's history", timedelta(0), post.looks)
        if post.looks + 1 < LOOKS:
            return self._look_again(claim, "not in the channel's history yet", LOOK_AGAIN, post.looks + 1)
        log.info("doubtful_post_not_there", post=post.idempotency_key)
        return self._repeat(claim, "not in the channel's history", doubt, marked=False)

    def _wait(self, claim: Claim) -> timedelta:
        """How long the look has to wait; not at all for a moment FAR ahead, which is of a clock that was set back."""
        assert claim.post.deadline_at
        wait = claim.post.deadline_at + timedelta(seconds=self.settle_s) - claim.claimed_at
        return wait if timedelta(0) < wait <= FAR else timedelta(0)

    def _place(self, claim: Claim) -> _Place:
        """Where this look goes on: at its beginning, unless it is the one that was interrupted in this channel."""
        look = (claim.post.id, claim.post.sending_at, claim.post.looks)
        place = self._places.pop(claim.channel_id, None)
        return place if place and place.look == look else _Place(look)

    async def _read(self, claim: Claim, place: _Place) -> LookedAt:
        post = claim.post
        since, until = _window(claim)
        if place.pages >= PAGES:
            raise SlackDoubtful(channel_queues.LOOK_METHOD, f"more than {PAGES} pages")
        try:
            async with asyncio.timeout(LOOK_S):
                return await self.sender.find(
                    claim.channel_id,
                    post.idempotency_key,
                    since=since,
                    until=until,
                    cursor=place.cursor,
                )
        except TimeoutError:
            raise SlackUnreached(channel_queues.LOOK_METHOD, f"not read within {LOOK_S:g} s") from None
        except SlackError:
            raise
        except Exception as error:
            # A bug of ours, or a history that is none: a look that failed, as any other.
            log.exception("history_not_read", post=post.idempotency_key)
            raise SlackDoubtful(channel_queues.LOOK_METHOD, type(error).__name__) from error

    def _found(self, claim: Claim, message_ts: str) -> Outcome:
        log.info("doubtful_post_found", post=claim.post.idempotency_key, message_ts=message_ts)
        return self._outcomes.sent(claim, message_ts, "found")

    def _hold_looks(self, claim: Claim, error: SlackWait) -> Outcome:
        """Slack asks for a wait: nobody looks before it is over, and posts go on."""

        def record(session: Session, now: datetime) -> bool:
            until = now + timedelta(seconds=error.retry_after_s)
            method_holds.hold_method(session, error.method, until, error.code)
            return self._doubtful(session, claim, until, str(error), claim.post.looks)

        return Outcome("wait", record)

    def _cannot_look(self, claim: Claim, error: SlackError, doubt: Doubt) -> Outcome:
        log.info("cannot_look_for_post", post=claim.post.idempotency_key, reason=str(error))
        match error:
            case SlackCredentialsDead():
                return self._look_again(claim, str(error), timedelta(minutes=1), claim.post.looks)
            case SlackScopeMissing() | SlackChannelClosed():
                return self._unsettled(claim, str(error), doubt)
            case _ if claim.post.failed_looks + 1 >= GIVE_UP_LOOKING_AFTER[self.doubtful_posts]:
                return self._unsettled(claim, str(error), doubt)
            case _:
                wait_s = FAILED_LOOK_WAITS_S[min(claim.post.failed_looks, len(FAILED_LOOK_WAITS_S) - 1)]
                return self._look_again(claim, str(error), timedelta(seconds=wait_s), claim.post.looks, failed=True)

    def _unsettled(self, claim: Claim, reason: str, doubt: Doubt) -> Outcome:
        """What the operator chose for a post that can't be looked for."""
        if self.doubtful_posts is DoubtfulPosts.REPEAT:
            return self._repeat(claim, reason, doubt, marked=True)
        return self._outcomes.given_up(
            claim, Reason.UNRESOLVED, reason, f"it may have been posted, and I can't look ({reason})"
        )

    def _look_again(self, claim: Claim, reason: str, after: timedelta, looks: int, *, failed: bool = False) -> Outcome:
        return Outcome(
            "doubtful",
            lambda session, now: self._doubtful(session, claim, now + after, reason, looks, failed=failed),
        )

    def _doubtful(
        self, session: Session, claim: Claim, free_at: datetime, reason: str, looks: int, *, failed: bool = False
    ) -> bool:
        failed_looks = claim.post.failed_looks + failed
        return claim_outcomes.record_doubtful(
            session, claim, free_at=free_at, detail=reason, looks=looks, failed_looks=failed_looks
        )

    def _repeat(self, claim: Claim, reason: str, doubt: Doubt, *, marked: bool) -> Outcome:
        if doubt.is_in_vain:
            why = f"{doubt.times} calls for it ended in doubt while Slack took other posts"
            return self._outcomes.given_up(
                claim, Reason.IN_VAIN, reason, f"{why}; it may have been posted" if marked else why
            )
        return Outcome("repeat", lambda session, now: self._queue(session, claim, reason, doubt, now, marked=marked))

    def _queue(self, session: Session, claim: Claim, reason: str, doubt: Doubt, now: datetime, *, marked: bool) -> bool:
        may_be_repeat = marked or claim.post.may_be_repeat
        plain = doubt.wants_plain or claim.post.plain
        if not claim_outcomes.record_repeated(
            session, claim, free_at=now, detail=reason, plain=plain, may_be_repeat=may_be_repeat
        ):
            return False
        if doubt.is_stuck:
            self.notices.stuck(session, claim, now)
        return True


def _window(claim: Claim) -> tuple[datetime, datetime]:
    """From when until when the history is read, by Slack's clock."""
    post, ahead = claim.post, claim.slack_ahead
    assert post.sending_at
    assert post.deadline_at
    margin = LOOK_BACK_BLINDLY if ahead is None else LOOK_BACK
    ahead = ahead or timedelta(0)
    return post.sending_at + ahead - margin, post.deadline_at + ahead + margin

"""Settling a doubtful post: it was sent, and nobody heard what became of it. Look before repeating.

There is no idempotency key on chat.postMessage. Every post carries its own key in the message's metadata, and the
channel's history is read twice for it after the call's deadline has passed; only a post that is not there is repeated.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.alerts.notices import Notices
from bot.alerts.poster import Outcome, Sender
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackError,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.logs import get_logger
from bot.settings import DoubtfulPosts
from bot.storage import lanes
from bot.storage.lanes import Claim

log = get_logger(__name__)

LOOKS = 2
LOOK_AGAIN = timedelta(seconds=5)
"""History may lag a post by seconds."""

LOOK_BACK = timedelta(minutes=5)
"""How far before the call the history is read, and how far after its deadline: clocks differ."""

LOOK_S = 7.0
"""A look is over by then, which is within the lane's lease."""

GIVE_UP_LOOKING_AFTER = 6
"""Looks that failed, after which a post is treated as one that can't be looked for."""


@dataclass(frozen=True)
class SettleDoubtful:
    """Decides what became of a doubtful post, by the channel's history where that can be read."""

    sender: Sender
    notices: Notices
    settle_s: float
    doubtful_posts: DoubtfulPosts
    channel_s: float

    async def __call__(self, claim: Claim) -> Outcome:
        """What to write down of it."""
        post = claim.post
        assert post.sending_at
        assert post.deadline_at
        look_at = post.deadline_at + timedelta(seconds=self.settle_s)
        if claim.claimed_at < look_at:
            return self._look_again(claim, "waiting for its deadline", look_at - claim.claimed_at, post.looks)
        try:
            async with asyncio.timeout(LOOK_S):
                found = await self.sender.find(
                    claim.channel_id,
                    post.dedupe_key,
                    since=post.sending_at - LOOK_BACK,
                    until=post.deadline_at + LOOK_BACK,
                )
        except TimeoutError:
            return self._cannot_look(claim, SlackUnreached("conversations.history", f"not read within {LOOK_S:g} s"))
        except SlackError as error:
            return self._cannot_look(claim, error)
        if found is not None:
            log.info("doubtful_post_found", post=post.dedupe_key, message_ts=found)
            pause = timedelta(seconds=self.channel_s)
            return Outcome(
                "found", lambda session, now: lanes.record_sent(session, claim, found, now, free_at=now + pause)
            )
        if post.looks + 1 < LOOKS:
            return self._look_again(claim, "not in the channel's history yet", LOOK_AGAIN, post.looks + 1)
        log.info("doubtful_post_not_there", post=post.dedupe_key)
        return self._repeat(claim, "not in the channel's history", marked=False)

    def _cannot_look(self, claim: Claim, error: SlackError) -> Outcome:
        log.info("cannot_look_for_post", post=claim.post.dedupe_key, reason=str(error))
        match error:
            case SlackWait():
                return self._look_again(claim, str(error), timedelta(seconds=error.retry_after_s), claim.post.looks)
            case SlackCredentialsDead():
                return self._look_again(claim, str(error), timedelta(minutes=1), claim.post.looks)
            case SlackScopeMissing() | SlackChannelClosed():
                return self._unsettled(claim, str(error))
            case _ if claim.post.failed_looks + 1 >= GIVE_UP_LOOKING_AFTER:
                return self._unsettled(claim, str(error))
            case _:
                return self._look_again(claim, str(error), LOOK_AGAIN, claim.post.looks, failed=True)

    def _unsettled(self, claim: Claim, reason: str) -> Outcome:
        """What the operator chose for a post that can't be looked for."""
        if self.doubtful_posts is DoubtfulPosts.REPEAT:
            return self._repeat(claim, reason, marked=True)
        return Outcome("parked", lambda session, now: self._park(session, claim, reason, now))

    def _look_again(self, claim: Claim, reason: str, after: timedelta, looks: int, *, failed: bool = False) -> Outcome:
        failed_looks = claim.post.failed_looks + failed
        return Outcome(
            "doubtful",
            lambda session, now: lanes.record_doubtful(
                session, claim, free_at=now + after, error=reason, looks=looks, failed_looks=failed_looks
            ),
        )

    def _repeat(self, claim: Claim, reason: str, *, marked: bool) -> Outcome:
        return Outcome(
            "repeat",
            lambda session, now: lanes.record_retry(
                session, claim, free_at=now, error=reason, may_be_repeat=marked or claim.post.may_be_repeat
            ),
        )

    def _park(self, session: Session, claim: Claim, reason: str, now: datetime) -> bool:
        free_at = now + timedelta(seconds=self.channel_s)
        if not lanes.record_parked(session, claim, free_at=free_at, error=reason):
            return False
        self.notices.parked(session, claim, f"it may have been posted, and I can't look ({reason})")
        return True

"""Notices when accepted deliveries are not told, and tells admins by the outbox, or by direct calls of Slack."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session

from bot.clock import Monotonic
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.errors import SlackDoubtful, SlackError
from bot.fanout.fanout import Fanout
from bot.logs import get_logger
from bot.outbox import channel_queues
from bot.outbox.message import Message, Sending
from bot.outbox.notices import Notices
from bot.outbox.poster import Poster

log = get_logger(__name__)

T = TypeVar("T")

STANDS_STILL_S = 60.0
"""Limit for a waiting delivery, and for a loop without a good turn."""

ANSWERED_S = 5.0
"""Limit for the database and Slack."""

DIRECTLY_EVERY_S = 3_600.0
"""Between two direct posts to admins."""

NOTICE_TRY_EVERY_S = 60.0
"""Between two tries of a direct post."""

NONE_IS_POSTED = "Deliveries are taken and none is posted"

NOT_READ = "The database can't be read, so nothing is posted and new deliveries may be refused"

SILENT = "it gives no sign of life"


@dataclass
class _Unchanged:
    value: object = None
    since_s: float | None = None

    def lasted_s(self, value: object, now_s: float) -> float:
        if self.since_s is None or value != self.value:
            self.value, self.since_s = value, now_s
        return now_s - self.since_s


@dataclass
class Standstill:
    """For `/readyz`: `problem`, and `not_taken` on a post tried for long."""

    database: Database
    notices: Notices
    fanout: Fanout
    poster: Poster
    monotonic: Monotonic
    problem: str | None = None
    not_taken: str | None = None

    def __post_init__(self) -> None:
        self._fanout_turns, self._poster_turns = _Unchanged(), _Unchanged()
        self._delivery, self._post = _Unchanged(), _Unchanged()
        self._is_told = False
        self._told_directly_at_s: float | None = None
        self._tried_directly_at_s: float | None = None

    async def look(self) -> None:
        await self._look_at_posts()
        found = await self._find()
        if found is None:
            if self.problem is not None:
                log.info("standstill_over")
            self.problem, self._is_told = None, False
            return
        if self.problem is None:
            log.error("standstill", reason=found)
        self.problem = found
        if not self._is_told:
            self._is_told = await self._tell(found)

    async def _look_at_posts(self) -> None:
        """For `/readyz` alone: a notice to admins would need Slack too."""
        is_read, tried = await self._read(channel_queues.tried_longest)
        if not is_read:
            return
        lasted_s = self._post.lasted_s(tried and tried[0], self.monotonic())
        is_long = tried is not None and lasted_s >= STANDS_STILL_S
        self.not_taken = f"{tried[0]} is tried for more than a minute ({tried[1]})" if tried and is_long else None

    async def _find(self) -> str | None:
        """A sentence without full stop."""
        is_read, first = await self._read(inbox.first_waiting)
        head = NONE_IS_POSTED if is_read else NOT_READ
        now_s = self.monotonic()
        waits_s = self._delivery.lasted_s(first and first.inbox_id, now_s)
        fanout_s = self._fanout_turns.lasted_s(self.fanout.good_turns, now_s)
        poster_s = self._poster_turns.lasted_s(self.poster.good_turns, now_s)
        if fanout_s >= STANDS_STILL_S:
            return f"{head}: fan-out gets nothing done ({self.fanout.problem or SILENT})"
        if poster_s >= STANDS_STILL_S:
            return f"{head}: the poster gets nothing done ({self.poster.problem or SILENT})"
        if first is not None and waits_s >= STANDS_STILL_S:
            why = first.error or self.fanout.problem or "more deliveries came than could be told"
            return f"{inbox.reference(first.inbox_id)} was accepted more than a minute ago, and nobody is told ({why})"
        return None

    async def _read(self, first: Callable[[Session], T | None]) -> tuple[bool, T | None]:
        """False if the database does not answer."""
        try:
            async with asyncio.timeout(ANSWERED_S):
                return True, await self.database.read_for_alerts(first)
        except Exception as error:  # noqa: BLE001  fan-out and poster report the same error
            log.info("standstill_not_looked_for", reason=str(error))
            return False, None

    async def _tell(self, reason: str) -> bool:
        """True if this standstill needs no more tries."""
        if self.poster.problem is None and await self._queue(reason):
            return True
        now_s = self.monotonic()
        if _is_within(self._told_directly_at_s, DIRECTLY_EVERY_S, now_s):
            return True
        if _is_within(self._tried_directly_at_s, NOTICE_TRY_EVERY_S, now_s):
            return False
        self._tried_directly_at_s = now_s
        if not await self._tell_directly(reason):
            return False
        self._told_directly_at_s = now_s
        return True

    async def _queue(self, reason: str) -> bool:
        is_late = False

        def tell(session: Session) -> None:
            # A stuck writer may run `tell` long after admins were told directly.
            if not is_late:
                self.notices.stands_still(session, reason)

        try:
            async with asyncio.timeout(ANSWERED_S):
                await self.database.write(tell)
        except Exception as error:  # noqa: BLE001  a direct post follows any error
            is_late = True
            log.warning("standstill_not_queued", reason=str(error))
            return False
        self.poster.wake.set()
        return True

    async def _tell_directly(self, reason: str) -> bool:
        """True if Slack took the message, or if no admin is set."""
        message = self.notices.standstill_message(reason)
        ways = [way for way in self.notices.ways() if way]
        for way in ways:
            if any([await self._post_at(place, message) for place in way]):
                return True
        log.error("standstill_told_to_the_log_alone", reason=reason)
        return not ways

    async def _post_at(self, place: str, message: Message) -> bool:
        try:
            # Past the outbox.
            await self.poster.claim_sender.sender.post(place, message, Sending(f"standstill@{place}", ANSWERED_S))
        except SlackDoubtful as error:
            # Slack may have the message, so no second try.
            log.warning("standstill_may_be_told", channel_id=place, reason=str(error))
        except SlackError as error:
            log.warning("standstill_not_told", channel_id=place, reason=str(error))
            return False
        return True


def _is_within(at_s: float | None, long_s: float, now_s: float) -> bool:
    return at_s is not None and now_s - at_s < long_s

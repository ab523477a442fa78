"""Drills: a marked test alert goes through our public address into the channels."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from sqlmodel import Session

from bot.channels import subscriptions
from bot.clock import Clock, Monotonic
from bot.db.engine import Database, database_now
from bot.errors import StorageError
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.fanout import drills
from bot.fanout.drills import KeptDrill, takes_drills
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.public_url import AddressAnswer
from bot.outbox import backlog, ledger
from bot.outbox.ledger import LedgerLine, LedgerOutcome, Trace

log = get_logger(__name__)

FANNED_OUT_S = 10.0
"""After this time, fan-out stands still."""

SENT_S = 12.0
SENT_EACH_S = 0.25
SENT_AT_MOST_S = 35.0
"""The wait for posts: a base, and more for each channel (Slack takes some 280 posts a minute).

The sum with FANNED_OUT_S and the call of our address stays below `bot.fanout.drills.DRILL_LASTS`.
"""

LOOK_EVERY_S = 0.25

OVER = "the drill was over before its turn came"

ENDED = frozenset({LedgerOutcome.DEAD_LETTER, LedgerOutcome.MUTED, LedgerOutcome.FOLDED, LedgerOutcome.SENT})


class Stop(Enum):
    NOT_DELIVERED = auto()
    """Our public address did not take the delivery."""
    NOT_STORED = auto()
    """Our database lacks the accepted delivery: another bot uses the address."""
    NOT_FANNED_OUT = auto()
    """Fan-out did not take the stored delivery."""
    TOLD = auto()


@dataclass(frozen=True)
class DrillReport:
    """`told`: outcomes by channel. `uninvited`: channels without the bot."""

    kept: KeptDrill
    answered: AddressAnswer
    stop: Stop
    told: Sequence[LedgerLine] = ()
    uninvited: Sequence[str] = ()


Deliver = Callable[[bytes], Awaitable[AddressAnswer]]


@dataclass
class Drills:
    database: Database
    deliver: Deliver
    clock: Clock
    wake: asyncio.Event
    monotonic: Monotonic
    pause: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)

    def begin(self, session: Session, drill: Drill) -> KeptDrill | None:
        """None where another drill began a moment ago."""
        kept = drills.begin(session, drill, database_now(session, self.clock))
        if kept is not None:
            log.info("drill_begun", event_key=_key(kept), user_id=drill.begun_by, only=drill.only_channel)
        return kept

    async def run(self, kept: KeptDrill) -> DrillReport:
        """Deliver a drill, wait for the posts, end the drill. Raises StorageError."""
        answered = await self.deliver(drill_mark.body_of(kept.drill.drill_id))
        if answered.problem is not None:
            # A late arrival tells nobody. After a failure the job ends the drill.
            try:
                await self.end(kept)
            except StorageError as error:
                log.warning("drill_not_ended", event_key=_key(kept), reason=str(error))
            return DrillReport(kept, answered, Stop.NOT_DELIVERED)
        found = await self._follow(kept)
        ended = await self.end(kept)
        stop = Stop.TOLD if found.versions else Stop.NOT_FANNED_OUT if found.deliveries else Stop.NOT_STORED
        uninvited = await self._uninvited() if kept.drill.only_channel is None else ()
        told = ended if ended is not None else _told(found)
        log.info("drill_ended", event_key=_key(kept), stop=stop.name, channels=len(told))
        return DrillReport(kept, answered, stop, told, uninvited)

    async def how_far(self, kept: KeptDrill) -> tuple[int, int]:
        told = _told(await self._trace(kept))
        return sum(one.outcome is LedgerOutcome.SENT for one in told), len(told)

    async def end(self, kept: KeptDrill) -> Sequence[LedgerLine] | None:
        """Withdraw the drill's waiting posts, so no channel hears of the drill later.

        Returns the outcomes before the end; None without a version. A post under way resolves by itself, and the drill
        ends afterwards (`end_left_over`).
        """

        def end(session: Session) -> Sequence[LedgerLine] | None:
            now = database_now(session, self.clock)
            found = ledger.trace(session, _key(kept), now)
            told = _told(found)
            backlog.withdraw(session, _key(kept), OVER, now)
            if not any(one.outcome in {LedgerOutcome.SENDING, LedgerOutcome.IN_DOUBT} for one in told):
                drills.end(session, kept)
            return told if found.versions else None

        return await self.database.write(end)

    def _left_over(self, session: Session) -> KeptDrill | None:
        kept = drills.latest(session)
        return None if kept is None or kept.is_over or kept.is_open(self.clock()) else kept

    async def end_left_over(self) -> bool:
        """End a drill of a dead process, or a drill whose last post resolved. For a job."""
        kept = await self.database.read(self._left_over)
        if kept is not None:
            await self.end(kept)
        return kept is not None

    @property
    def job(self) -> Job:
        return Job("end_drills", "Drills ended", 60, self.end_left_over, self._left_over)

    async def _follow(self, kept: KeptDrill) -> Trace:
        self.wake.set()
        began_s = self.monotonic()
        while True:
            found = await self._trace(kept)
            passed_s = self.monotonic() - began_s
            if _is_settled(found) or passed_s >= _patience_s(found):
                return found
            await self.pause(LOOK_EVERY_S)

    async def _trace(self, kept: KeptDrill) -> Trace:
        def trace(session: Session) -> Trace:
            return ledger.trace(session, _key(kept), database_now(session, self.clock))

        return await self.database.read(trace)

    async def _uninvited(self) -> Sequence[str]:
        waiting = await self.database.read(subscriptions.waiting)
        return sorted({channel_id for channel_id, chosen in waiting if takes_drills(chosen)})


def _key(kept: KeptDrill) -> str:
    return drill_mark.key_of(kept.drill.drill_id)


def _told(found: Trace) -> Sequence[LedgerLine]:
    return [told for version in found.versions for told in version.told]


def _is_settled(found: Trace) -> bool:
    """True if waiting longer changes nothing: each post ended, or is held."""
    if not found.versions:
        return False
    return all(one.outcome in ENDED or one.is_held for one in _told(found))


def _patience_s(found: Trace) -> float:
    told = _told(found)
    return min(SENT_AT_MOST_S, SENT_S + SENT_EACH_S * len(told)) if found.versions else FANNED_OUT_S

"""Tells more people of abandonments that nobody has acknowledged."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.outbox import escalations
from bot.outbox.escalations import Absent
from bot.outbox.notices import Notices

MEMBERS_READ_S = 10.0
"""For all channels of a run. Where time runs out, people are mentioned alone."""


@dataclass(frozen=True)
class EscalationCheck:
    """`members`: of a channel; None where Slack does not say."""

    database: Database
    notices: Notices
    members: Callable[[str], Awaitable[frozenset[str] | None]]
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> int:
        absent = await self._absent()
        steps = 0
        while count := await self.database.write(
            partial(_escalate, notices=self.notices, absent=absent, clock=self.clock)
        ):
            steps += count
            self.wake.set()
        return steps

    async def _absent(self) -> Absent:
        people = await self.database.read(partial(_people, clock=self.clock))
        absent = set[tuple[str, str]]()
        try:
            async with asyncio.timeout(MEMBERS_READ_S):
                for channel_id, named in people.items():
                    there = await self.members(channel_id)
                    absent |= {(channel_id, person) for person in named if there is not None and person not in there}
        except TimeoutError:
            pass
        return absent


def _people(session: Session, clock: Clock) -> dict[str, set[str]]:
    return escalations.people_to_be_told(session, database_now(session, clock))


def _escalate(session: Session, notices: Notices, absent: Absent, clock: Clock) -> int:
    # The outbox writes moments by the same clock.
    return escalations.escalate(session, database_now(session, clock), notices, absent)

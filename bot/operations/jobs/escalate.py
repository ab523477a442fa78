"""Tells more people of abandonments that nobody has acknowledged."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.operations.jobs.job import Job, write_all
from bot.outbox import escalations
from bot.outbox.escalations import Absent
from bot.outbox.notices import Notices

MEMBERS_READ_S = 10.0
"""For all channels of a run. Where time runs out, people are mentioned alone."""


def escalate(
    database: Database,
    notices: Notices,
    members: Callable[[str], Awaitable[frozenset[str] | None]],
    clock: Clock,
    wake: asyncio.Event,
) -> Job:
    """`members`: of a channel; None where Slack does not say."""

    async def run() -> int:
        absent = await _absent(await database.read(partial(_people, clock=clock)), members)
        return await write_all(database, partial(_escalate, notices=notices, absent=absent, clock=clock), wake)

    words = "Abandonments that nobody has taken told to more people"
    return Job("escalate", words, 15, run, escalations.first_open)


async def _absent(people: Mapping[str, set[str]], members: Callable[[str], Awaitable[frozenset[str] | None]]) -> Absent:
    absent = set[tuple[str, str]]()
    try:
        async with asyncio.timeout(MEMBERS_READ_S):
            for channel_id, named in people.items():
                there = await members(channel_id)
                absent |= {(channel_id, person) for person in named if there is not None and person not in there}
    except TimeoutError:
        pass
    return absent


def _people(session: Session, clock: Clock) -> dict[str, set[str]]:
    return escalations.people_to_be_told(session, database_now(session, clock))


def _escalate(session: Session, notices: Notices, absent: Absent, clock: Clock) -> int:
    # The outbox writes moments by the same clock.
    return escalations.escalate(session, database_now(session, clock), notices, absent)

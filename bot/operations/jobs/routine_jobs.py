"""Routine jobs: on channels and waiting messages, on live messages and escalations, on lists and stored bodies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database, database_now
from bot.db.named_values import Mark
from bot.deliveries import inbox
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.fanout.unchecked_filters import check_filters
from bot.operations.jobs.job import HOUR_S, Job, write_all
from bot.outbox import backlog, channel_queues, escalations, fanout_knowledge, held_queues, live_meetings
from bot.outbox.escalations import Absent
from bot.outbox.held_channels import Reopening
from bot.outbox.notices import Notices
from bot.racedata.reference_book import ReferenceBook

CHANNELS_PER_RUN = 40
"""conversations.info allows about fifty calls a minute."""

MEMBERS_READ_S = 10.0
"""For all channels of a run. Where time runs out, people are mentioned alone."""

MEETING_FOR = timedelta(days=1)
"""A live message or an escalation that could not be sent for so long is needless."""

REFRESH_EVERY_S, CHECK_EVERY_S = 300, 30

ANOTHER_TRY_S = 0.05
"""Seconds between tries while another replica fans out."""

BODIES_PER_COMMIT = 200
"""The number is small, because intake waits for the transaction."""

JOURNAL_DAYS = 7
"""How long the journal keeps letters that were read: an older copy of the database still gets its deliveries."""


def check_channels(
    database: Database,
    is_member: Callable[[str], Awaitable[bool | None]],
    reopening: Reopening,
    clock: Clock,
    wake: asyncio.Event,
) -> Job:
    """Finds closed channels open to the bot again: Slack's event of the opening may be lost."""

    async def run() -> None:
        if await database.write(channel_queues.make_missing):
            wake.set()
        for channel_id in await database.read(partial(held_queues.closed_channels, limit=CHANNELS_PER_RUN)):
            if await is_member(channel_id):
                await database.write(partial(reopening.try_again, channel_id=channel_id, now=clock()))
                wake.set()

    return Job("check_channels", "Closed channels tried", 600, run)


def end_pauses(database: Database, reopening: Reopening, clock: Clock, wake: asyncio.Event) -> Job:
    """Ends pauses whose time has come, also of channels without a subscription."""

    async def run() -> int:
        return await write_all(database, lambda session: reopening.end_pauses(session, clock()), wake)

    return Job("end_pauses", "Pauses ended", 30, run, lambda session: held_queues.pauses_over(session, clock(), 1))


def tell_due(database: Database, reopening: Reopening, clock: Clock, wake: asyncio.Event) -> Job:
    """Tells what waited for an hour that its channel chose."""
    run = partial(write_all, database, partial(reopening.tell_due, clock=clock), wake)
    words = "Digests and quiet hours told"
    return Job("tell_due", words, 30, run, lambda session: backlog.channels_due(session, clock(), 1))


def escalate(
    database: Database,
    notices: Notices,
    members: Callable[[str], Awaitable[frozenset[str] | None]],
    clock: Clock,
    wake: asyncio.Event,
) -> Job:
    """Tells more people of abandonments that nobody has acknowledged.

    `members`: of a channel; None where Slack does not say.
    """

    # The outbox writes moments by the database's clock.
    def people(session: Session) -> dict[str, set[str]]:
        return escalations.people_to_be_told(session, database_now(session, clock))

    async def run() -> int:
        absent = await _absent(await database.read(people), members)

        def tell(session: Session) -> int:
            return escalations.escalate(session, database_now(session, clock), notices, absent)

        return await write_all(database, tell, wake)

    words = "Abandonments that nobody has taken told to more people"
    return Job("escalate", words, 15, run, escalations.first_open)


async def _absent(people: Mapping[str, set[str]], members: Callable[[str], Awaitable[frozenset[str] | None]]) -> Absent:
    absent = set[tuple[str, str]]()
    with suppress(TimeoutError):
        async with asyncio.timeout(MEMBERS_READ_S):
            for channel_id, named in people.items():
                there = await members(channel_id)
                absent |= {(channel_id, person) for person in named if there is not None and person not in there}
    return absent


def follow_off_times(database: Database, clock: Clock, wake: asyncio.Event) -> Job:
    """Queues an edit of each live message that an off time, gone by, has put out of date."""

    # The outbox notes the moments by the database's clock.
    def follow(session: Session) -> int:
        now = database_now(session, clock)
        return live_meetings.edit_what_is_out_of_date(
            session, lambda: fanout_knowledge.read(session, now).with_live_messages, now
        )

    def look(session: Session) -> object:
        return live_meetings.first_out_of_date(session, database_now(session, clock))

    run = partial(write_all, database, follow, wake)
    return Job("follow_off_times", "Live messages brought up to the off times", 15, run, look)


def expire_queue(database: Database, notices: Notices, keep_hours: int, clock: Clock) -> Job:
    """Gives up messages held too long. The messages are kept, and admins are told."""

    def expire(session: Session) -> int:
        backlog.drop_of_past_meetings(session, clock() - MEETING_FOR, database_now(session, clock))
        return backlog.give_up(session, notices, keep_hours, clock)

    run = partial(write_all, database, expire)
    return Job("expire_queue", "Messages that waited too long given up", HOUR_S, run)


def prune_bodies(database: Database, journal: Journal, keep_days: int, clock: Clock) -> Job:
    """Forgets bodies of old deliveries. The inbox's keys and hashes stay for ever, to recognise replays."""

    async def run() -> int:
        pruned = 0
        if place := await database.read(place_in):
            before = clock() - timedelta(days=min(keep_days, JOURNAL_DAYS))
            while forgotten := await database.read_beside(partial(journal.forget, before, place)):
                pruned += forgotten
        while (count := await database.write(partial(_prune, keep_days=keep_days, clock=clock))) is not None:
            pruned += count
        return pruned

    return Job("prune_bodies", "Bodies of old deliveries forgotten", HOUR_S, run)


def _prune(session: Session, keep_days: int, clock: Clock) -> int | None:
    """Pruned bodies in a batch; None at the end."""
    kept = named_values.get(session, Mark.BODIES_PRUNED_TO)
    before = clock() - timedelta(days=keep_days)
    ids = inbox.received_before(session, before, after_id=kept[0] if kept else 0, limit=BODIES_PER_COMMIT)
    if not ids:
        return None
    named_values.put(session, Mark.BODIES_PRUNED_TO, ids[-1], clock())
    return inbox.forget_bodies(session, ids)


def refresh_lists(
    reference: ReferenceBook, database: Database, notices: Notices, clock: Clock, wake: asyncio.Event
) -> tuple[Job, Job]:
    """Refresh lists older than a day, and check stored filters. After a failed reading the kept lists stay.

    In an outage the slots of the first job bound the requests, for all replicas together.
    """

    async def check() -> None:
        check_all = partial(check_filters, notices=notices)
        while not await database.write(partial(check_all, now=clock())):  # noqa: ASYNC110  another replica fans out
            await asyncio.sleep(ANOTHER_TRY_S)
        wake.set()

    async def refresh() -> None:
        try:
            await reference.keep_fresh()
        finally:
            await check()

    return (
        Job("refresh_reference", "Regions and courses read", REFRESH_EVERY_S, refresh),
        Job("check_filters", "Unchecked subscriptions checked", CHECK_EVERY_S, check, subscriptions.has_unchecked),
    )

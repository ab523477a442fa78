"""`racing-bot repair` makes failed deliveries good now, or lists them (--dry-run); `serve` may run.

`racing-bot restored`, after an operator put back an older database: no message is posted twice. `racing-bot unlatch`
resets circuit breakers; a running bot notices at once.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection
from contextlib import aclosing, closing
from datetime import datetime
from math import ceil

from bot.cli.parts import make_fanout, make_notices, opened, opened_client
from bot.clock import Clock, utc_now
from bot.db import replicas
from bot.db.engine import Database, database_now
from bot.db.named_values import DatabaseStateStore
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal
from bot.deliveries.payload import read_payload
from bot.errors import StorageUnavailable
from bot.operations.jobs.job import write_all
from bot.operations.repair.repair_run import Repair, Repaired
from bot.outbox.held_channels import Reopening
from bot.outbox.notices import Notices
from bot.outbox.resolve import put_in_doubt
from bot.ports import Ports
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_errors import BREAKER_WORDS
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.settings import Settings
from bot.slack.messages.alerts.backlog_summary import waited


async def run_repair(settings: Settings, *, dry_run: bool, as_json: bool) -> str:
    """Raises ServiceError and StorageError."""
    async with (
        opened(settings.database_url.get_secret_value(), reads_only=dry_run) as database,
        opened_client(settings, database) as client,
    ):
        quota_book = QuotaBook(database, client, settings, utc_now)
        notices = make_notices(settings)
        async with aclosing(RaceBook(database, client, utc_now, quota_book, settings)) as races:
            repair = Repair(
                database,
                client,
                quota_book=quota_book,
                races=races,
                fanout=make_fanout(database, notices, utc_now),
                reopening=Reopening(waited),
                notices=notices,
                read_payload=read_payload,
                clock=utc_now,
                wake=asyncio.Event(),
            )
            repaired = await (repair.preview() if dry_run else repair.run())
    if as_json:
        return json.dumps(_as_json(repaired, dry_run=dry_run), ensure_ascii=False, indent=2)
    return _told(repaired, dry_run=dry_run)


def _as_json(repaired: Repaired, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "records": repaired.records,
        "known": repaired.known,
        "unreadable": list(repaired.unread),
        "made_good": [
            {
                "event_key": one.event.key,
                "tried_at": one.tried_at.isoformat() if one.tried_at else None,
                "payload": one.has_payload,
                "answered": one.answered.told,
            }
            for one in repaired.made
        ],
        "events": list(repaired.events),
        "answered": dict(Counter(one.answered.told for one in repaired.made)),
        "requests": repaired.requests,
    }


def _told(repaired: Repaired, *, dry_run: bool) -> str:
    done = "would be" if dry_run else "were"
    lines = [
        f"Failed deliveries listed by the data service: {repaired.records}. Known already: {repaired.known}.",
        f"{len(repaired.made)} {done} made good, with news of {len(repaired.events)} events.",
    ]
    answered = Counter(one.answered.told for one in repaired.made)
    lines += [f"  the bot's endpoint gave {answer}: {count}" for answer, count in answered.most_common()]
    if dry_run:
        lines += [f"  {key}" for key in repaired.events]
    if repaired.unread:
        lines.append(f"{len(repaired.unread)} can't be read: {', '.join(repaired.unread)}")
    return "\n".join(lines)


async def run_restored(settings: Settings) -> str:
    """Raises StorageError; the command can then be repeated."""
    async with opened(settings.database_url.get_secret_value()) as database:
        if left := await database.read(lambda session: replicas.counts_for(session, database_now(session, utc_now))):
            raise StorageUnavailable(
                "a bot runs on this database: stop the bot first. If the bot was killed, the bot "
                f"counts as running for {ceil(left.total_seconds())} more seconds. Then type the command again."
            )
        count, oldest = await restored(database, make_notices(settings), utc_now)
    if oldest is None:
        return "Nothing waited in this copy. Start the bot."
    return (
        f"Messages that waited in this copy: {count}, the oldest from {oldest:%Y-%m-%d %H:%M} UTC. "
        "Start the bot: it looks for each of them in its channel, and posts those that are not there."
    )


async def restored(database: Database, notices: Notices, clock: Clock) -> tuple[int, datetime | None]:
    """Read the journal, fan out, summarise messages that waited for an hour, then mark unsent messages as in doubt.

    The journal may have deliveries that the copy of the database lacks. The bot finds their posts in the channels.
    """
    with closing(Journal(database.address, Ports().monotonic)) as journal:
        intake = Intake(database, journal, clock)
        while await intake.take():
            continue
    fanout = make_fanout(database, notices, clock)
    while await fanout.run_once():
        continue
    # The same messages make a summary of the same key.
    reopening = Reopening(waited)
    await write_all(database, lambda session: reopening.tell_due(session, clock))
    return await database.write(lambda session: put_in_doubt(session, database_now(session, clock)))


async def run_unlatch(settings: Settings, which: str | None) -> str:
    """Raises StorageError. The service is not asked."""
    async with opened(settings.database_url.get_secret_value()) as database:
        breakers = CircuitBreakers(DatabaseStateStore(database, utc_now), utc_now, settings.racing_api_key)
        return await unlatch(breakers, [which] if which else BREAKER_WORDS.values())


async def unlatch(breakers: CircuitBreakers, words: Collection[str]) -> str:
    found = [one for one in await breakers.open_now() if BREAKER_WORDS[one.code] in words]
    for one in found:
        await breakers.reset(one.code)
    lines = [
        f"{BREAKER_WORDS[one.code]}: closed again, after {one.code} on {one.since:%Y-%m-%d %H:%M} UTC (request "
        f"{one.request_id or 'unknown'}). After another refusal the circuit breaker opens once more."
        for one in found
    ]
    return "\n".join(lines) or f"No circuit breaker is open ({', '.join(words)}): the data service is asked as usual."

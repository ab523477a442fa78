"""Posts that wait: how many a second the bot gets rid of, beside slack_sdk posting as many to the same stand-in."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from functools import partial
from statistics import median

from sqlmodel import Session

from bench.bare_posts import post_all
from bench.common import AtLeast, Measure, Plan, paired_ratio
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import apart
from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.tables import MessageKind
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.deliveries.payload import read_payload
from bot.events import event_store
from bot.events.facts import VersionRemarks
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority

POSTS = 300
LOST_AFTER_S = 60.0


async def measure(
    database: Database, outside: Outside, outside_url: str, channels: Sequence[str], plan: Plan
) -> list[Measure]:
    """Posts a second of both, in turns; their ratio. The bot runs already, with this database."""
    ours, bare = [], []
    races = POSTS // len(channels)
    for number in range(plan.rounds):
        queue = partial(_queue, results=Results(f"q{number}x"), races=races, channels=channels)
        await _quiet(database)
        before = len(outside.arrived)
        await database.write(queue)
        ours.append(await _rate(outside, before, POSTS))
        before = len(outside.arrived)
        await apart(post_all, f"{outside_url}/api/", f"bare-{number}", POSTS)
        bare.append(await _rate(outside, before, POSTS))
    await database.close()
    name = f"{POSTS} posts in {len(channels)} channels"
    return [
        Measure(f"drain: {name}, slack_sdk alone", median(bare), "/s"),
        Measure(f"drain: {name}", median(ours), "/s", AtLeast(1_500)),
        Measure("drain: bot / slack_sdk alone", paired_ratio(ours, bare), "ratio", AtLeast(0.3)),
    ]


async def _quiet(database: Database) -> None:
    """Returns when no post waits: a late one would be counted here, and a busy bot leaves no other process the lock."""
    started = time.perf_counter()
    while any(one.count for one in (await database.read(message_store.depths)).values()):
        if time.perf_counter() - started > LOST_AFTER_S:
            raise TimeoutError(f"the bot was still posting after {LOST_AFTER_S:g} s")
        await asyncio.sleep(0.05)


async def _rate(outside: Outside, before: int, count: int) -> float:
    """Posts a second, from the first that arrived to the last; 0 where one is missing."""
    if not await outside.wait_for(before + count, timeout_s=LOST_AFTER_S):
        return 0.0
    arrived = sorted(outside.arrived.values())[before:]
    return (len(arrived) - 1) / (arrived[-1] - arrived[0])


def _queue(session: Session, results: Results, races: int, channels: Sequence[str]) -> None:
    """A post for each race in every channel, as the fan-out leaves them."""
    now = utc_now()
    for number in range(races):
        body = results.body(number)
        event = read_payload(body)
        arrival = Arrival(event.key, event.name, hashlib.sha256(body).hexdigest(), body, now)
        inbox.store(session, [arrival])
        (delivery,) = inbox.waiting(session, now, 1)
        row = event_store.make(event, 1, remarks=VersionRemarks(), inbox_id=delivery.inbox_id, received_at=now)
        session.add(row)
        session.flush()
        message_store.add(
            session,
            [
                NewPost(channel, f"{event.key}#1@{channel}", MessageKind.EVENT, Priority.OTHER, now, row.id)
                for channel in channels
            ],
        )
        inbox.take(session, [delivery], now)

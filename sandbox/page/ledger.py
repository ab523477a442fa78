"""The bot's own ledger, read from the bot's database: its newest messages, with states and reasons."""

import time
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlmodel import Session, col

from bot.db.engine import Database
from bot.db.tables import OutboxMessage
from bot.errors import StorageError
from sandbox.slack.values import Json

LINES = 30
READ_EVERY_S = 1.0


@dataclass
class Ledger:
    """`lines` are at most READ_EVERY_S old, oldest first. A database that can't be read leaves the last lines."""

    database_url: str
    lines: list[Json] = field(default_factory=list)
    problem: str | None = None
    _read_at_s: float = -READ_EVERY_S
    _database: Database | None = None

    async def refresh(self) -> None:
        now = time.monotonic()
        if now - self._read_at_s < READ_EVERY_S:
            return
        self._read_at_s = now
        self._database = self._database or Database(self.database_url)
        try:
            self.lines, self.problem = await self._database.read(_newest), None
        except StorageError as error:
            self.problem = str(error)

    async def close(self) -> None:
        if self._database is not None:
            await self._database.close()


def _newest(session: Session) -> list[Json]:
    statement = select(OutboxMessage).order_by(col(OutboxMessage.id).desc()).limit(LINES)
    return [_line(message) for message in reversed(session.execute(statement).scalars().all())]


def _line(message: OutboxMessage) -> Json:
    return {
        "id": message.id,
        "channel": message.channel_id,
        "kind": message.kind,
        "key": message.idempotency_key,
        "state_now": message.state,
        "reason": message.reason or message.muted_by,
        "attempts": message.attempts,
        "received": message.received_at.isoformat(timespec="milliseconds"),
        "sent": message.sent_at.isoformat(timespec="milliseconds") if message.sent_at else None,
    }

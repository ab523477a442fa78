"""Waiting notices have their name, and escalations the minutes, in their content."""

import json
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"

_MOMENTS = ("received_at", "sent_at", "given_up_at")
_MESSAGE = sa.table(
    "message",
    *(sa.column(name, sa.String()) for name in ("kind", "state", "idempotency_key", "content")),
    *(sa.column(name, sa.BigInteger()) for name in ("id", "follows_id")),
    *(sa.column(name, sa.DateTime(timezone=True)) for name in _MOMENTS),
)


def upgrade() -> None:
    row, alert = _MESSAGE.c, _MESSAGE.alias("alert")
    waits = sa.and_(row.kind == "notice", row.state.in_(["queued", "sending", "in_doubt"]))
    for number, content, key in _found(sa.select(row.id, row.content, row.idempotency_key).where(waits)):
        # The key ends with the channel.
        _keep(number, {"notice": key.rpartition("@")[0]} | content)
    told_at = sa.func.coalesce(alert.c.sent_at, alert.c.given_up_at, alert.c.received_at, row.received_at)
    escalations = sa.select(row.id, row.content, row.received_at, sa.type_coerce(told_at, row.received_at.type))
    escalations = escalations.join_from(_MESSAGE, alert, alert.c.id == row.follows_id, isouter=True)
    for number, content, received_at, since in _found(escalations.where(row.kind == "escalation")):
        minutes = content.get("minutes") or max(1, (received_at - since) // timedelta(minutes=1))
        _keep(number, content | {"minutes": minutes})


def _found(statement: sa.Select[*tuple[Any, ...]]) -> list[Any]:
    """The number, the content and further columns. A content that can't be read stays as it is."""
    rows = op.get_bind().execute(statement).all()
    return [(number, content, *more) for number, said, *more in rows if (content := _read(said)) is not None]


def _read(said: str) -> dict[str, Any] | None:
    try:
        content = json.loads(said)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _keep(number: int, content: dict[str, object]) -> None:
    of_number = sa.update(_MESSAGE).where(_MESSAGE.c.id == number)
    op.get_bind().execute(of_number.values(content=json.dumps(content)))

"""What a sample of the quota was taken from, its errors and refusals; and the limit in each warning's key."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None

LIMIT_SEEN = "quota.limit_seen"


def upgrade() -> None:
    op.add_column("quota_sample", sa.Column("source", sa.String(), nullable=True))
    op.add_column("quota_sample", sa.Column("errors", sa.Integer(), nullable=True))
    op.add_column("quota_sample", sa.Column("refusals", sa.Integer(), nullable=True))
    _put_limit_into_keys()


def _put_limit_into_keys() -> None:
    """Rename this month's warnings as they are named from now on, so that no warning is given twice."""
    bind, named = op.get_bind(), {"name": LIMIT_SEEN}
    kept = bind.execute(sa.text("SELECT value FROM stored_state WHERE name = :name"), named).scalar()
    if kept is None:
        return
    seen = json.loads(kept)
    prefix = f"quota:{seen['month']}:"
    keys = bind.execute(sa.text("SELECT key FROM notice WHERE key LIKE :like"), {"like": f"{prefix}%"}).scalars().all()
    for key in keys:
        if key.removeprefix(prefix).isdigit():
            renamed = {"key": key, "new": f"{key}:{seen['limit']}"}
            bind.execute(sa.text("UPDATE notice SET key = :new WHERE key = :key"), renamed)
    bind.execute(sa.text("DELETE FROM stored_state WHERE name = :name"), named)

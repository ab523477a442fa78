"""The region of each waiting delivery, so that fan-out takes regions in turn."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("inbox", sa.Column("region", sa.Text(), nullable=False, server_default=""))
    waiting = sa.text("state = 'new'")
    op.create_index(
        "ix_inbox_region", "inbox", ["region", "received_at", "id"], sqlite_where=waiting, postgresql_where=waiting
    )

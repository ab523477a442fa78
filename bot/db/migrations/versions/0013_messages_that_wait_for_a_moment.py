"""Messages that wait for a moment, such as the end of a channel's quiet hours."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("message", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    waits = sa.text("not_before IS NOT NULL")
    op.create_index("ix_message_not_before", "message", ["not_before"], sqlite_where=waits, postgresql_where=waits)

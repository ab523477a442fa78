"""SQLite takes the newest of two partial indexes, and the index of edits that are due must be the newest of its table.

Databases that were made at revision 0024 or 0025 have their indexes in any order.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    is_due = sa.text("state = 'sent' AND wanted_rev > sent_rev AND gone_since IS NULL")
    op.drop_index("ix_message_to_edit", "message")
    op.create_index("ix_message_to_edit", "message", ["channel_id", "priority", "id"], sqlite_where=is_due)

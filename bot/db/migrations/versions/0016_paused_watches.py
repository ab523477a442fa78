"""The end of a pause, kept with watches too: a channel may have watches alone."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("watch", sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True))

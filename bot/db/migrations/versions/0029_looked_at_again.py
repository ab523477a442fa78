"""Fan-out looks again later at a race or an event that our code failed on."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column("touched", sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("touched", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))

"""A mark that changes with subscriptions, mutes and the data service's lists, so that processes can keep them."""

import sqlalchemy as sa
from alembic import op

from bot.storage import generation

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "generation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    generation.make_triggers(op.get_bind())

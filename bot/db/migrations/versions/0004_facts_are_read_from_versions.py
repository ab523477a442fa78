"""What is known of an event is read from its newest version: no second copy of the facts."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("event", "facts")

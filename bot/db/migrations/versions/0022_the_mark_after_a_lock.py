"""PostgreSQL's function for the mark after a lock, so that taking a turn costs no statement."""

from alembic import op

from bot.db import generation

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    generation.make_after_locks(op.get_bind())

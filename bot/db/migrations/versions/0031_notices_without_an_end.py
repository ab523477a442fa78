"""A notice that is over is dropped, and has no row."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.execute("DELETE FROM notice WHERE withdrawn_at IS NOT NULL")
    op.drop_column("notice", "withdrawn_at")

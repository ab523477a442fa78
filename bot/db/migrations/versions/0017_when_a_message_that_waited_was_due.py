"""When a message that waited was due. Lateness and age count from this moment, and not from receipt."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("message", sa.Column("due_at", sa.DateTime(timezone=True), nullable=True))

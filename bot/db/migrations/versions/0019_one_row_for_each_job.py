"""A job keeps the last slot alone. The slots of a week made each run's end slower.

Until the restart a replica of the version before finds no slot to claim: the jobs fail, and `/readyz` says so.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.rename_table("job_run", "job_slots")
    op.create_table(
        "job_run",
        sa.Column("job", sa.String(), primary_key=True, nullable=False),
        sa.Column("slot_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.execute(
        "INSERT INTO job_run (job, slot_at, claimed_by, done_at)"
        " SELECT job, max(done_at), max(claimed_by), max(done_at) FROM job_slots WHERE done_at IS NOT NULL GROUP BY job"
    )
    op.drop_table("job_slots")

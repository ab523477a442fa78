"""Fan-out looks again at races and at events."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "touched",
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("what", "name"),
    )
    op.execute("INSERT INTO touched (what, name) SELECT 'race', race_id FROM learnt_race")
    op.drop_table("learnt_race")

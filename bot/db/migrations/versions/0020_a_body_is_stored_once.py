"""A body is stored once, whatever key a version of the bot reads from the body.

Of rows with the same body the first keeps the hash. The other rows keep their events and messages.
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "UPDATE inbox SET body_sha256 = 'stored before, ' || id"
        " WHERE body_sha256 IN (SELECT body_sha256 FROM inbox GROUP BY body_sha256 HAVING count(*) > 1)"
        " AND id NOT IN (SELECT min(id) FROM inbox GROUP BY body_sha256 HAVING count(*) > 1)"
    )
    op.create_index("uq_inbox_body_sha256", "inbox", ["body_sha256"], unique=True)

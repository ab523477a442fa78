"""Live messages of meetings, their edits, and messages in their threads."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('event', 'edit', 'summary', 'notice', 'welcome', 'answer')"
_CHECKS = {
    "kind": (_KINDS, "kind IN ('event', 'edit', 'live', 'live_edit', 'summary', 'notice', 'welcome', 'answer')"),
    "edits": ("(kind = 'edit') = (edits_id IS NOT NULL)", "(kind IN ('edit', 'live_edit')) = (edits_id IS NOT NULL)"),
    "edit_in_doubt": ("kind <> 'edit' OR state <> 'in_doubt'", "edits_id IS NULL OR state <> 'in_doubt'"),
}
_NEW_CHECK = "thread_of IS NULL OR kind = 'event'"


def upgrade() -> None:
    op.add_column(
        "message", sa.Column("thread_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True)
    )
    if op.get_bind().dialect.name == "sqlite":
        _make_anew()
        return
    for name, (_, words) in _CHECKS.items():
        op.drop_constraint(f"ck_message_{name}", "message", type_="check")
        op.create_check_constraint(f"ck_message_{name}", "message", words)
    op.create_check_constraint("ck_message_thread_of", "message", _NEW_CHECK)


def _make_anew() -> None:
    """SQLite changes no check of a table."""
    kept = "SELECT sql FROM sqlite_master WHERE tbl_name = 'message' AND sql IS NOT NULL AND type = "
    (table,) = op.get_bind().exec_driver_sql(f"{kept}'table'").scalars().all()
    indexes = op.get_bind().exec_driver_sql(f"{kept}'index'").scalars().all()
    for before, after in _CHECKS.values():
        if before not in table:
            raise ValueError(f"the table of messages has no check {before}")
        table = table.replace(before, after)
    head, _, tail = table.rpartition(")")
    table = f"{head}, CONSTRAINT ck_message_thread_of CHECK ({_NEW_CHECK})){tail}"
    op.execute("ALTER TABLE message RENAME TO message_before")
    op.get_bind().exec_driver_sql(table)
    op.execute("INSERT INTO message SELECT * FROM message_before")
    op.execute("DROP TABLE message_before")
    for index in indexes:
        op.get_bind().exec_driver_sql(index)

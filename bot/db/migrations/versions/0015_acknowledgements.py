"""Abandonments to be acknowledged, and the messages of escalations."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('event', 'edit', 'live', 'live_edit', 'summary', 'notice', 'welcome', 'answer'"
_CHECKS = {
    "kind": (f"{_KINDS})", f"{_KINDS}, 'escalation', 'escalation_edit')"),
    "edits": (
        "(kind IN ('edit', 'live_edit')) = (edits_id IS NOT NULL)",
        "(kind IN ('edit', 'live_edit', 'escalation_edit')) = (edits_id IS NOT NULL)",
    ),
}
_OPEN = "state IN ('asked', 'reminded')"


def upgrade() -> None:
    op.create_table(
        "acknowledgement",
        sa.Column(
            "message_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("stepped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("taken_by", sa.String(), nullable=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('asked', 'reminded', 'unanswered', 'taken', 'replaced')", name="ck_acknowledgement_state"
        ),
        sa.CheckConstraint("(state = 'taken') = (taken_by IS NOT NULL)", name="ck_acknowledgement_taken_by"),
        sa.CheckConstraint("(state = 'taken') = (taken_at IS NOT NULL)", name="ck_acknowledgement_taken_at"),
        sa.CheckConstraint("state <> 'asked' OR stepped_at IS NULL", name="ck_acknowledgement_stepped_at"),
    )
    op.create_index(
        "ix_acknowledgement_open",
        "acknowledgement",
        ["message_id"],
        sqlite_where=sa.text(_OPEN),
        postgresql_where=sa.text(_OPEN),
    )
    if op.get_bind().dialect.name == "sqlite":
        _make_anew()
        return
    for name, (_, words) in _CHECKS.items():
        op.drop_constraint(f"ck_message_{name}", "message", type_="check")
        op.create_check_constraint(f"ck_message_{name}", "message", words)


def _make_anew() -> None:
    """SQLite changes no check of a table."""
    kept = "SELECT sql FROM sqlite_master WHERE tbl_name = 'message' AND sql IS NOT NULL AND type = "
    (table,) = op.get_bind().exec_driver_sql(f"{kept}'table'").scalars().all()
    indexes = op.get_bind().exec_driver_sql(f"{kept}'index'").scalars().all()
    for before, after in _CHECKS.values():
        if before not in table:
            raise ValueError(f"the table of messages has no check {before}")
        table = table.replace(before, after)
    op.execute("ALTER TABLE message RENAME TO message_before")
    op.get_bind().exec_driver_sql(table)
    op.execute("INSERT INTO message SELECT * FROM message_before")
    op.execute("DROP TABLE message_before")
    for index in indexes:
        op.get_bind().exec_driver_sql(index)

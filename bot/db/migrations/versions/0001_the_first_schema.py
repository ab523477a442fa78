"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "book_race",
        sa.Column("race_id", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("race_date", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("race_id"),
    )
    with op.batch_alter_table("book_race", schema=None) as batch_op:
        batch_op.create_index("ix_book_race_day", ["race_date", "region"], unique=False)

    op.create_table(
        "channel_subscription",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("filter", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("state_reason", sa.String(), nullable=True),
        sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("channel_id", "region", name="uq_channel_subscription_channel_id_region"),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("event_name", sa.Text(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("event_key", "body_sha256", name="uq_inbox_event_key_body_sha256"),
    )
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.create_index(
            "ix_inbox_new",
            ["received_at", "id"],
            unique=False,
            postgresql_where=sa.text("state = 'new'"),
            sqlite_where=sa.text("state = 'new'"),
        )

    op.create_table(
        "job_run",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("job", "slot"),
    )
    op.create_table(
        "lane",
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("lease_token", sa.String(), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_free_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("held_because", sa.String(), nullable=True),
        sa.Column("held_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("channel_id"),
    )
    op.create_table(
        "method_hold",
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("method"),
    )
    op.create_table(
        "notice",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "quota_sample",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("month", sa.String(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("certain", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("quota_sample", schema=None) as batch_op:
        batch_op.create_index("ix_quota_sample_taken_at", ["taken_at"], unique=False)

    op.create_table(
        "stored_state",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "webhook_subscription",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=True),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("race_id", sa.String(), nullable=True),
        sa.Column("meeting_id", sa.String(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("remarks", sa.Text(), nullable=True),
        sa.Column("inbox_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("posts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["inbox_id"],
            ["inbox.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("event_key", "version", name="uq_event_event_key_version"),
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index("ix_event_meeting_id", ["meeting_id"], unique=False)
        batch_op.create_index("ix_event_race_id", ["race_id"], unique=False)

    op.create_table(
        "post",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("dedupe_key", sa.Text(), nullable=False),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("plain", sa.Boolean(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sending_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("failed_looks", sa.Integer(), nullable=False),
        sa.Column("may_be_repeat", sa.Boolean(), nullable=False),
        sa.Column("message_ts", sa.String(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["event_id"],
            ["event.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dedupe_key", name="uq_post_dedupe_key"),
    )
    with op.batch_alter_table("post", schema=None) as batch_op:
        batch_op.create_index("ix_post_event_id", ["event_id"], unique=False)
        batch_op.create_index(
            "ix_post_lane",
            ["channel_id", "state", "priority", "id"],
            unique=False,
            postgresql_where=sa.text("state IN ('queued', 'sending', 'parked')"),
            sqlite_where=sa.text("state IN ('queued', 'sending', 'parked')"),
        )


def downgrade() -> None:
    with op.batch_alter_table("post", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_post_lane",
            postgresql_where=sa.text("state IN ('queued', 'sending', 'parked')"),
            sqlite_where=sa.text("state IN ('queued', 'sending', 'parked')"),
        )
        batch_op.drop_index("ix_post_event_id")

    op.drop_table("post")
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.drop_index("ix_event_race_id")
        batch_op.drop_index("ix_event_meeting_id")

    op.drop_table("event")
    op.drop_table("webhook_subscription")
    op.drop_table("stored_state")
    with op.batch_alter_table("quota_sample", schema=None) as batch_op:
        batch_op.drop_index("ix_quota_sample_taken_at")

    op.drop_table("quota_sample")
    op.drop_table("notice")
    op.drop_table("method_hold")
    op.drop_table("lane")
    op.drop_table("job_run")
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_inbox_new", postgresql_where=sa.text("state = 'new'"), sqlite_where=sa.text("state = 'new'")
        )

    op.drop_table("inbox")
    op.drop_table("channel_subscription")
    with op.batch_alter_table("book_race", schema=None) as batch_op:
        batch_op.drop_index("ix_book_race_day")

    op.drop_table("book_race")

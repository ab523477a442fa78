"""Every state of a message and of a channel's queue in a column of its own, and no state hidden in another."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_AT = sa.DateTime(timezone=True)

_QUEUE_CHECKS = {
    "state": "state IN ('open', 'paused', 'closed', 'on_trial')",
    "since": "(state = 'open') = (state_since IS NULL)",
    "reason": "(state IN ('closed', 'on_trial')) = (state_reason IS NOT NULL)",
    "lease": "(lease_token IS NULL) = (leased_until IS NULL)",
}
_KINDS = "'event', 'edit', 'summary', 'notice', 'welcome', 'answer'"
_STATES = "'queued', 'sending', 'in_doubt', 'sent', 'folded', 'muted', 'dead_letter'"
_REASONS = "'refused', 'no_entry', 'unresolved', 'in_vain', 'waited_too_long', 'unsubscribed'"
_MESSAGE_CHECKS = {
    "kind": f"kind IN ({_KINDS})",
    "state": f"state IN ({_STATES})",
    "reason": f"reason IS NULL OR reason IN ({_REASONS})",
    "edits": "(kind = 'edit') = (edits_id IS NOT NULL)",
    "event": "(kind IN ('event', 'edit')) = (event_id IS NOT NULL)",
    "content": "(event_id IS NULL) = (content IS NOT NULL)",
    "folded": "(state = 'folded') = (folded_into IS NOT NULL)",
    "muted": "(state = 'muted') = (muted_by IS NOT NULL)",
    "dead_letter": "(state = 'dead_letter') = (reason IS NOT NULL)",
    "given_up": "(state = 'dead_letter') = (given_up_at IS NOT NULL)",
    "sent": "(state = 'sent') = (sent_at IS NOT NULL)",
    "ts": "state <> 'sent' OR message_ts IS NOT NULL",
    "edit_in_doubt": "kind <> 'edit' OR state <> 'in_doubt'",
    "sending": "state NOT IN ('sending', 'in_doubt') OR (sending_at IS NOT NULL AND deadline_at IS NOT NULL)",
}


def upgrade() -> None:
    _make_queues()
    _make_messages()
    _copy_queues()
    _copy_messages()
    op.drop_table("post")
    op.drop_table("lane")
    _index("ix_message_unsent", ["channel_id", "state", "priority", "id"], "state IN ('queued', 'sending', 'in_doubt')")
    _index("ix_message_dead_letter", ["channel_id", "given_up_at"], "state = 'dead_letter'")
    _index("ix_message_event_id", ["event_id"])
    _index("ix_message_sent", ["channel_id", "id"], "state = 'sent'")
    _index("ix_message_edits_id", ["edits_id"], "edits_id IS NOT NULL")
    _index("ix_message_folded_into", ["folded_into"], "folded_into IS NOT NULL")


def _make_queues() -> None:
    op.create_table(
        "channel_queue",
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("state_reason", sa.String(), nullable=True),
        sa.Column("state_since", _AT, nullable=True),
        sa.Column("lease_token", sa.String(), nullable=True),
        sa.Column("leased_until", _AT, nullable=True),
        sa.Column("next_free_at", _AT, nullable=False),
        *(sa.CheckConstraint(words, name=f"ck_channel_queue_{name}") for name, words in _QUEUE_CHECKS.items()),
        sa.PrimaryKeyConstraint("channel_id"),
    )


def _make_messages() -> None:
    op.create_table(
        "message",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("event_id", _BIG, nullable=True),
        sa.Column("edits_id", _BIG, nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("folded_into", _BIG, nullable=True),
        sa.Column("muted_by", sa.String(), nullable=True),
        sa.Column("plain", sa.Boolean(), nullable=False),
        sa.Column("received_at", _AT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sending_at", _AT, nullable=True),
        sa.Column("deadline_at", _AT, nullable=True),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("failed_looks", sa.Integer(), nullable=False),
        sa.Column("may_be_repeat", sa.Boolean(), nullable=False),
        sa.Column("message_ts", sa.String(), nullable=True),
        sa.Column("sent_at", _AT, nullable=True),
        sa.Column("given_up_at", _AT, nullable=True),
        *(sa.CheckConstraint(words, name=f"ck_message_{name}") for name, words in _MESSAGE_CHECKS.items()),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("idempotency_key", name="uq_message_idempotency_key"),
    )


def _copy_queues() -> None:
    """A lane without a reason and with a time was on trial: the code of the closing stands beside its subscriptions."""
    op.execute(
        """
        INSERT INTO channel_queue
            (channel_id, state, state_reason, state_since, lease_token, leased_until, next_free_at)
        SELECT channel_id,
            CASE WHEN held_because = 'paused' THEN 'paused'
                 WHEN held_because IS NOT NULL THEN 'closed'
                 WHEN held_at IS NOT NULL THEN 'on_trial'
                 ELSE 'open' END,
            CASE WHEN held_because = 'paused' THEN NULL
                 WHEN held_because IS NOT NULL THEN held_because
                 WHEN held_at IS NOT NULL
                 THEN COALESCE(
                    (SELECT MIN(state_reason) FROM channel_subscription
                     WHERE channel_subscription.channel_id = lane.channel_id
                        AND channel_subscription.state = 'suspended'),
                    'tried again') END,
            CASE WHEN held_because IS NOT NULL THEN COALESCE(held_at, next_free_at) ELSE held_at END,
            CASE WHEN leased_until IS NOT NULL THEN lease_token END,
            CASE WHEN lease_token IS NOT NULL THEN leased_until END,
            next_free_at
        FROM lane
        """
    )


def _copy_messages() -> None:
    """Each way of being given up by the beginning or the end of its English text; what a fold was by its target.

    A message under way without its times is looked for in the channel's history too, as from its receipt until now.
    """
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    since = _SINCE_ON_POSTGRESQL if is_postgresql else _SINCE_ON_SQLITE
    copied = sa.text(
        f"""
        INSERT INTO message
            (id, channel_id, idempotency_key, kind, event_id, edits_id, content, priority, state, reason, detail,
             folded_into, muted_by, plain, received_at, attempts, sending_at, deadline_at, looks, failed_looks,
             may_be_repeat, message_ts, sent_at, given_up_at)
        SELECT post.id, post.channel_id, post.dedupe_key,
            CASE WHEN post.event_id IS NULL AND post.dedupe_key LIKE 'waited:%' THEN 'summary'
                 WHEN post.event_id IS NULL AND post.dedupe_key LIKE 'welcome:%' THEN 'welcome'
                 WHEN post.event_id IS NULL AND post.dedupe_key LIKE 'help:%' THEN 'answer'
                 WHEN post.event_id IS NULL THEN 'notice'
                 WHEN {_IS_EDIT} THEN 'edit'
                 ELSE 'event' END,
            post.event_id,
            CASE WHEN {_IS_EDIT} THEN post.edits_post_id END,
            CASE WHEN post.event_id IS NULL THEN COALESCE(post.content, '{_NOTHING_LEFT}') END,
            post.priority,
            CASE WHEN {_IS_GIVEN_UP} THEN 'dead_letter'
                 WHEN post.state = 'sending' AND {_IS_EDIT} THEN 'queued'
                 WHEN post.state = 'sending' THEN 'in_doubt'
                 WHEN post.state = 'folded' AND post.edits_post_id IS NULL THEN 'queued'
                 ELSE post.state END,
            CASE WHEN NOT ({_IS_GIVEN_UP}) THEN NULL
                 WHEN post.state <> 'parked' THEN 'unresolved'
                 WHEN {_WAITED} THEN 'waited_too_long'
                 WHEN post.error LIKE 'the channel unsubscribed%' THEN 'unsubscribed'
                 WHEN post.error = 'not in the channel''s history' THEN 'in_vain'
                 WHEN post.looks > 0 OR post.failed_looks > 0 OR post.error LIKE 'conversations.history: %'
                 THEN 'unresolved'
                 WHEN {_TO_A_PERSON} AND post.error NOT LIKE '%: %' THEN 'no_entry'
                 ELSE 'refused' END,
            CASE WHEN post.state = 'muted' THEN NULL
                 WHEN {_IS_GIVEN_UP} AND post.state = 'folded' THEN 'the message that said the same is not stored'
                 WHEN {_IS_GIVEN_UP} AND post.state = 'sent' THEN 'where the message stands is not stored'
                 ELSE post.error END,
            CASE WHEN post.state = 'folded' AND NOT ({_IS_GIVEN_UP}) THEN post.edits_post_id END,
            CASE WHEN post.state = 'muted' THEN COALESCE(post.error, 'somebody') END,
            post.plain, post.received_at, post.attempts,
            CASE WHEN post.state = 'sending' THEN COALESCE(post.sending_at, post.received_at)
                 ELSE post.sending_at END,
            CASE WHEN post.state = 'sending' THEN COALESCE(post.deadline_at, lane.leased_until, :now)
                 ELSE post.deadline_at END,
            post.looks, post.failed_looks, post.may_be_repeat, post.message_ts,
            CASE WHEN post.state = 'sent' AND post.message_ts IS NOT NULL
                 THEN COALESCE(post.sent_at, post.deadline_at, post.received_at) END,
            CASE WHEN NOT ({_IS_GIVEN_UP}) THEN NULL
                 WHEN {_WAITED} AND post.received_at < lane.held_at AND post.error LIKE '%' || {since} THEN lane.held_at
                 WHEN {_WAITED} THEN post.received_at
                 ELSE COALESCE(post.deadline_at, post.received_at) END
        FROM post
        LEFT JOIN lane ON lane.channel_id = post.channel_id
        LEFT JOIN post AS target ON target.id = post.edits_post_id
        """  # noqa: S608  constants
    )
    op.execute(copied.bindparams(sa.bindparam("now", datetime.now(UTC), type_=_AT)))
    # The numbers go on after those that were copied.
    if is_postgresql:
        op.execute(
            "SELECT setval(pg_get_serial_sequence('message', 'id'), COALESCE(MAX(id), 0) + 1, false) FROM message"
        )


_SINCE_ON_SQLITE = "'since ' || replace(substr(lane.held_at, 1, 23), ' ', 'T') || '+00:00)'"
_SINCE_ON_POSTGRESQL = """to_char(lane.held_at AT TIME ZONE 'UTC', '"since "YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00)"')"""
"""How the text ends of a message that waited too long in the closing that still lasts.

Such a message counts from the closing on. Those of earlier closings were received before, and count no more.
"""

_WAITED = "post.error LIKE 'it waited too long for its channel%'"
_TO_A_PERSON = "(post.channel_id LIKE 'U%' OR post.channel_id LIKE 'W%')"
_NOTHING_LEFT = '{"text": "A message of which nothing is left."}'
_SAID_BY_SUMMARY = "(post.state = 'folded' AND target.event_id IS NULL AND target.id IS NOT NULL)"
_IS_EDIT = f"(post.event_id IS NOT NULL AND post.edits_post_id IS NOT NULL AND NOT {_SAID_BY_SUMMARY})"
_IS_GIVEN_UP = (
    "(post.state = 'parked' OR (post.state = 'sent' AND post.message_ts IS NULL)"
    " OR (post.state = 'folded' AND post.edits_post_id IS NOT NULL AND target.id IS NULL))"
)


def _index(name: str, columns: list[str], where: str | None = None) -> None:
    condition = sa.text(where) if where else None
    op.create_index(name, "message", columns, unique=False, postgresql_where=condition, sqlite_where=condition)

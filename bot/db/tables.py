"""Every table. Times are aware and UTC; structured values are pydantic's JSON."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, Text, UniqueConstraint, false
from sqlmodel import Field, SQLModel

BigKey = BigInteger().with_variant(Integer(), "sqlite")
"""A growing primary key: SQLite numbers only INTEGER columns."""

TO_EDIT = "state = 'sent' AND wanted_rev > sent_rev AND gone_since IS NULL"
"""Messages with an edit that is due, in the words of the index."""

WHERE = "where"
"""Key of `info`: the condition of a partial index. SQLAlchemy's own options would load both dialects."""


def _count() -> Column[int]:
    return Column(Integer, nullable=False, server_default="0")


def _one_of(column: str, states: type[StrEnum]) -> str:
    return f"{column} IN ({', '.join(repr(state.value) for state in states)})"


class Numbered(SQLModel):
    id: int | None = Field(default=None, sa_type=BigKey, primary_key=True)


class InboxState(StrEnum):
    NEW = "new"
    DONE = "done"


class InboxDelivery(Numbered, table=True):
    """A signed body, stored before the answer. Key and hash stay for ever; `body` is pruned.

    The inbox is unique by the hash alone: another version may read another key from the same body. The older
    constraint on key and hash is now only an index for keys.
    """

    __tablename__ = "inbox"
    __table_args__ = (
        UniqueConstraint("event_key", "body_sha256", name="uq_inbox_event_key_body_sha256"),
        Index("uq_inbox_body_sha256", "body_sha256", unique=True),
        Index("ix_inbox_new", "received_at", "id", info={WHERE: "state = 'new'"}),
        Index(
            "ix_inbox_urgent",
            "received_at",
            "id",
            info={WHERE: "state = 'new' AND event_name IN ('race.abandoned', 'meeting.abandoned')"},
        ),
        Index("ix_inbox_received_at", "received_at", "event_name"),
        Index("ix_inbox_region", "region", "received_at", "id", info={WHERE: "state = 'new'"}),
    )

    event_key: str = Field(sa_type=Text)
    body_sha256: str = Field(max_length=64)
    event_name: str | None = Field(default=None, sa_type=Text)
    body: bytes | None = None
    received_at: datetime
    state: str = InboxState.NEW
    attempts: int = 0
    not_before: datetime | None = None
    error: str | None = Field(default=None, sa_type=Text)
    done_at: datetime | None = None
    region: str = Field(default="", sa_column=Column(Text, nullable=False, server_default=""))
    """As the delivery says it, for turns in fan-out."""


class InboxKey(SQLModel, table=True):
    """A further key of a delivery, by another event or by a race that an abandonment names.

    Most deliveries have a single key, in `inbox`, and cost no further statement.
    """

    __tablename__ = "inbox_key"

    inbox_id: int = Field(foreign_key="inbox.id", primary_key=True, sa_type=BigKey)
    event_key: str = Field(sa_type=Text, primary_key=True, index=True)


class EventVersion(Numbered, table=True):
    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("event_key", "version", name="uq_event_event_key_version"),
        Index("ix_event_race_id", "race_id"),
        Index("ix_event_meeting_id", "meeting_id"),
        Index("ix_event_race_date", "race_date", "kind", "received_at"),
        Index("ix_event_without_race_id", "race_date", "received_at", info={WHERE: "race_id IS NULL"}),
    )

    event_key: str = Field(sa_type=Text)
    version: int
    kind: str | None = None
    region: str | None = None
    race_id: str | None = None
    meeting_id: str | None = None
    race_date: str | None = None
    data: str = Field(sa_type=Text)
    """The RacingEvent as JSON, with values of all versions so far."""
    remarks: str | None = Field(default=None, sa_type=Text)
    """The VersionRemarks as JSON."""
    inbox_id: int = Field(foreign_key="inbox.id", sa_type=BigKey)
    received_at: datetime
    posts: int = 0
    """The count of channels told; 0 for an event without subscribers."""


class NamedRace(SQLModel, table=True):
    """Links a race's own abandonment to an abandoned meeting that names the race."""

    __tablename__ = "named_race"

    race_id: str = Field(sa_type=Text, primary_key=True)
    event_key: str = Field(sa_type=Text, primary_key=True)


class SubscriptionState(StrEnum):
    LIVE = "live"
    WAITING = "waiting"
    """Until the bot joins."""
    PAUSED = "paused"
    SUSPENDED = "suspended"
    """The channel is gone or closed to the bot."""


class ChannelSubscriptionRow(Numbered, table=True):
    """To one region, or to all regions (`*`)."""

    __tablename__ = "channel_subscription"
    __table_args__ = (UniqueConstraint("channel_id", "region", name="uq_channel_subscription_channel_id_region"),)

    channel_id: str
    region: str
    filter: str = Field(sa_type=Text)
    """The ChannelFilter as JSON."""
    state: str = SubscriptionState.LIVE
    state_reason: str | None = None
    paused_until: datetime | None = None
    created_by: str
    created_at: datetime
    updated_at: datetime


class MutedMeetingRow(Numbered, table=True):
    """Holds back results and racecards. Ended mutes stay for `/racing trace`."""

    __tablename__ = "muted_meeting"
    __table_args__ = (Index("ix_muted_meeting_muted_at", "muted_at"),)

    channel_id: str
    meeting: str = Field(sa_type=Text)
    """The Meeting as JSON."""
    muted_by: str
    muted_at: datetime
    ended_at: datetime | None = None


class WatchKind(StrEnum):
    """Who is watched. The values are fields of a runner."""

    HORSE = "horse"
    TRAINER = "trainer"
    JOCKEY = "jockey"


class WatchRow(Numbered, table=True):
    """A name that a channel or a person follows."""

    __tablename__ = "watch"
    __table_args__ = (
        UniqueConstraint("channel_id", "kind", "name_key", name="uq_watch_channel_id_kind_name_key"),
        CheckConstraint(_one_of("kind", WatchKind), name="ck_watch_kind"),
    )

    channel_id: str
    """A person's: the direct message with the bot, or the person's id where the direct message is not known."""
    person_id: str | None = None
    """For a watch for oneself."""
    kind: str
    name: str = Field(sa_type=Text)
    """As typed."""
    name_key: str = Field(sa_type=Text)
    """See bot.events.watched."""
    created_by: str
    created_at: datetime
    paused_until: datetime | None = None


class AuditEntry(Numbered, table=True):
    """A change of a channel's choice; `before` and `after` in words."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_channel_id", "channel_id", "id"), Index("ix_audit_user_id", "user_id", "id"))

    at: datetime
    user_id: str
    channel_id: str
    action: str
    before: str | None = Field(default=None, sa_type=Text)
    after: str | None = Field(default=None, sa_type=Text)
    reference: str
    """Finds the change in the log."""


class QueueState(StrEnum):
    OPEN = "open"
    PAUSED = "paused"
    """By request: events wait, notices go out."""
    CLOSED = "closed"
    """Slack refuses posts (archived, bot removed, …): all messages wait."""
    ON_TRIAL = "on_trial"
    """After closed: the first post that Slack takes opens the queue."""


class ChannelQueue(SQLModel, table=True):
    """The holder of the lease may post in the channel."""

    __tablename__ = "channel_queue"
    __table_args__ = (
        CheckConstraint(_one_of("state", QueueState), name="ck_channel_queue_state"),
        CheckConstraint("(state = 'open') = (state_since IS NULL)", name="ck_channel_queue_since"),
        CheckConstraint(
            "(state IN ('closed', 'on_trial')) = (state_reason IS NOT NULL)", name="ck_channel_queue_reason"
        ),
        CheckConstraint("(lease_token IS NULL) = (leased_until IS NULL)", name="ck_channel_queue_lease"),
    )

    channel_id: str = Field(primary_key=True)
    state: str = QueueState.OPEN
    state_reason: str | None = None
    """Slack's code, while closed or on trial."""
    state_since: datetime | None = None
    """Trials belong to the closure."""
    lease_token: str | None = None
    leased_until: datetime | None = None
    next_free_at: datetime


class MessageKind(StrEnum):
    EVENT = "event"
    LIVE = "live"
    """A meeting in one message, which is kept up to date."""
    SUMMARY = "summary"
    """Lists messages that waited for the channel."""
    NOTICE = "notice"
    """About the bot itself."""
    WELCOME = "welcome"
    ANSWER = "answer"
    """Answers a direct message."""
    ESCALATION = "escalation"
    """Nobody has acknowledged an abandonment."""


class MessageState(StrEnum):
    QUEUED = "queued"
    SENDING = "sending"
    """Claimed by the holder of the queue's lease; maybe handed to Slack."""
    IN_DOUBT = "in_doubt"
    """Sent without an answer: the channel's history is read before a repeat."""
    SENT = "sent"
    FOLDED = "folded"
    """Needs no call: the message of `folded_into` says the same."""
    MUTED = "muted"
    """Not sent: `muted_by` muted the meeting."""
    DEAD_LETTER = "dead_letter"
    """Given up for `reason`; no automatic retry."""


class Reason(StrEnum):
    REFUSED = "refused"
    """By Slack, also as plain text."""
    NO_ENTRY = "no_entry"
    """Direct messages closed to the bot."""
    UNRESOLVED = "unresolved"
    """In doubt for good, and `DOUBTFUL_POSTS=hold` forbids a repeat."""
    IN_VAIN = "in_vain"
    """Every call ended in doubt while Slack took other messages."""
    WAITED_TOO_LONG = "waited_too_long"
    """Longer than `QUEUE_KEEP_HOURS`."""
    UNSUBSCRIBED = "unsubscribed"


class OutboxMessage(Numbered, table=True):
    __tablename__ = "message"
    __table_args__ = (
        UniqueConstraint("idempotency_key", name="uq_message_idempotency_key"),
        CheckConstraint(_one_of("kind", MessageKind), name="ck_message_kind"),
        CheckConstraint(_one_of("state", MessageState), name="ck_message_state"),
        CheckConstraint(f"reason IS NULL OR {_one_of('reason', Reason)}", name="ck_message_reason"),
        CheckConstraint("(kind = 'event') = (event_id IS NOT NULL)", name="ck_message_event"),
        CheckConstraint("(event_id IS NULL) = (content IS NOT NULL)", name="ck_message_content"),
        CheckConstraint("thread_of IS NULL OR kind = 'event'", name="ck_message_thread_of"),
        CheckConstraint("(state = 'folded') = (folded_into IS NOT NULL)", name="ck_message_folded"),
        CheckConstraint("(state = 'muted') = (muted_by IS NOT NULL)", name="ck_message_muted"),
        CheckConstraint("(state = 'dead_letter') = (reason IS NOT NULL)", name="ck_message_dead_letter"),
        CheckConstraint("(state = 'dead_letter') = (given_up_at IS NOT NULL)", name="ck_message_given_up"),
        CheckConstraint("(state = 'sent') = (sent_at IS NOT NULL)", name="ck_message_sent"),
        CheckConstraint("state <> 'sent' OR message_ts IS NOT NULL", name="ck_message_ts"),
        CheckConstraint("wanted_rev >= sent_rev", name="ck_message_rev"),
        CheckConstraint("gone_since IS NULL OR kind <> 'event'", name="ck_message_gone"),
        CheckConstraint(
            "state NOT IN ('sending', 'in_doubt') OR (sending_at IS NOT NULL AND deadline_at IS NOT NULL)",
            name="ck_message_sending",
        ),
        Index(
            "ix_message_unsent",
            "channel_id",
            "state",
            "priority",
            "id",
            info={WHERE: "state IN ('queued', 'sending', 'in_doubt')"},
        ),
        Index("ix_message_dead_letter", "channel_id", "given_up_at", info={WHERE: "state = 'dead_letter'"}),
        Index("ix_message_event_id", "event_id"),
        Index("ix_message_sent", "channel_id", "id", info={WHERE: "state = 'sent'"}),
        Index("ix_message_event_sent", "sent_at", "received_at", info={WHERE: "state = 'sent' AND kind = 'event'"}),
        Index("ix_message_not_before", "not_before", info={WHERE: "not_before IS NOT NULL"}),
        Index("ix_message_to_edit", "channel_id", "priority", "id", info={WHERE: TO_EDIT}),
        Index("ix_message_folded_into", "folded_into", info={WHERE: "folded_into IS NOT NULL"}),
        Index("ix_message_follows_id", "follows_id", info={WHERE: "follows_id IS NOT NULL"}),
    )

    id: int = Field(default=None, sa_type=BigKey, primary_key=True)
    channel_id: str
    idempotency_key: str = Field(sa_type=Text)
    """Unique for each message and channel; also Slack's metadata."""
    kind: str
    event_id: int | None = Field(default=None, foreign_key="event.id", sa_type=BigKey)
    content: str | None = Field(default=None, sa_type=Text)
    """As JSON: of a message without event the Message, of a live message the meeting, of an escalation an Escalated."""
    priority: int
    state: str = MessageState.QUEUED
    reason: str | None = None
    """A `Reason`, of a dead letter."""
    detail: str | None = Field(default=None, sa_type=Text)
    """The last error in words, for the log and `/racing trace`."""
    folded_into: int | None = Field(default=None, sa_type=BigKey)
    muted_by: str | None = None
    plain: bool = False
    """Slack refused the blocks: only the text is posted."""
    received_at: datetime
    not_before: datetime | None = None
    """While set, a queued message waits: until then, or until the job is done that tells what waited."""
    due_at: datetime | None = None
    """When a message that waited was due: lateness and age count from here. None of a message that never waited."""
    attempts: int = 0
    sending_at: datetime | None = None
    """Start of the last call."""
    deadline_at: datetime | None = None
    """Latest end of the call."""
    looks: int = 0
    """Reads of the history without a find."""
    failed_looks: int = 0
    """Failed reads of the history."""
    may_be_repeat: bool = False
    message_ts: str | None = None
    sent_at: datetime | None = None
    given_up_at: datetime | None = None
    thread_of: int | None = Field(default=None, sa_type=BigKey)
    """The live message whose thread the message belongs to."""
    wanted_rev: int = Field(default=0, sa_column=_count())
    """Counts what the message is to show since it was made. An edit is due while `sent_rev` is smaller."""
    sent_rev: int = Field(default=0, sa_column=_count())
    """The revision that Slack shows."""
    wanted_at: datetime | None = None
    """Since when the first due edit waits. Old values stay."""
    after_id: int | None = Field(default=None, sa_type=BigKey)
    """The next edit waits until this message is sent, or given up."""
    passes_pause: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """The next edit is made in a paused channel too."""
    edit_attempts: int = Field(default=0, sa_column=_count())
    """Calls since the last edit that was made or refused."""
    edit_sending_at: datetime | None = None
    """Start of the last call of an edit."""
    gone_since: datetime | None = None
    """Slack said that a message without an event is gone, or is edited no more: the start of the refused call."""
    follows_id: int | None = Field(default=None, sa_type=BigKey)
    """For an escalation: the message that asks."""


class SaidRow(SQLModel, table=True):
    """An event that a message shows, or is to show, beside the event of its own. The channel has no other message."""

    __tablename__ = "said"
    __table_args__ = (Index("ix_said_event_id", "event_id"),)

    message_id: int = Field(sa_column=Column(BigKey, primary_key=True, autoincrement=False))
    event_id: int = Field(sa_column=Column(BigKey, primary_key=True, autoincrement=False))
    rev: int = Field(default=0, sa_column=_count())
    """The message's revision that shows the event. 0: the message needs no edit for the event."""
    said_at: datetime | None = None
    """When the edit was made."""


class AckState(StrEnum):
    ASKED = "asked"
    REMINDED = "reminded"
    """People were mentioned, and other channels are told next."""
    UNANSWERED = "unanswered"
    """No step is left."""
    TAKEN = "taken"
    REPLACED = "replaced"
    """A newer message of the channel tells of the abandonment, or nobody wants the abandonment any more."""


class Acknowledgement(SQLModel, table=True):
    """The acknowledgement of an abandonment's message with a button."""

    __tablename__ = "acknowledgement"
    __table_args__ = (
        CheckConstraint(_one_of("state", AckState), name="ck_acknowledgement_state"),
        CheckConstraint("(state = 'taken') = (taken_by IS NOT NULL)", name="ck_acknowledgement_taken_by"),
        CheckConstraint("(state = 'taken') = (taken_at IS NOT NULL)", name="ck_acknowledgement_taken_at"),
        CheckConstraint("state <> 'asked' OR stepped_at IS NULL", name="ck_acknowledgement_stepped_at"),
        Index("ix_acknowledgement_open", "message_id", info={WHERE: "state IN ('asked', 'reminded')"}),
    )

    message_id: int = Field(sa_column=Column(BigKey, primary_key=True, autoincrement=False))
    asked: str = Field(sa_type=Text)
    """The AckRequest as JSON: after how long, and who is told."""
    state: str = AckState.ASKED
    stepped_at: datetime | None = None
    """The last step of the escalation."""
    taken_by: str | None = None
    taken_at: datetime | None = None


class LiveMeetingRow(SQLModel, table=True):
    """All that is known of a live message's meeting. The channel is the message's."""

    __tablename__ = "live_meeting"
    __table_args__ = (
        Index("ix_live_meeting_race_date", "race_date"),
        Index("ix_live_meeting_changes_at", "changes_at", info={WHERE: "changes_at IS NOT NULL"}),
    )

    message_id: int = Field(sa_column=Column(BigKey, primary_key=True, autoincrement=False))
    race_date: str
    region: str | None = None
    course_id: str | None = None
    course_name: str | None = None
    """As first published."""
    folded_name: str | None = None
    """For comparing: names of one course differ in letter case."""
    changes_at: datetime | None = None
    """When the message as last sent is out of date by the time alone. None while an edit waits."""


class Generation(SQLModel, table=True):
    """One row; see bot.db.generation."""

    __tablename__ = "generation"

    id: int = Field(primary_key=True)
    mark: str


class MethodHold(SQLModel, table=True):
    """A Slack method that asked for a wait (`ratelimited`)."""

    __tablename__ = "method_hold"

    method: str = Field(primary_key=True)
    until: datetime
    reason: str


class MethodPace(SQLModel, table=True):
    """The token bucket of a Slack method, for all replicas together."""

    __tablename__ = "method_pace"

    method: str = Field(primary_key=True)
    calls: float
    """Calls left as of `counted_at`."""
    counted_at: datetime


class Notice(SQLModel, table=True):
    """Told notices: the key prevents a repeat. See bot.outbox.told_once."""

    __tablename__ = "notice"

    key: str = Field(sa_type=Text, primary_key=True)
    created_at: datetime


class StoredState(SQLModel, table=True):
    __tablename__ = "stored_state"

    name: str = Field(primary_key=True)
    value: str = Field(sa_type=Text)
    updated_at: datetime


class WebhookSubscriptionRow(Numbered, table=True):
    """Our subscription with the data service; `secret` and `answer` are encrypted."""

    __tablename__ = "webhook_subscription"

    url: str = Field(sa_type=Text)
    events: str
    region: str | None = None
    secret: bytes | None = None
    answer: bytes | None = None
    """The whole answer, where no secret was recognised (Spec gap G3)."""
    created_at: datetime
    retired_at: datetime | None = None


class QuotaSample(Numbered, table=True):
    """Figures of a month ("2026-11") up to `taken_at`: as read, or the sum of the service's days."""

    __tablename__ = "quota_sample"
    __table_args__ = (Index("ix_quota_sample_taken_at", "taken_at"),)

    taken_at: datetime
    month: str
    used: int
    certain: bool
    """False for a lower bound."""
    source: str | None = None
    """A `QuotaSource`; None in rows of old versions."""
    errors: int | None = None
    refusals: int | None = None


class BookRace(SQLModel, table=True):
    __tablename__ = "book_race"
    __table_args__ = (
        Index("ix_book_race_day", "race_date", "region"),
        Index("ix_book_race_meeting_id", "meeting_id", info={WHERE: "meeting_id IS NOT NULL"}),
    )

    race_id: str = Field(primary_key=True)
    region: str
    race_date: str
    meeting_id: str | None = Field(default=None, sa_type=Text)
    data: str = Field(sa_type=Text)
    """The Race as JSON."""
    updated_at: datetime


class Touched(SQLModel, table=True):
    """Races and events with later values, until fan-out has edited the messages. `what`: see bot.events.touched."""

    __tablename__ = "touched"

    what: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text, primary_key=True)
    attempts: int = Field(default=0, sa_column=_count())
    """Failed looks since the last news."""
    not_before: datetime | None = None
    """When fan-out looks again after a failure."""


class JobRun(SQLModel, table=True):
    """The last claimed slot of a job: leased until the run is good. `done_at` is the end of the last good run.

    After the lease, another replica takes the slot over.
    """

    __tablename__ = "job_run"

    job: str = Field(primary_key=True)
    slot_at: datetime
    claimed_by: str
    leased_until: datetime | None = None
    done_at: datetime | None = None

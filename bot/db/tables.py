"""Every table of the bot. Times are aware and UTC; structured values are JSON text, written and read by pydantic."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

BigKey = BigInteger().with_variant(Integer(), "sqlite")
"""A growing primary key: SQLite gives numbers by itself only to a column that is called INTEGER."""

WHERE = "where"
"""Which rows an index has, in its `info`: SQLAlchemy's own options would have every process load both dialects."""


def _growing_key() -> Column[int]:
    return Column(BigKey, primary_key=True, autoincrement=True)


def _text(*, nullable: bool = False) -> Column[str]:
    return Column(Text, nullable=nullable)


def _one_of(column: str, states: type[StrEnum]) -> str:
    """The words of a constraint: the column has one of these values."""
    return f"{column} IN ({', '.join(repr(state.value) for state in states)})"


class InboxState(StrEnum):
    """Where a stored delivery stands."""

    NEW = "new"
    DONE = "done"


class InboxDelivery(SQLModel, table=True):
    """One signed body, stored before it was answered. (key, hash) stays for ever; `body` is pruned after a while."""

    __tablename__ = "inbox"
    __table_args__ = (
        UniqueConstraint("event_key", "body_sha256", name="uq_inbox_event_key_body_sha256"),
        Index(
            "ix_inbox_new",
            "received_at",
            "id",
            info={WHERE: "state = 'new'"},
        ),
        Index(
            "ix_inbox_urgent",
            "received_at",
            "id",
            info={WHERE: "state = 'new' AND event_name IN ('race.abandoned', 'meeting.abandoned')"},
        ),
        Index("ix_inbox_received_at", "received_at", "event_name"),
    )

    id: int | None = Field(default=None, sa_column=_growing_key())
    event_key: str = Field(sa_column=_text())
    body_sha256: str = Field(max_length=64)
    event_name: str | None = Field(default=None, sa_column=_text(nullable=True))
    body: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    received_at: datetime
    state: str = InboxState.NEW
    attempts: int = 0
    not_before: datetime | None = None
    error: str | None = Field(default=None, sa_column=_text(nullable=True))
    done_at: datetime | None = None


class EventVersion(SQLModel, table=True):
    """One version of an event: what a delivery said that the versions before it did not."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("event_key", "version", name="uq_event_event_key_version"),
        Index("ix_event_race_id", "race_id"),
        Index("ix_event_meeting_id", "meeting_id"),
        Index("ix_event_race_date", "race_date", "kind", "received_at"),
        Index("ix_event_without_race_id", "race_date", "received_at", info={WHERE: "race_id IS NULL"}),
    )

    id: int | None = Field(default=None, sa_column=_growing_key())
    event_key: str = Field(sa_column=_text())
    version: int
    kind: str | None = None
    region: str | None = None
    race_id: str | None = None
    meeting_id: str | None = None
    race_date: str | None = None
    """As published, where it was."""
    data: str = Field(sa_column=_text())
    """The RacingEvent as JSON, with all that the versions so far said: the next version is compared with it."""
    remarks: str | None = Field(default=None, sa_column=_text(nullable=True))
    """What is to be said of it beside the event itself: the VersionRemarks, as JSON; null where there is nothing."""
    inbox_id: int = Field(sa_column=Column(BigKey, ForeignKey("inbox.id"), nullable=False))
    received_at: datetime
    posts: int = 0
    """To how many channels it went; 0 is an event that nobody had subscribed to."""


class NamedRace(SQLModel, table=True):
    """A race that an abandoned meeting names: by it, the race's own abandonment is known for a part of the meeting."""

    __tablename__ = "named_race"

    race_id: str = Field(sa_column=Column(Text, primary_key=True))
    event_key: str = Field(sa_column=Column(Text, primary_key=True))


class SubscriptionState(StrEnum):
    """Where a channel's subscription stands."""

    LIVE = "live"
    WAITING = "waiting"
    """The bot is not in the channel yet; it starts on joining."""
    PAUSED = "paused"
    SUSPENDED = "suspended"
    """The channel is gone or closed to us; nothing is deleted."""


class ChannelSubscriptionRow(SQLModel, table=True):
    """A channel's subscription to one region, or to all of them (`*`)."""

    __tablename__ = "channel_subscription"
    __table_args__ = (UniqueConstraint("channel_id", "region", name="uq_channel_subscription_channel_id_region"),)

    id: int | None = Field(default=None, sa_column=_growing_key())
    channel_id: str
    region: str
    filter: str = Field(sa_column=_text())
    """The ChannelFilter, as JSON."""
    state: str = SubscriptionState.LIVE
    state_reason: str | None = None
    paused_until: datetime | None = None
    created_by: str
    created_at: datetime
    updated_at: datetime


class MutedMeetingRow(SQLModel, table=True):
    """A meeting whose results and racecards a channel does not want. Kept when it has ended: the trace tells of it."""

    __tablename__ = "muted_meeting"
    __table_args__ = (Index("ix_muted_meeting_muted_at", "muted_at"),)

    id: int | None = Field(default=None, sa_column=_growing_key())
    channel_id: str
    meeting: str = Field(sa_column=_text())
    """The Meeting, as JSON."""
    muted_by: str
    muted_at: datetime
    ended_at: datetime | None = None


class AuditEntry(SQLModel, table=True):
    """One change of what a channel receives: who made it, when, and what it was before and after, in words."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_channel_id", "channel_id", "id"), Index("ix_audit_user_id", "user_id", "id"))

    id: int | None = Field(default=None, sa_column=_growing_key())
    at: datetime
    user_id: str
    channel_id: str
    action: str
    before: str | None = Field(default=None, sa_column=_text(nullable=True))
    after: str | None = Field(default=None, sa_column=_text(nullable=True))
    reference: str
    """What finds it in the log."""


class QueueState(StrEnum):
    """Where a channel's queue stands."""

    OPEN = "open"
    PAUSED = "paused"
    """Somebody asked for a pause: events wait, and notices go out."""
    CLOSED = "closed"
    """Slack refuses posts there (archived, the bot removed, …): everything waits."""
    ON_TRIAL = "on_trial"
    """Was closed, and may be open again: the first post that Slack takes opens the queue."""


class ChannelQueue(SQLModel, table=True):
    """A channel's queue: its state, its lease and its next free moment. Whoever holds the lease may post there."""

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
    """Of a closed queue, and of one on trial: Slack's code."""
    state_since: datetime | None = None
    """Since when the queue is closed (the trials included) or paused."""
    lease_token: str | None = None
    leased_until: datetime | None = None
    next_free_at: datetime


class MessageKind(StrEnum):
    """What a message to a channel is."""

    EVENT = "event"
    """Tells an event's version by a message of its own."""
    EDIT = "edit"
    """Changes the message of `edits_id`."""
    SUMMARY = "summary"
    """Names what waited while the channel was closed or paused."""
    NOTICE = "notice"
    """Tells admins, or the people of a channel, about the bot itself."""
    WELCOME = "welcome"
    ANSWER = "answer"
    """Answers what somebody wrote to the bot directly."""


class MessageState(StrEnum):
    """Where a message stands."""

    QUEUED = "queued"
    SENDING = "sending"
    """Handed to Slack, or about to be, by whoever holds the queue's lease."""
    IN_DOUBT = "in_doubt"
    """Sent and never answered: the channel's history is read before the message is sent again."""
    SENT = "sent"
    FOLDED = "folded"
    """Needs no call of its own: the message of `folded_into` says the same."""
    MUTED = "muted"
    """Not sent, because somebody muted the meeting in this channel: `muted_by`."""
    DEAD_LETTER = "dead_letter"
    """Given up, for `reason`; kept, and not tried again by itself."""


class Reason(StrEnum):
    """Why a message was given up."""

    REFUSED = "refused"
    """Slack refuses the message for good, also as plain text."""
    NO_ENTRY = "no_entry"
    """A person's direct messages are closed to the bot."""
    UNRESOLVED = "unresolved"
    """Nothing tells whether Slack has the message, and the operator chose not to repeat (`DOUBTFUL_POSTS=hold`)."""
    IN_VAIN = "in_vain"
    """Call after call ended in doubt while Slack took other messages."""
    WAITED_TOO_LONG = "waited_too_long"
    """The channel was closed or paused for more than `QUEUE_KEEP_HOURS`."""
    UNSUBSCRIBED = "unsubscribed"
    """Nobody in the channel wants the message any more."""


class OutboxMessage(SQLModel, table=True):
    """One message for one channel: an event's version, an edit of an earlier message, or words of the bot's own."""

    __tablename__ = "message"
    __table_args__ = (
        UniqueConstraint("idempotency_key", name="uq_message_idempotency_key"),
        CheckConstraint(_one_of("kind", MessageKind), name="ck_message_kind"),
        CheckConstraint(_one_of("state", MessageState), name="ck_message_state"),
        CheckConstraint(f"reason IS NULL OR {_one_of('reason', Reason)}", name="ck_message_reason"),
        CheckConstraint("(kind = 'edit') = (edits_id IS NOT NULL)", name="ck_message_edits"),
        CheckConstraint("(kind IN ('event', 'edit')) = (event_id IS NOT NULL)", name="ck_message_event"),
        CheckConstraint("(event_id IS NULL) = (content IS NOT NULL)", name="ck_message_content"),
        CheckConstraint("(state = 'folded') = (folded_into IS NOT NULL)", name="ck_message_folded"),
        CheckConstraint("(state = 'muted') = (muted_by IS NOT NULL)", name="ck_message_muted"),
        CheckConstraint("(state = 'dead_letter') = (reason IS NOT NULL)", name="ck_message_dead_letter"),
        CheckConstraint("(state = 'dead_letter') = (given_up_at IS NOT NULL)", name="ck_message_given_up"),
        CheckConstraint("(state = 'sent') = (sent_at IS NOT NULL)", name="ck_message_sent"),
        CheckConstraint("state <> 'sent' OR message_ts IS NOT NULL", name="ck_message_ts"),
        CheckConstraint("kind <> 'edit' OR state <> 'in_doubt'", name="ck_message_edit_in_doubt"),
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
        Index(
            "ix_message_event_sent",
            "sent_at",
            "received_at",
            info={WHERE: "state = 'sent' AND kind = 'event'"},
        ),
        Index("ix_message_edits_id", "edits_id", info={WHERE: "edits_id IS NOT NULL"}),
        Index("ix_message_folded_into", "folded_into", info={WHERE: "folded_into IS NOT NULL"}),
    )

    id: int | None = Field(default=None, sa_column=_growing_key())
    channel_id: str
    idempotency_key: str = Field(sa_column=_text())
    """Names the message for this channel: a second of the same name is never made. It goes to Slack as metadata."""
    kind: str
    event_id: int | None = Field(default=None, sa_column=Column(BigKey, ForeignKey("event.id"), nullable=True))
    edits_id: int | None = Field(default=None, sa_column=Column(BigKey, nullable=True))
    """Of an edit: the message that is edited."""
    content: str | None = Field(default=None, sa_column=_text(nullable=True))
    """A Message as JSON, for what is no event."""
    priority: int
    state: str = MessageState.QUEUED
    reason: str | None = None
    """Why the message was given up: a `Reason`."""
    detail: str | None = Field(default=None, sa_column=_text(nullable=True))
    """What went wrong last, in words for the log and for `/racing trace`."""
    folded_into: int | None = Field(default=None, sa_column=Column(BigKey, nullable=True))
    """Of a folded message: the message that says the same."""
    muted_by: str | None = None
    """Of a muted message: who muted the meeting."""
    plain: bool = False
    """Post the text alone: Slack refused the blocks."""
    received_at: datetime
    attempts: int = 0
    sending_at: datetime | None = None
    """When the message was handed to Slack last."""
    deadline_at: datetime | None = None
    """The call is over by then, whatever became of it."""
    looks: int = 0
    """How often the channel's history was read for a message in doubt, in vain."""
    failed_looks: int = 0
    """How often the history could not be read."""
    may_be_repeat: bool = False
    message_ts: str | None = None
    sent_at: datetime | None = None
    given_up_at: datetime | None = None


class Generation(SQLModel, table=True):
    """One row: a random mark that triggers change with everything that processes keep in memory."""

    __tablename__ = "generation"

    id: int = Field(primary_key=True)
    mark: str


class MethodHold(SQLModel, table=True):
    """A method of Slack's that asked for a wait (`ratelimited`), and until when."""

    __tablename__ = "method_hold"

    method: str = Field(primary_key=True)
    until: datetime
    reason: str


class MethodPace(SQLModel, table=True):
    """What is left of a method's own limit, for all replicas together: a bucket of calls that fills with time."""

    __tablename__ = "method_pace"

    method: str = Field(primary_key=True)
    calls: float
    """Calls that may be made at once, as of `counted_at`."""
    counted_at: datetime


class Notice(SQLModel, table=True):
    """Something that admins have been told; the key is what makes it once."""

    __tablename__ = "notice"

    key: str = Field(sa_column=Column(Text, primary_key=True))
    created_at: datetime


class StoredState(SQLModel, table=True):
    """Small named values that outlive a restart: open circuit breakers, the last plan, cached answers, walks."""

    __tablename__ = "stored_state"

    name: str = Field(primary_key=True)
    value: str = Field(sa_column=_text())
    updated_at: datetime


class WebhookSubscriptionRow(SQLModel, table=True):
    """Our subscription with the data service. The secret, or the whole answer, is encrypted with ENCRYPTION_KEYS."""

    __tablename__ = "webhook_subscription"

    id: int | None = Field(default=None, sa_column=_growing_key())
    url: str = Field(sa_column=_text())
    events: str
    region: str | None = None
    secret: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    answer: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    """The service's whole answer, where no secret was recognised in it (Spec gap G3)."""
    created_at: datetime
    retired_at: datetime | None = None


class QuotaSample(SQLModel, table=True):
    """The figures of a month ("2026-11") up to a moment: as read then, or the sum of the service's days up to then."""

    __tablename__ = "quota_sample"
    __table_args__ = (Index("ix_quota_sample_taken_at", "taken_at"),)

    id: int | None = Field(default=None, sa_column=_growing_key())
    taken_at: datetime
    month: str
    used: int
    certain: bool
    """Whether the figure is the month's own, or only a lower bound."""
    source: str | None = None
    """A `QuotaSource`; None in rows of an older version of the bot."""
    errors: int | None = None
    refusals: int | None = None


class BookRace(SQLModel, table=True):
    """A race of the race book, as last read."""

    __tablename__ = "book_race"
    __table_args__ = (
        Index("ix_book_race_day", "race_date", "region"),
        Index("ix_book_race_meeting_id", "meeting_id", info={WHERE: "meeting_id IS NOT NULL"}),
    )

    race_id: str = Field(primary_key=True)
    region: str
    race_date: str
    meeting_id: str | None = Field(default=None, sa_column=_text(nullable=True))
    data: str = Field(sa_column=_text())
    """The Race, as JSON."""
    updated_at: datetime


class LearntRace(SQLModel, table=True):
    """A race with news in the race book, until fan-out has edited the messages about the race."""

    __tablename__ = "learnt_race"

    race_id: str = Field(sa_column=Column(Text, primary_key=True))


class JobRun(SQLModel, table=True):
    """A slot of a scheduled job, claimed by one replica; `done_at` null after the lease: another takes it over."""

    __tablename__ = "job_run"

    job: str = Field(primary_key=True)
    slot: str = Field(primary_key=True)
    claimed_by: str
    leased_until: datetime
    done_at: datetime | None = None


class MissingKind(StrEnum):
    """Kinds of missing outcomes and deliveries."""

    RACE = "race"
    """A race long over, without any outcome."""
    DELIVERY = "delivery"
    """A race whose outcome the data service lists and did not deliver."""
    DAY = "day"
    """A racing day without a delivery."""
    SUBSCRIPTION = "subscription"
    """A webhook subscription of ours without deliveries any more."""


class MissingRow(SQLModel, table=True):
    """A missing outcome or delivery. Admins are told once (`told_at`), and once more on arrival (`came_at`)."""

    __tablename__ = "missing"
    __table_args__ = (
        CheckConstraint(_one_of("kind", MissingKind), name="ck_missing_kind"),
        Index("ix_missing_open", "key", info={WHERE: "came_at IS NULL"}),
    )

    key: str = Field(sa_column=Column(Text, primary_key=True))
    """By kind: the race's id, the day, or the subscription's region and first silent day."""
    kind: str
    name: str = Field(sa_column=_text())
    """For people."""
    race_id: str | None = Field(default=None, sa_column=_text(nullable=True))
    region: str | None = None
    """Of a subscription: None stands for all regions."""
    race_date: str
    """The published date; of a subscription the first silent day."""
    found_at: datetime
    told_at: datetime | None = None
    came_at: datetime | None = None

"""Every table of the bot. Times are aware and UTC; structured values are JSON text, written and read by pydantic."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

BigKey = BigInteger().with_variant(Integer(), "sqlite")
"""A growing primary key: SQLite gives numbers by itself only to a column that is called INTEGER."""

WHERE = "where"
"""Which rows an index has, in its `info`: SQLAlchemy's own options would have every process load both dialects."""


def _growing_key() -> Column[int]:
    return Column(BigKey, primary_key=True, autoincrement=True)


def _text(*, nullable: bool = False) -> Column[str]:
    return Column(Text, nullable=nullable)


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
        Index("ix_event_race_date", "race_date", "kind"),
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


class Lane(SQLModel, table=True):
    """A channel's lane: its lease and its next free moment. Whoever holds the lease may post to the channel."""

    __tablename__ = "lane"

    channel_id: str = Field(primary_key=True)
    lease_token: str | None = None
    leased_until: datetime | None = None
    next_free_at: datetime
    held_because: str | None = None
    """Set: nothing is posted here, and what waits stays (the channel is gone, archived, closed to us)."""
    held_at: datetime | None = None


class PostState(StrEnum):
    """Where a post stands."""

    QUEUED = "queued"
    SENDING = "sending"
    """Handed to Slack, or about to be; after the lease it is doubtful, and is settled before it is repeated."""
    SENT = "sent"
    PARKED = "parked"
    """Not sent, and not tried again by itself; its lane goes on."""
    FOLDED = "folded"
    """Needs no call of its own: another message of the channel says it, the one of `edits_post_id`."""
    MUTED = "muted"
    """Not sent, because somebody muted its meeting in the channel; `error` says who."""


class Post(SQLModel, table=True):
    """One message for one channel: of an event's version, or a notice with its own content."""

    __tablename__ = "post"
    __table_args__ = (
        UniqueConstraint("dedupe_key", name="uq_post_dedupe_key"),
        Index(
            "ix_post_lane",
            "channel_id",
            "state",
            "priority",
            "id",
            info={WHERE: "state IN ('queued', 'sending', 'parked')"},
        ),
        Index("ix_post_event_id", "event_id"),
        Index(
            "ix_post_sent",
            "channel_id",
            "id",
            info={WHERE: "state = 'sent'"},
        ),
        Index(
            "ix_post_edits_post_id",
            "edits_post_id",
            info={WHERE: "edits_post_id IS NOT NULL"},
        ),
    )

    id: int | None = Field(default=None, sa_column=_growing_key())
    channel_id: str
    dedupe_key: str = Field(sa_column=_text())
    """Names the message for this channel: a second one of the same name is never made. It goes to Slack as metadata."""
    event_id: int | None = Field(default=None, sa_column=Column(BigKey, ForeignKey("event.id"), nullable=True))
    edits_post_id: int | None = Field(default=None, sa_column=Column(BigKey, nullable=True))
    """Set: no new message, but an edit of that post's. No foreign key: SQLite would have to copy the table for it."""
    content: str | None = Field(default=None, sa_column=_text(nullable=True))
    """A Message as JSON, for what is no event."""
    priority: int
    state: str = PostState.QUEUED
    plain: bool = False
    """Post the text alone: Slack refused the blocks."""
    received_at: datetime
    attempts: int = 0
    sending_at: datetime | None = None
    """When it was handed to Slack."""
    deadline_at: datetime | None = None
    """The call is over by then, whatever became of it."""
    looks: int = 0
    """How often the channel's history was looked through for a doubtful post, in vain."""
    failed_looks: int = 0
    """How often it could not be looked through."""
    may_be_repeat: bool = False
    message_ts: str | None = None
    sent_at: datetime | None = None
    error: str | None = Field(default=None, sa_column=_text(nullable=True))


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
    """Small named values that outlive a restart: latches, the plan last seen, cached answers, the walk's positions."""

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
    """One reading of `/account/usage`: requests used in the month that `month` ("2026-11") names."""

    __tablename__ = "quota_sample"
    __table_args__ = (Index("ix_quota_sample_taken_at", "taken_at"),)

    id: int | None = Field(default=None, sa_column=_growing_key())
    taken_at: datetime
    month: str
    used: int
    certain: bool
    """Whether the figure is the month's own, or only a lower bound."""


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

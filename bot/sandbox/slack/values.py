"""What the workspace holds: people, channels, messages, responses, and the log of calls."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]

DEFAULT_SCOPES = frozenset(
    {"commands", "chat:write", "channels:read", "groups:read", "channels:history", "groups:history", "users:read"}
)


@dataclass(frozen=True, kw_only=True)
class User:
    """A person, or the bot's own user."""

    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False
    is_deactivated: bool = False


@dataclass(kw_only=True)
class Channel:
    """A public channel, a private one, or a direct message with `dm_user`."""

    id: str
    name: str
    created_at: datetime
    is_private: bool = False
    is_archived: bool = False
    dm_user: str | None = None
    creator: str = "U0ADMIN"
    members: set[str] = field(default_factory=set)

    @property
    def is_dm(self) -> bool:
        return self.dm_user is not None

    @property
    def scope_prefix(self) -> str:
        """The first half of the scopes that open it: "channels", "groups" or "im"."""
        if self.is_dm:
            return "im"
        return "groups" if self.is_private else "channels"


@dataclass(frozen=True, kw_only=True)
class PostedMessage:
    """A message that stands in a channel. `edited` is the ts of its last edit; `ts` never changes."""

    ts: str
    channel: str
    text: str
    user: str
    received_at: datetime
    blocks: tuple[Json, ...] = ()
    metadata: Json | None = None
    thread_ts: str | None = None
    edited: str | None = None

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(frozen=True, kw_only=True)
class EphemeralMessage:
    """What only `user` saw. `via` is "chat.postEphemeral", "response_url" or "ack"."""

    ts: str
    channel: str
    user: str
    text: str
    received_at: datetime
    via: str
    blocks: tuple[Json, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SentResponse:
    """One answer to a command or action. `via` is "ack" (in the HTTP answer) or "response_url"."""

    text: str
    response_type: str
    received_at: datetime
    via: str
    blocks: tuple[Json, ...] = ()
    replace_original: bool = False
    delete_original: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the Web API, without its token.

    `error` is Slack's code, or None where Slack said ok; `carried_out` tells whether it changed anything, and `failure`
    names the scripted failure that hid or replaced the answer.
    """

    method: str
    at: datetime
    channel: str | None
    error: str | None
    carried_out: bool
    failure: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is None and self.failure is None

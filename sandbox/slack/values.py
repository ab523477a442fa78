"""The values of a workspace."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]


def elements_of(blocks: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
    """Each element that a person can use, with its block, those within containers too."""
    for block in blocks:
        yield from elements_of(block.get("child_blocks", ()))
        for element in [*block.get("elements", ()), block.get("accessory"), block.get("element")]:
            if isinstance(element, dict) and "action_id" in element:
                yield block, element


def texts_in(value: object, without: Collection[str] = ()) -> Iterator[str]:
    """Every text in a JSON value, but for the fields of the names `without`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_in([one for name, one in value.items() if name not in without], without)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one, without)


DEFAULT_SCOPES = frozenset(
    {"commands", "chat:write", "channels:read", "groups:read", "channels:history", "groups:history", "users:read"}
)


@dataclass(frozen=True)
class User:
    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False
    is_deactivated: bool = False


@dataclass(kw_only=True)
class Channel:
    """A direct message has a `dm_user`."""

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
        """The first half of a scope: "channels", "groups" or "im"."""
        if self.is_dm:
            return "im"
        return "groups" if self.is_private else "channels"


@dataclass(frozen=True, kw_only=True, eq=False)
class PostedMessage:
    """`edited` is the ts of the last edit; `ts` never changes. An ephemeral message has the one person who sees it."""

    ts: str
    channel: str
    text: str
    user: str
    received_at: datetime
    blocks: tuple[Json, ...] = ()
    metadata: Json | None = None
    thread_ts: str | None = None
    edited: str | None = None
    only: str | None = None

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(frozen=True, kw_only=True)
class Call:
    """`error` is Slack's code. `failure` names the scripted failure that hid the answer."""

    method: str
    at: datetime
    channel: str | None
    error: str | None
    failure: str | None = None
    arguments: Json = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.error is None and self.failure is None

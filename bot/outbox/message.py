"""A message on its way to Slack, the calls that the outbox makes, and the protocol of their client."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from bot.clock import Monotonic

Block = dict[str, Any]
Blocks = tuple[Block, ...]

ASK_AGAIN_S = 86_400.0
"""Workspaces get native blocks at different times."""


@dataclass(frozen=True)
class Message:
    """`text` is for notifications and screen readers, `blocks` for the eye. Both are already escaped.

    Workspaces get new kinds of blocks at different times. `plainer` is the same message of older kinds; the plainest
    form has sections alone.
    """

    text: str
    blocks: Blocks = ()
    plainer: "Message | None" = field(default=None, compare=False, repr=False)

    @property
    def forms(self) -> "Iterator[Message]":
        """The newest blocks first."""
        form: Message | None = self
        while form:
            yield form
            form = form.plainer

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(block["type"] for block in self.blocks)

    @property
    def plain_blocks(self) -> Blocks:
        """Empty if `blocks` has nothing native."""
        return self.in_sections().blocks if self.plainer else ()

    def in_sections(self) -> "Message":
        *_, plainest = self.forms
        return plainest

    def in_words(self) -> "Message":
        return Message(text=self.text)

    def as_json(self, **more: str) -> str:
        return json.dumps({"text": self.text, "blocks": self.blocks, "plain_blocks": self.plain_blocks, **more})

    @classmethod
    def from_json(cls, stored: str) -> "Message":
        """Raises ValueError or KeyError."""
        kept = json.loads(stored)
        in_sections = cls(kept["text"], tuple(kept.get("plain_blocks", ())))
        return cls(kept["text"], tuple(kept.get("blocks", ())), in_sections if in_sections.blocks else None)


class NativeBlocks:
    """The kinds of blocks that the workspace refused. Each process learns by a refusal, and asks again after a day."""

    def __init__(self, monotonic: Monotonic) -> None:
        self._monotonic = monotonic
        self._refused_at_s: dict[str, float] = {}

    def form_of(self, message: Message) -> Message:
        """The newest form without a refused kind; else the plainest form."""
        if not self._refused_at_s:
            return message
        now_s = self._monotonic()
        refused = {kind for kind, at_s in self._refused_at_s.items() if now_s - at_s < ASK_AGAIN_S}
        return next((form for form in message.forms if not form.kinds & refused), message.in_sections())

    def refused(self, forms: Iterable[Message], taken: Message) -> None:
        """Blames the kinds of blocks that the refused forms have and the taken form lacks."""
        kinds = frozenset[str]().union(*(form.kinds for form in forms))
        self._refused_at_s |= dict.fromkeys(kinds - taken.kinds, self._monotonic())


class Call(StrEnum):
    """Each kind has its own limit. `method_hold` and `method_pace` store the values."""

    POST = "post"
    EDIT = "edit"
    LOOK = "look"


HISTORY_IN_WORDS = "the channel's history"
"""Stands for the method in the outbox's own errors."""


@dataclass(frozen=True)
class HistoryPage:
    """`message_ts`: of the message looked for. `rev`: the revision in its metadata. `slack_at`: by Slack's clock."""

    message_ts: str | None
    next_cursor: str | None
    rev: int = 0
    slack_at: datetime | None = None


class Sending(NamedTuple):
    """How a message is sent. The metadata carries `post_key`, the key of the first post, and the revision for `find`.

    `thread_ts`: the first message of the thread.
    """

    post_key: str
    timeout_s: float
    rev: int = 0
    thread_ts: str | None = None


class Search(NamedTuple):
    """For a message with this key on one page of the channel's history, or of a thread. By Slack's clock."""

    post_key: str
    since: datetime
    until: datetime
    cursor: str | None = None
    thread_ts: str | None = None


class Sender(Protocol):
    """The calls raise the classes of SlackError."""

    async def post(self, channel_id: str, message: Message, sending: Sending) -> str:
        """Returns the ts."""

    def direct_message(self, person_id: str) -> str | None:
        """The direct message with the person, once a message was posted there by this process."""

    async def update(self, channel_id: str, message_ts: str, message: Message, sending: Sending) -> None:
        """Replace the message at `message_ts`. A second call changes nothing."""

    async def find(self, channel_id: str, search: Search) -> HistoryPage:
        """Read the page."""

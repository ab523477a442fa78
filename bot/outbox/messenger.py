"""The calls that the outbox makes, and the protocol of their client."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from bot.outbox.message import Message


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

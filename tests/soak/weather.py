"""Slack's side of a soak: a share of all calls meets a failure of some kind.

Some messages are refused for good, some can't be edited, and some channels are archived for a while.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from sandbox.slack import failures
from sandbox.slack.calls import Arguments
from sandbox.slack.failures import Failure
from sandbox.slack.workspace import SlackWorkspace
from tests.soak.life import CALL_S

METHODS = {"chat.postMessage": 0.4, "chat.update": 0.6, "conversations.history": 0.15, "auth.test": 0.15}
"""The share of a method's calls with a failure. Only messages with blocks can have blocks refused.

After six failed looks a post would be repeated blindly.
"""

BRINGS = frozenset({"not_edited", "parked", "channel_closed"})
"""Outcomes of calls in bad weather alone: a soak has to see each."""

NEVER_EDITED = 0.7
NEVER_POSTED = 0.12
"""The shares of messages that Slack never edits, and never posts."""

ARCHIVED = 8
"""Channels archived at the same time."""

CALLS = 20_000
LAG_S = 0.4


@dataclass
class Weather:
    """The weather over the channels `over`. `seed` settles which messages are refused.

    `refused`: keys of messages refused for good. `was_archived`: channels archived at some time.
    """

    slack: SlackWorkspace
    random: Random
    over: Sequence[str]
    seed: int
    refused: set[str] = field(default_factory=set)
    was_archived: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Have calls fail, by a script for the whole soak."""
        self.slack.history_lag_s = LAG_S
        self.slack.failure_of = self._failure_of
        for method, share in METHODS.items():
            self.slack.script(method, [*_calls(self.random, share)])

    def change(self) -> None:
        """Archive other channels. Earlier archived channels are open again, and nobody tells the bot."""
        self._open_all()
        for channel_id in self.random.sample(self.over, min(ARCHIVED, len(self.over) // 2)):
            self.slack.channels[channel_id].is_archived = True
            self.was_archived.add(channel_id)

    def clear(self) -> None:
        """Let every call pass again; history goes on lagging."""
        self._open_all()
        self.slack.failure_of = lambda _method, _args: None
        for method in METHODS:
            self.slack.script(method, [])

    def _open_all(self) -> None:
        for channel_id in self.over:
            self.slack.channels[channel_id].is_archived = False

    def _failure_of(self, method: str, args: Arguments) -> Failure | None:
        channel = self.slack.channels.get(args.text("channel") or "")
        key = key_of_call(args)
        if channel is None or channel.id not in self.over:
            return None
        if channel.is_archived:
            return None
        if method == "chat.postMessage" and self._is_meant(key, "posted", NEVER_POSTED):
            if not args.has_blocks:
                self.refused.add(key)
            return failures.slack_error("msg_too_long")
        if method == "chat.update" and self._is_meant(key, "edited", NEVER_EDITED):
            return failures.slack_error("edit_window_closed")
        return None

    def _is_meant(self, key: str, what: str, share: float) -> bool:
        return zlib.crc32(f"{self.seed} {what} {key}".encode()) < share * 2**32


def key_of_call(args: Arguments) -> str:
    """The post's key in the message's metadata; "" without metadata."""
    metadata = args.structure("metadata", "invalid_metadata_format") or {}
    return str((metadata.get("event_payload") or {}).get("post") or "")


def _calls(random: Random, share: float) -> Iterator[Failure]:
    kinds = _kinds()
    for _ in range(CALLS):
        yield random.choice(kinds) if random.random() < share else failures.passes()


def _kinds() -> list[Failure]:
    return [
        failures.drop_before(),
        failures.drop_after(),
        failures.delay_after(CALL_S + 0.2),
        # Accepted after the bot's deadline: an early look would miss the message.
        failures.delay_before(CALL_S + 0.2),
        *[failures.rate_limited(1)] * 8,
        failures.http_error(503),
        failures.http_error(500).accepted(),
        failures.html(502),
        failures.html(200).accepted(),
        failures.truncated(),
        failures.slack_error("internal_error").accepted(),
        # Often: a native table needs two refusals in a row, because the bot answers the first at once, in sections.
        *[failures.blocks_refused()] * 10,
    ]

"""A message on its way to Slack: the value that builders return and posts carry."""

import time
from collections.abc import Callable
from typing import Any

from bot.domain.races import Value

Block = dict[str, Any]

ASK_AGAIN_S = 86_400.0
"""A workspace that refused native blocks is spared them for this long: workspaces get them at different times."""


class Message(Value):
    """What is posted: `text` for notifications and screen readers, `blocks` for the eye (both already escaped).

    `plain_blocks` say the same as `blocks` in sections, where `blocks` have a native table or chart in them, which not
    every workspace has; else they are empty.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    plain_blocks: tuple[Block, ...] = ()

    def in_sections(self) -> "Message":
        """The message without native blocks."""
        return Message(text=self.text, blocks=self.plain_blocks or self.blocks)

    def in_words(self) -> "Message":
        """The message as its text alone."""
        return Message(text=self.text)


class NativeBlocks:
    """Whether the workspace takes native blocks. It does until it refuses them, and is asked again after a day.

    Kept in memory: each process finds out by itself, and a restart asks again.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._refused_at_s: float | None = None

    def form_of(self, message: Message) -> Message:
        """The message as it is to be sent: in sections while the workspace is known to refuse native blocks."""
        spared = self._refused_at_s is not None and self._monotonic() - self._refused_at_s < ASK_AGAIN_S
        return message.in_sections() if spared else message

    def refused(self) -> None:
        """Remember that it took in sections what it had refused with native blocks."""
        self._refused_at_s = self._monotonic()

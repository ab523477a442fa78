"""A message on its way to Slack: the value that builders return and posts carry."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Block = dict[str, Any]
Blocks = tuple[Block, ...]

ASK_AGAIN_S = 86_400.0
"""A workspace that refused native blocks is spared them for this long: workspaces get them at different times."""


@dataclass(frozen=True)
class Message:
    """What is posted: `text` for notifications and screen readers, `blocks` for the eye (both already escaped).

    Where `blocks` have a native table or chart in them, which not every workspace has, `sections` makes blocks that say
    the same in sections. Few messages need those, so they are made when they are first asked for.
    """

    text: str
    blocks: Blocks = ()
    sections: Callable[[], Blocks] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def plain_blocks(self) -> Blocks:
        """The message in sections; empty where `blocks` have nothing native in them."""
        return self.sections() if self.sections else ()

    def changed(self, text: str, change: Callable[[Blocks], Blocks]) -> "Message":
        """A message with another text, and with the blocks of each form changed."""
        sections = (lambda: change(self.plain_blocks)) if self.sections else None
        return Message(text, change(self.blocks), sections)

    def in_sections(self) -> "Message":
        """The message without native blocks."""
        return Message(text=self.text, blocks=self.plain_blocks or self.blocks)

    def in_words(self) -> "Message":
        """The message as its text alone."""
        return Message(text=self.text)

    def as_json(self) -> str:
        """The message to be stored, in both forms."""
        return json.dumps({"text": self.text, "blocks": self.blocks, "plain_blocks": self.plain_blocks})

    @classmethod
    def from_json(cls, stored: str) -> "Message":
        """The message that `as_json` stored. Raises ValueError or KeyError where it is nothing of the kind."""
        kept = json.loads(stored)
        plain_blocks: Blocks = tuple(kept.get("plain_blocks", ()))
        return cls(kept["text"], tuple(kept.get("blocks", ())), (lambda: plain_blocks) if plain_blocks else None)


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

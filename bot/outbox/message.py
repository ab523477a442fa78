"""A message on its way to Slack."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Block = dict[str, Any]
Blocks = tuple[Block, ...]

ASK_AGAIN_S = 86_400.0
"""Workspaces get native blocks at different times."""


@dataclass(frozen=True)
class Message:
    """`text` is for notifications and screen readers, `blocks` for the eye. Both are already escaped.

    Not every workspace has native tables and charts. `sections` makes blocks with the same content, when first needed.
    """

    text: str
    blocks: Blocks = ()
    sections: Callable[[], Blocks] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def plain_blocks(self) -> Blocks:
        """Empty if `blocks` has nothing native."""
        return self.sections() if self.sections else ()

    def changed(self, text: str, change: Callable[[Blocks], Blocks]) -> "Message":
        sections = (lambda: change(self.plain_blocks)) if self.sections else None
        return Message(text, change(self.blocks), sections)

    def in_sections(self) -> "Message":
        return Message(text=self.text, blocks=self.plain_blocks or self.blocks)

    def in_words(self) -> "Message":
        return Message(text=self.text)

    def as_json(self) -> str:
        return json.dumps({"text": self.text, "blocks": self.blocks, "plain_blocks": self.plain_blocks})

    @classmethod
    def from_json(cls, stored: str) -> "Message":
        """Raises ValueError or KeyError."""
        kept = json.loads(stored)
        plain_blocks: Blocks = tuple(kept.get("plain_blocks", ()))
        return cls(kept["text"], tuple(kept.get("blocks", ())), (lambda: plain_blocks) if plain_blocks else None)


class NativeBlocks:
    """Whether the workspace takes native blocks. Each process learns by a refusal, and asks again after a day."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._refused_at_s: float | None = None

    def form_of(self, message: Message) -> Message:
        """In sections after a refusal."""
        spared = self._refused_at_s is not None and self._monotonic() - self._refused_at_s < ASK_AGAIN_S
        return message.in_sections() if spared else message

    def refused(self) -> None:
        self._refused_at_s = self._monotonic()

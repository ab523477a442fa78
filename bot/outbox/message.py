"""A message on its way to Slack."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bot.clock import Monotonic

Block = dict[str, Any]
Blocks = tuple[Block, ...]

ASK_AGAIN_S = 86_400.0
"""Workspaces get native blocks at different times."""


@dataclass(frozen=True)
class Message:
    """`text` is for notifications and screen readers, `blocks` for the eye. Both are already escaped.

    Workspaces get new kinds of blocks at different times. `make_plainer` makes the same message of older kinds, when
    first needed; the plainest form has sections alone.
    """

    text: str
    blocks: Blocks = ()
    make_plainer: Callable[[], "Message | None"] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def plainer(self) -> "Message | None":
        made = self.make_plainer() if self.make_plainer else None
        return made if made and made.blocks else None

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

    def changed(self, text: str, change: Callable[[Blocks], Blocks]) -> "Message":
        def plainer() -> "Message | None":
            return self.plainer and self.plainer.changed(text, change)

        return Message(text, change(self.blocks), plainer if self.make_plainer else None)

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
        return cls(kept["text"], tuple(kept.get("blocks", ())), (lambda: in_sections) if in_sections.blocks else None)


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

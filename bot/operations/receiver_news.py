"""What the receiver tells the bot: lines of counts for `/metrics`, and news for admins."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.deliveries.signature_mismatches import Mismatches
from bot.operations.metrics import Metrics


@dataclass(frozen=True)
class ReceiverNews:
    """`wake` lets the journal be read. `tell_too_large` tells admins of a signed body of more than MAX_BODY_BYTES."""

    metrics: Metrics
    mismatches: Mismatches
    wake: Callable[[], None]
    tell_too_large: Callable[[], Awaitable[None]]

    async def hear(self, line: bytes) -> None:
        """`[[1, "delivery", "200"], …]`: a number, and what happened so often. A line always wakes."""
        self.wake()
        for number, what, *labels in json.loads(line):
            if what == "signature_matched":
                self.mismatches.matched()
                continue
            for _ in range(number):
                getattr(self.metrics, what)(*labels)
                if labels == ["mismatch"]:
                    await self.mismatches.missed()
                if "too_large" in labels:
                    await self.tell_too_large()

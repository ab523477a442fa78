"""What the receiver tells the bot: lines of counts for `/metrics`, and news for admins."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.deliveries.signature_mismatches import Mismatches
from bot.logs import get_logger
from bot.operations.metrics import Metrics

log = get_logger(__name__)


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
        for count, what, *labels in json.loads(line):
            try:
                await self._hear(count, what, labels)
            except Exception:
                # The next news is heard all the same.
                log.exception("receiver_news_not_heard", what=what)

    async def _hear(self, count: int, what: str, labels: list[str]) -> None:
        if what == "signature_matched":
            self.mismatches.matched()
            return
        getattr(self.metrics, what)(*labels, count=count)
        if labels == ["mismatch"]:
            await self.mismatches.missed(count)
        if "too_large" in labels:
            await self.tell_too_large()

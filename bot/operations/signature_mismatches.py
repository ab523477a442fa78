"""Signatures that match no secret: a wrong secret of ours, or a stranger.

A stranger can send any number of wrong signatures, but no right signature. So some wrong signatures are worth a note.
Only half an hour of wrong signatures without a right signature is an alarm.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

TELL_AFTER = 5

LASTS_S = 1_800.0
"""Between two notes, too: a flood of wrong signatures must not become a flood of writes."""


@dataclass
class Mismatches:
    """`tell_today` tells admins, by the name of a notice. A call that returns False is made again."""

    tell_today: Callable[..., Awaitable[bool]]
    monotonic: Callable[[], float]
    in_a_row: int = 0
    _since_s: float = 0.0
    _alarmed: bool = False
    _not_noted: int = 0
    _noted_s: float | None = None

    def matched(self) -> None:
        self.in_a_row = 0
        self._alarmed = False

    async def missed(self, count: int) -> None:
        now_s = self.monotonic()
        if not self.in_a_row:
            self._since_s = now_s
        self.in_a_row += count
        self._not_noted += count
        if self.in_a_row >= TELL_AFTER and now_s - self._since_s >= LASTS_S:
            if not self._alarmed:
                self._alarmed = await self.tell_today("signature-mismatch", count=self.in_a_row, minutes=LASTS_S / 60)
            return
        is_due = self._noted_s is None or now_s - self._noted_s >= LASTS_S
        found = self._not_noted
        if is_due and found >= TELL_AFTER and await self.tell_today("wrong-signatures", count=found):
            self._not_noted, self._noted_s = 0, now_s

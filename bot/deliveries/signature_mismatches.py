"""A run of signatures that match no secret: a wrong secret of ours, or a stranger.

A stranger can send any number of wrong signatures, but no right signature. So only a run that lasts, without a right
signature, is an alarm. Before the first right signature the secret is unproven, and a short run is worth a note.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

TELL_AFTER = 5

LASTS_S = 1_800.0


@dataclass
class MismatchRun:
    """`note` and `alarm` tell admins, once a run each. A call that returns False is made again."""

    note: Callable[[int], Awaitable[bool]]
    alarm: Callable[[int], Awaitable[bool]]
    monotonic: Callable[[], float]
    count: int = 0
    _since_s: float = 0.0
    _proven: bool = False
    _told: set[str] = field(default_factory=set)

    def matched(self) -> None:
        self._proven = True
        self.count = 0
        self._told.clear()

    async def missed(self) -> None:
        if not self.count:
            self._since_s = self.monotonic()
        self.count += 1
        if self.count < TELL_AFTER:
            return
        if self.monotonic() - self._since_s >= LASTS_S:
            await self._tell("alarm", self.alarm)
        elif not self._proven:
            await self._tell("note", self.note)

    async def _tell(self, name: str, tell: Callable[[int], Awaitable[bool]]) -> None:
        if name not in self._told and await tell(self.count):
            self._told.add(name)

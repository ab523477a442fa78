"""A run of signatures that match no secret: the likeliest mistake of a deployment, told to admins once."""

from collections.abc import Awaitable, Callable

TELL_AFTER = 5


class MismatchRun:
    """Tells admins once of TELL_AFTER wrong signatures in a row. A `tell` that returns False is tried again."""

    def __init__(self, tell: Callable[[int], Awaitable[bool]]) -> None:
        self._tell = tell
        self._told = False
        self.count = 0

    def matched(self) -> None:
        self.count = 0
        self._told = False

    async def missed(self) -> None:
        self.count += 1
        if self.count >= TELL_AFTER and not self._told:
            self._told = await self._tell(self.count)

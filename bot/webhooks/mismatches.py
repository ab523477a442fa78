"""A run of signatures that no secret matches: the likeliest mistake of a deployment, told to admins once."""

from collections.abc import Awaitable, Callable

TELL_AFTER = 5
"""One wrong signature is a stranger; a run without a right one between is a wrong secret."""


class MismatchRun:
    """Counts wrong signatures since the last right one, and tells once when there have been TELL_AFTER of them."""

    def __init__(self, tell: Callable[[int], Awaitable[None]]) -> None:
        self._tell = tell
        self.count = 0

    def matched(self) -> None:
        """A right signature ends the run."""
        self.count = 0

    async def missed(self) -> None:
        """A wrong one makes it longer."""
        self.count += 1
        if self.count == TELL_AFTER:
            await self._tell(self.count)

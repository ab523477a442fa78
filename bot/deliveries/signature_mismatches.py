"""A run of signatures that no secret matches: the likeliest mistake of a deployment, told to admins once."""

from collections.abc import Awaitable, Callable

TELL_AFTER = 5
"""One wrong signature is a stranger; a run without a right one between is a wrong secret."""


class MismatchRun:
    """Counts wrong signatures since the last right one, and tells once when there have been TELL_AFTER of them.

    `tell` says whether it could; until it could, each further one tries again.
    """

    def __init__(self, tell: Callable[[int], Awaitable[bool]]) -> None:
        self._tell = tell
        self._told = False
        self.count = 0

    def matched(self) -> None:
        """A right signature ends the run."""
        self.count = 0
        self._told = False

    async def missed(self) -> None:
        """A wrong one makes it longer."""
        self.count += 1
        if self.count >= TELL_AFTER and not self._told:
            self._told = await self._tell(self.count)

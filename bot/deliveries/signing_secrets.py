"""The signing secrets that deliveries may be signed with: those of the settings, and those that `subscribe` stored."""

from collections.abc import Awaitable, Callable, Iterable

from bot.errors import StorageError
from bot.logs import get_logger

log = get_logger(__name__)

REREAD_S = 2.0
"""The stored secrets are read again at most this often: `racing-bot subscribe` may have added one meanwhile."""


class SigningSecrets:
    """Every active secret. What is stored is read at start, every few seconds, and when a signature matches none."""

    def __init__(
        self,
        settings_secrets: Iterable[str],
        read_stored: Callable[[], Awaitable[list[str]]],
        monotonic: Callable[[], float],
    ) -> None:
        self._settings_secrets = tuple(settings_secrets)
        self._read_stored = read_stored
        self._monotonic = monotonic
        self._stored: tuple[str, ...] = ()
        self._read_at_s: float | None = None
        self.unread = True
        """Whether the stored secrets could not be read yet: what matches none of the others may match one of them."""

    def __repr__(self) -> str:
        return f"SigningSecrets({len(self.active)} active)"

    @property
    def active(self) -> tuple[str, ...]:
        """The secrets as last read."""
        return self._settings_secrets + self._stored

    async def reread(self) -> bool:
        """Whether reading the stored secrets again changed anything. Does nothing if they were read just now."""
        now_s = self._monotonic()
        if self._read_at_s is not None and now_s - self._read_at_s < REREAD_S:
            return False
        self._read_at_s = now_s
        try:
            stored = tuple(await self._read_stored())
        except StorageError as error:
            log.warning("stored_secrets_not_read", reason=str(error))
            return False
        self.unread = False
        changed = stored != self._stored
        self._stored = stored
        return changed

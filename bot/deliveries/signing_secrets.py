"""The active signing secrets: from the settings, and stored by `racing-bot subscribe`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from bot.db.vault import OpenedSecrets
from bot.errors import StorageError

REREAD_S, REREAD_EVERY_S = 2.0, 5.0
"""Between two reads of the stored secrets for unknown signatures at least, and between two reads at most."""


class SigningSecrets:
    def __init__(
        self,
        settings_secrets: Iterable[str],
        read_stored: Callable[[], Awaitable[OpenedSecrets]],
        monotonic: Callable[[], float],
        warn: Callable[..., object],
    ) -> None:
        """`warn` is told of each failed read."""
        self._settings_secrets = tuple(settings_secrets)
        self._read_stored = read_stored
        self._monotonic = monotonic
        self._warn = warn
        self._stored: dict[int, str] = {}
        self._reread_at_s: float | None = None
        self.unread = True
        """True unless the last read gave every stored secret. An unknown signature may be by a stored secret."""
        self.unreadable: str | None = None
        """Why a stored secret can't be opened."""

    def __repr__(self) -> str:
        return f"SigningSecrets({len(self.active)} active)"

    @property
    def active(self) -> tuple[str, ...]:
        return *self._settings_secrets, *self._stored.values()

    async def keep_current(self) -> None:
        """Drops retired secrets, also while every signature matches.

        The bot makes the database before the first read.
        """
        while True:
            await asyncio.sleep(REREAD_EVERY_S)
            await self.read()

    async def reread(self) -> bool:
        """For an unknown signature, which may be a stranger's: reads nothing within REREAD_S of the last such read.

        True if the stored secrets changed.
        """
        now_s = self._monotonic()
        if self._reread_at_s is not None and now_s - self._reread_at_s < REREAD_S:
            return False
        self._reread_at_s = now_s
        return await self.read()

    async def read(self) -> bool:
        """True if the stored secrets changed."""
        try:
            found = await self._read_stored()
        except StorageError as error:
            self._warn("stored_secrets_not_read", reason=str(error))
            self.unread, self.unreadable = True, None
            return False
        # Another replica may have put a secret that was read before under a newer key.
        known = {number: self._stored[number] for number in found.shut if number in self._stored}
        shut = [f"subscription {number}: {why}" for number, why in found.shut.items() if number not in known]
        self.unread, self.unreadable = bool(shut), "; ".join(shut) or None
        if self.unreadable:
            self._warn("stored_secrets_not_read", reason=self.unreadable)
        stored = dict(sorted((found.secrets | known).items()))
        changed = stored != self._stored
        self._stored = stored
        return changed

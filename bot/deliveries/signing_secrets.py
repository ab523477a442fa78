"""The active signing secrets: from the settings, and stored by `racing-bot subscribe`."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote

from bot.db.vault import OpenedSecrets, Vault
from bot.deliveries.journal import connect_postgresql
from bot.errors import StorageError, StorageUnavailable, reason_of

REREAD_S, REREAD_EVERY_S = 2.0, 5.0
"""Between two reads of the stored secrets for unknown signatures at least, and between two reads at most."""

_LIVE = "SELECT id, secret FROM webhook_subscription WHERE retired_at IS NULL AND secret IS NOT NULL ORDER BY id"


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


def reading(url: str, vault: Vault) -> Callable[[], OpenedSecrets]:
    """A blocking reader of the stored secrets, without the bot. Raises StorageUnavailable."""
    return lambda: vault.open_all(_locked(url))


def _locked(url: str) -> dict[int, bytes]:
    try:
        with contextlib.closing(_connect(url)) as connection:
            return {number: bytes(secret) for number, secret in connection.execute(_LIVE).fetchall()}
    except Exception as error:
        raise StorageUnavailable(reason_of(error)) from error


def _connect(url: str) -> Any:
    scheme, _, name = url.partition(":///")
    if scheme != "sqlite":
        return connect_postgresql(url)
    # The bot alone makes the database's file.
    return sqlite3.connect(f"file:{quote(unquote(name))}?mode=rw", uri=True, timeout=1.0)

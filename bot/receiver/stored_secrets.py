"""The signing secrets that `racing-bot subscribe` stored, read from the bot's database without the bot."""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from bot.db.vault import Vault
from bot.deliveries.journal import connect_postgresql
from bot.errors import SecretsUnreadable, StorageUnavailable, reason_of

_LIVE = "SELECT secret FROM webhook_subscription WHERE retired_at IS NULL AND secret IS NOT NULL ORDER BY id"


def reading(url: str, vault: Vault) -> Callable[[], list[str]]:
    """A blocking reader of the secrets. Raises StorageUnavailable, and SecretsUnreadable if none can be opened."""

    def read() -> list[str]:
        opened, failure = [], None
        for row in _rows(url):
            try:
                opened.append(vault.open(bytes(row[0])))
            except SecretsUnreadable as error:
                failure = error
        if failure is not None and not opened:
            raise failure
        return opened

    return read


def _rows(url: str) -> list[tuple[bytes]]:
    try:
        with contextlib.closing(_connect(url)) as connection:
            rows: list[tuple[bytes]] = connection.execute(_LIVE).fetchall()
            return rows
    except Exception as error:
        raise StorageUnavailable(reason_of(error)) from error


def _connect(url: str) -> Any:
    scheme, _, name = url.partition(":///")
    if scheme != "sqlite":
        return connect_postgresql(url)
    # The bot alone makes the database's file.
    return sqlite3.connect(f"file:{quote(unquote(name))}?mode=rw", uri=True, timeout=1.0)

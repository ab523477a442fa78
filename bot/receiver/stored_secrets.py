"""The signing secrets that `racing-bot subscribe` stored, read from the bot's database without the bot."""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from bot.db.vault import OpenedSecrets, Vault
from bot.deliveries.journal import connect_postgresql
from bot.errors import StorageUnavailable, reason_of

_LIVE = "SELECT id, secret FROM webhook_subscription WHERE retired_at IS NULL AND secret IS NOT NULL ORDER BY id"


def reading(url: str, vault: Vault) -> Callable[[], OpenedSecrets]:
    """A blocking reader of the secrets. Raises StorageUnavailable."""
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

"""Stored secrets without a delivery that asks for them."""

import asyncio
import itertools

from bot.db.vault import OpenedSecrets
from bot.deliveries import signing_secrets
from bot.deliveries.signing_secrets import SigningSecrets


async def test_retired_secret_is_dropped_while_every_signature_matches(monkeypatch):
    monkeypatch.setattr(signing_secrets, "REREAD_EVERY_S", 0.0)
    stored, dropped = iter([{1: "old", 2: "new"}, {2: "new"}]), asyncio.Event()

    async def read_stored():
        found = next(stored, {})
        if not found:
            dropped.set()
            await asyncio.Event().wait()
        return OpenedSecrets(found, {})

    hours = itertools.count(0, 3_600)
    secrets = SigningSecrets(["of the settings"], read_stored, lambda: next(hours), print)
    keeping = asyncio.create_task(secrets.keep_current())
    await dropped.wait()
    keeping.cancel()
    assert secrets.active == ("of the settings", "new")


async def test_unknown_signatures_read_the_stored_secrets_once_in_a_while():
    stored = iter([{1: "old"}, {1: "old", 2: "new"}, {1: "old", 2: "new", 3: "newest"}])

    async def read_stored():
        return OpenedSecrets(next(stored), {})

    secrets = SigningSecrets([], read_stored, lambda: 0.0, print)
    await secrets.read()
    assert [await secrets.reread(), await secrets.reread()] == [True, False]
    assert secrets.active == ("old", "new")

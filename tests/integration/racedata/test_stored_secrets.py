"""Signing secrets at rest, as keys come and go."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from cryptography.fernet import Fernet

from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.errors import SecretsUnreadable
from bot.racedata import webhook_subscriptions
from tests.databases import on_both

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))


async def add(database, key, **kept):
    locked: dict[str, Any] = {name: Vault([key]).lock(text) for name, text in kept.items()}
    row = WebhookSubscriptionRow(url="https://b", events="result.received", created_at=NOW, **locked)
    return await database.write(partial(webhook_subscriptions.add, row=row))


async def secrets(database, *keys):
    return await database.read(partial(webhook_subscriptions.signing_secrets, vault=Vault(keys)))


async def renew(database, *keys):
    return await database.write(partial(webhook_subscriptions.renew, vault=Vault(keys)))


async def test_secret_that_no_key_opens_takes_no_other_with_it(database):
    await add(database, LOST, secret="whsec-lost")
    with pytest.raises(SecretsUnreadable):
        await secrets(database, NEW)
    await add(database, NEW, secret="whsec-new")
    assert await secrets(database, NEW) == ["whsec-new"]


@on_both
async def test_secrets_and_answers_are_renewed_once_so_that_old_keys_can_go(database):
    await add(database, OLD, secret="whsec-old")
    number = await add(database, OLD, answer="the whole answer")
    await add(database, LOST, secret="whsec-lost")
    assert await renew(database, NEW, OLD) == 2
    assert await renew(database, NEW, OLD) == 0
    assert await secrets(database, NEW) == ["whsec-old"]
    answers = {row.id: row.answer for row in await database.read(webhook_subscriptions.live)}
    assert Vault([NEW]).open(answers[number] or b"") == "the whole answer"


async def test_without_keys_nothing_is_renewed(database):
    await add(database, OLD, secret="whsec-old")
    assert await renew(database) == 0

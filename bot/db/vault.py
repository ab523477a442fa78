"""Encrypts stored secrets."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from bot.errors import SecretsUnreadable


class OpenedSecrets(NamedTuple):
    """The secrets of subscriptions by number, and of the others why no key opens the secret."""

    secrets: dict[int, str]
    shut: dict[int, str]


class Vault:
    """Encrypts with the first of the Fernet keys, newest first. Without keys, `lock` and `open` raise."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._has_keys = bool(keys)
        if keys:
            # Six megabytes that a bot without keys saves.
            from cryptography.fernet import Fernet, InvalidToken, MultiFernet  # noqa: PLC0415

            fernets = [Fernet(key) for key in keys]
            self._newest, self._all, self._refusal = fernets[0], MultiFernet(fernets), InvalidToken

    def lock(self, secret: str) -> bytes:
        if not self._has_keys:
            raise SecretsUnreadable("ENCRYPTION_KEYS is not set, so no secret can be stored")
        return self._all.encrypt(secret.encode())

    def open(self, locked: bytes) -> str:
        """Raises SecretsUnreadable."""
        if not self._has_keys:
            raise SecretsUnreadable("ENCRYPTION_KEYS is not set, and the database holds encrypted secrets")
        try:
            return self._all.decrypt(locked).decode()
        except self._refusal:
            raise SecretsUnreadable("none of ENCRYPTION_KEYS opens a secret that is stored") from None

    def open_all(self, locked: Mapping[int, bytes]) -> OpenedSecrets:
        """`locked`: by the number of the subscription."""
        found = OpenedSecrets({}, {})
        for number, secret in locked.items():
            try:
                found.secrets[number] = self.open(secret)
            except SecretsUnreadable as error:
                found.shut[number] = str(error)
        return found

    def renew(self, locked: bytes | None) -> bytes | None:
        """The same secret under the newest key; unchanged where no key opens the secret."""
        if not self._has_keys or locked is None:
            return locked
        with suppress(self._refusal):
            self._newest.decrypt(locked)
            return locked
        with suppress(self._refusal):
            return self._all.rotate(locked)
        return locked

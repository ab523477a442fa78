"""Encrypts stored secrets."""

from collections.abc import Sequence

from bot.errors import SecretsUnreadable


class Vault:
    """Encrypts with the first of the Fernet keys, newest first. Without keys, `lock` and `open` raise."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._fernets: _Fernets | None = _Fernets(keys) if keys else None

    def lock(self, secret: str) -> bytes:
        if self._fernets is None:
            raise SecretsUnreadable("ENCRYPTION_KEYS is not set, so no secret can be stored")
        return self._fernets.all.encrypt(secret.encode())

    def open(self, locked: bytes) -> str:
        """Raises SecretsUnreadable."""
        if self._fernets is None:
            raise SecretsUnreadable("ENCRYPTION_KEYS is not set, and the database holds encrypted secrets")
        try:
            return self._fernets.all.decrypt(locked).decode()
        except self._fernets.refusal:
            raise SecretsUnreadable("none of ENCRYPTION_KEYS opens a secret that is stored") from None

    def renew(self, locked: bytes | None) -> bytes | None:
        """The same secret under the newest key; unchanged where no key opens the secret."""
        return locked if self._fernets is None or locked is None else self._fernets.renewed(locked)


class _Fernets:
    def __init__(self, keys: Sequence[str]) -> None:
        # Six megabytes that a bot without keys saves.
        from cryptography.fernet import Fernet, InvalidToken, MultiFernet  # noqa: PLC0415

        self.newest = Fernet(keys[0])
        self.all = MultiFernet([Fernet(key) for key in keys])
        self.refusal = InvalidToken

    def renewed(self, locked: bytes) -> bytes:
        try:
            self.newest.decrypt(locked)
        except self.refusal:
            return self._rotated(locked)
        return locked

    def _rotated(self, locked: bytes) -> bytes:
        try:
            return self.all.rotate(locked)
        except self.refusal:
            return locked

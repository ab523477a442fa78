"""The receiver's few settings, read without pydantic. The bot checks all settings, and ends both where one is wrong."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from bot.errors import database_secrets

ENV_FILE = Path(".env")


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    database_url: str = field(repr=False)
    webhook_secrets: tuple[str, ...] = field(repr=False)
    encryption_keys: tuple[str, ...] = field(repr=False)
    max_body_bytes: int
    log_level: str
    log_format: str
    shows_reasons: bool
    """`/readyz` says why, unless `METRICS_HOST` has an address of its own for reasons."""

    @property
    def secrets(self) -> set[str]:
        """To be masked."""
        return {*self.webhook_secrets, *self.encryption_keys, *database_secrets(self.database_url)}


def read_options() -> Options:
    """Raises ValueError where the bot will name the problems."""
    given = _given()

    def value(name: str, default: str) -> str:
        return given.get(name, default)

    level, log_format = value("LOG_LEVEL", "info").lower(), value("LOG_FORMAT", "console").lower()
    url, port = value("DATABASE_URL", "sqlite:///racing-bot.db"), int(value("PORT", "3000"))
    if level not in {"debug", "info", "warning", "error"} or "://" not in url or not 0 <= port < 65_536:
        raise ValueError("a wrong setting")
    return Options(
        host=value("HOST", "127.0.0.1"),
        port=port,
        database_url=url,
        webhook_secrets=_split(value("RACING_WEBHOOK_SECRETS", "")),
        encryption_keys=_split(value("ENCRYPTION_KEYS", "")),
        max_body_bytes=int(value("MAX_BODY_BYTES", str(4 * 1024 * 1024))),
        log_level=level,
        log_format=log_format,
        shows_reasons="METRICS_HOST" not in given,
    )


def _given() -> dict[str, str]:
    """The environment before `.env`; blank values count as unset."""
    found: dict[str, str | None] = {}
    if ENV_FILE.is_file():
        from dotenv import dotenv_values  # noqa: PLC0415  only where there is a file

        found |= {name.upper(): text for name, text in dotenv_values(ENV_FILE, encoding="utf-8-sig").items()}
    found |= {name.upper(): text for name, text in os.environ.items() if text.strip() or name.upper() not in found}
    return {name: text.strip() for name, text in found.items() if text and text.strip()}


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())

"""The receiver in front of a bot, within the process of a test: `racing-bot serve` runs them as two processes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from bot.app import Service
from bot.db.vault import Vault
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.deliveries.signing_secrets import SigningSecrets, reading
from bot.logs import get_logger
from bot.ports import Ports
from bot.receiver.bot_process import CountsForBot
from bot.receiver.door import ADMITTED_AT_ONCE, Appending, Door, reader_of
from bot.receiver.relay import Front
from bot.settings import Settings
from tests.clock import PATIENCE_S


class Receiver:
    """`app` answers deliveries itself, and asks `bot` for everything else."""

    def __init__(self, settings: Settings, ports: Ports, bot: Any, journal: Journal) -> None:
        url = settings.database_url.get_secret_value()
        self.journal = journal
        # No test pulls the plug.
        self.journal.durable = False
        self.report = CountsForBot(tell_s=0)
        self.appending = Appending(self.journal.append, _aside, self.report.wake, PATIENCE_S)
        secrets = [secret.get_secret_value() for secret in settings.racing_webhook_secrets]
        vault = Vault([key.get_secret_value() for key in settings.encryption_keys])
        self.signing_secrets = SigningSecrets(
            secrets, partial(_aside, reading(url, vault)), ports.monotonic, get_logger("bot.receiver").warning
        )
        door = Door(
            reader_of(settings.max_body_bytes),
            settings.max_body_bytes,
            self.signing_secrets,
            self.appending.store,
            asyncio.Semaphore(ADMITTED_AT_ONCE),
            ports.clock,
            ports.token,
            self.report,
        )
        self.app = Front(door, bot, self.report.request_refused)


class ToBot:
    """The receiver's line to a bot of the same process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._hearing = set[asyncio.Task[None]]()

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self._service.receiver_news.hear(data))
        self._hearing.add(task)
        task.add_done_callback(self._hearing.discard)


def receiver_of(service: Service) -> Receiver:
    """A receiver with the bot's lifetime."""
    receiver = Receiver(service.settings, service.ports, service.app, service.journal)
    receiver.report.connect(ToBot(service))
    return receiver


async def has_unread(service: Service) -> bool:
    """Whether the journal has an unread letter."""
    return bool(service.journal.after(await service.database.read(place_in), 1)[1])


async def _aside(work: Callable[..., Any], *given: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, work, *given)

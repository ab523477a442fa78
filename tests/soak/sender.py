"""Delivers as the data service does: signed, and again until it is answered 2xx."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import aiohttp

from tests.clock import now
from tests.soak.racing import Delivery

IN_FLIGHT = 4
AGAIN_S = 0.4
ANSWER_S = 3.0
TWICE = 0.15
"""How often a body that was accepted is sent once more."""


@dataclass
class Sender:
    """Delivers stories to `ports`, any of them, while `has_room` says that the channels keep up."""

    session: aiohttp.ClientSession
    stories: Iterator[list[Delivery]]
    ports: Sequence[int]
    random: Random
    has_room: Callable[[], bool]
    delivered: list[Delivery] = field(default_factory=list)
    attempts: int = 0
    unheard: int = 0
    """Attempts that nobody answered: the bot was dead, or died of them."""
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)
    stopping: bool = False

    async def run(self) -> None:
        """Deliver until told to stop; a story that was begun is told to its end."""
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(self._tell_stories())

    async def _tell_stories(self) -> None:
        while not self.stopping:
            if not self.has_room():
                await asyncio.sleep(0.05)
                continue
            for delivery in next(self.stories):
                await self.deliver(delivery)
                if self.random.random() < TWICE:
                    await self._deliver_again(self.random.choice(self.delivered))

    async def deliver(self, delivery: Delivery) -> None:
        """Send it until it is answered 2xx."""
        delivery.sent_at = now()
        await self._send(delivery)
        delivery.answered_at = now()
        self.delivered.append(delivery)

    async def _deliver_again(self, delivery: Delivery) -> None:
        self.repeated += 1
        status = await self._send(delivery)
        if status != "duplicate":
            self.wrong.append(f"{delivery.name} was answered {status!r} when it came again")

    async def _send(self, delivery: Delivery) -> str:
        headers = {"Content-Type": "application/json", "X-SVC-Signature": delivery.signature}
        while True:
            self.attempts += 1
            address = f"http://127.0.0.1:{self.random.choice(self.ports)}/webhooks/racing"
            try:
                async with self.session.post(address, data=delivery.body, headers=headers) as answer:
                    if 200 <= answer.status < 300:
                        return str((await answer.json())["status"])
            except (aiohttp.ClientError, TimeoutError):
                self.unheard += 1
            await asyncio.sleep(self.random.uniform(AGAIN_S / 2, AGAIN_S))


def make_session() -> aiohttp.ClientSession:
    """A session that keeps no connection: those of a process that was killed would only be in the way."""
    connector = aiohttp.TCPConnector(force_close=True)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=ANSWER_S))

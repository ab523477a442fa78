"""The bot's answer, waiting, response addresses (five uses within thirty minutes), and trigger ids (three seconds).

docs.slack.dev/interactivity/handling-user-interaction, docs.slack.dev/reference/methods/views.open
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from bot.clock import Clock
from sandbox.slack.calls import Refused
from sandbox.slack.values import PostedMessage

PATIENCE_S = 60.0
"""Long for busy machines; a wait ends as soon as its condition holds."""


class Changes:
    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float) -> None:
        """Checks now and after every change. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while not predicate():
                await self._changed.wait()


USES = 5
LIFE_S = 30 * 60
TRIGGER_LIFE_S = 3.0


@dataclass
class ResponseUrl:
    number: int
    channel_id: str
    user_id: str
    issued_at: datetime
    changes: Changes
    message_ts: str | None = None
    uses: int = 0
    responses: list[PostedMessage] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"/commands/{self.number}"


@dataclass(frozen=True)
class Answer:
    """`status` is 0 without an answer.

    `error` is "operation_timeout" after three seconds, "dispatch_failed" for another status than 200, or the error of
    the body; else None.
    """

    status: int
    body: str
    error: str | None
    response_url: ResponseUrl | None = None

    async def responses(self, n: int = 1, timeout_s: float = PATIENCE_S) -> list[PostedMessage]:
        """At least `n` responses; raises TimeoutError. A body in the HTTP answer is the first response."""
        url = self.response_url
        assert url is not None, "this request carried no response_url"
        await url.changes.wait_for(lambda: len(url.responses) >= n, timeout_s)
        return list(url.responses)


class ResponseUrls:
    def __init__(self, clock: Clock, changes: Changes) -> None:
        self._clock = clock
        self._changes = changes
        self._issued: list[ResponseUrl] = []

    def issue(self, channel_id: str, user_id: str, message_ts: str | None = None) -> ResponseUrl:
        """`message_ts` is the message of the pressed button."""
        url = ResponseUrl(len(self._issued), channel_id, user_id, self._clock(), self._changes, message_ts)
        self._issued.append(url)
        return url

    def use(self, number: int) -> ResponseUrl:
        """Counts one use. Raises HTTP 404 for an unknown, old or used-up address."""
        if number >= len(self._issued):
            raise Refused("invalid_url", status=404)
        url = self._issued[number]
        if (self._clock() - url.issued_at).total_seconds() > LIFE_S:
            raise Refused("expired_url", status=404)
        if url.uses >= USES:
            raise Refused("used_url", status=404)
        url.uses += 1
        return url


class Triggers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._issued: dict[str, datetime | None] = {}
        """None once the id is used."""

    def issue(self) -> str:
        trigger_id = f"{len(self._issued)}.sandbox.trigger"
        self._issued[trigger_id] = self._clock()
        return trigger_id

    def exchange(self, trigger_id: str) -> None:
        """Raises Refused for an unknown, used or old id."""
        if trigger_id not in self._issued:
            raise Refused("invalid_trigger_id")
        if (issued_at := self._issued[trigger_id]) is None:
            raise Refused("exchanged_trigger_id")
        if (self._clock() - issued_at).total_seconds() > TRIGGER_LIFE_S:
            raise Refused("expired_trigger_id")
        self._issued[trigger_id] = None

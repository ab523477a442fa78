"""`POST /webhooks/racing`: signature over the raw bytes, then size, then a committed letter; only then 2xx.

Anybody can send anything here. Before the signature is proven right, a refusal is counted, and no admin is told.
"""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, NamedTuple

from bot.clock import Clock, Token
from bot.deliveries.journal import STORE_WITHIN_S, Letter
from bot.deliveries.signature import HEADER, is_signed, read_signature
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import (
    BodyCodingUnknown,
    BodyRefused,
    BodyTooLarge,
    QueueFull,
    StorageError,
    StorageUnavailable,
)
from bot.logs import get_logger
from bot.receiver.bot_process import CountsForBot
from bot.web.plain_answers import ACCEPTED, DUPLICATE, EventOutcome, refusal, retry_after
from bot.web.request_body import CODINGS, BodyReader, decoded

log = get_logger("bot.receiver")

ADMITTED_AT_ONCE = 128
"""Deliveries between last byte and answer. A surplus is refused at once.

A delivery takes 0.25 ms of processor time beside the fan-out of earlier deliveries. A full queue is answered within
a quarter of a second. At 1,000 deliveries a second the queue holds the deliveries of a pause of 0.1 s.
"""

READ_PER_BODY = 4
"""Times the largest size. Up to here the signature is checked: admins hear of too large bodies of the data service."""

BODIES_IN_FLIGHT = 16
"""The memory budget, in bodies of the largest size."""

EVENT_NAMES = (
    "meeting.abandoned",
    "race.abandoned",
    "racecard.published",
    "result.received",
    "racing-bot.drill",
)
"""Looked for in the bytes, for the count of events: the bot alone reads the payload."""

REREAD_WITHIN_S = 1.0
"""Limit for the stored secrets: the service waits for the answer a couple of seconds (Interface, Events 5)."""

_IN_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

Headers = Sequence[tuple[bytes, bytes]]


class HttpAnswer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


class SenderLeft(Exception):
    """The connection ended before the body did."""


class Appending:
    """Letters that arrive together share a commit. `run` runs a blocking call; `stored` is told of new letters."""

    def __init__(
        self,
        append: Callable[[Sequence[Letter]], list[bool]],
        run: Callable[..., Awaitable[Any]],
        stored: Callable[[], None],
        patience_s: float = STORE_WITHIN_S,
    ) -> None:
        self._append = append
        self._run = run
        self._stored = stored
        self.patience_s = patience_s
        self._waiting: list[tuple[Letter, asyncio.Future[bool]]] = []
        self._storing: asyncio.Task[None] | None = None

    async def store(self, letter: Letter) -> bool:
        """After the commit; False for a repeated body.

        Raises StorageError: stored or not, the service has to send the delivery again.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = letter, future
        self._waiting.append(entry)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_waiting(), name="appending")
        try:
            async with asyncio.timeout(self.patience_s):
                return await future
        except TimeoutError:
            with contextlib.suppress(ValueError):
                self._waiting.remove(entry)
            raise StorageUnavailable(f"not stored within {self.patience_s} s") from None

    async def _store_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                new = await self._run(self._append, [letter for letter, _ in batch])
            except Exception as error:  # noqa: BLE001  after any error nobody knows whether the letters are stored
                log.warning("deliveries_not_stored", count=len(batch), reason=str(error))
                failure = error if isinstance(error, StorageError) else StorageUnavailable(type(error).__name__)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(failure)
                continue
            for (_, future), is_new in zip(batch, new, strict=True):
                if not future.done():
                    future.set_result(is_new)
            if any(new):
                self._stored()


def reader_of(max_body_bytes: int) -> BodyReader:
    return BodyReader(max_bytes=max_body_bytes * READ_PER_BODY, budget_bytes=max_body_bytes * BODIES_IN_FLIGHT)


@dataclass(frozen=True)
class Door:
    bodies: BodyReader
    max_body_bytes: int
    signing_secrets: SigningSecrets
    store: Callable[[Letter], Awaitable[bool]]
    places: asyncio.Semaphore
    clock: Clock
    token: Token
    counts: CountsForBot

    async def answer(self, headers: Headers, arriving: AsyncIterator[bytes]) -> HttpAnswer:
        """200 accepted or duplicate, 400, 401, 408, 411, 413, 415 or 503."""
        reference = f"req-{self.token(4)}"
        try:
            # First: in a flood, work on refused deliveries delays the admitted deliveries.
            self._check_places()
            answer = await self._receive(headers, arriving, reference)
        except SenderLeft:
            answer = refuse(400, "the connection ended before the body did", reference)
        except BodyRefused as error:
            codings = {"Accept-Encoding": CODINGS} if isinstance(error, BodyCodingUnknown) else None
            answer = refuse(error.status, str(error), reference, codings)
        except QueueFull as error:
            answer = refuse(503, "too many at once; send it again", reference, reason=str(error))
        except StorageError as error:
            # Strangers read the answer: the driver's words are for the log alone.
            answer = refuse(503, "not stored; send it again", reference, reason=str(error))
        self.counts.delivery(str(answer.status))
        return answer

    async def _receive(self, headers: Headers, arriving: AsyncIterator[bytes], reference: str) -> HttpAnswer:
        self.bodies.check_length(",".join(values(headers, "content-length")))
        signature = read_signature(values(headers, HEADER.lower()))
        if signature is None:
            self.counts.signature_failure("missing")
            return refuse(401, f"exactly one {HEADER} of 64 hex digits is needed", reference)
        if not (values(headers, "content-length") or values(headers, "transfer-encoding")):
            return refuse(411, "a Content-Length is needed", reference)
        async with self.bodies.read(arriving) as body:
            # Only now, so that slow senders hold no place in the queue.
            self._check_places()
            async with self.places:
                return await self._accept(headers, body, signature, reference)

    def _check_places(self) -> None:
        if self.places.locked():
            raise QueueFull("every place in the queue is taken")

    async def _accept(self, headers: Headers, signed_body: bytes, signature: str, reference: str) -> HttpAnswer:
        if not await self._is_signed(signed_body, signature):
            self.counts.signature_failure("mismatch")
            return refuse(401, "the signature matches no active secret", reference)
        self.counts.signature_matched()
        try:
            # The unpacked body is stored, hashed and read: a repeat may be packed in other bytes.
            body = decoded(signed_body, values(headers, "content-encoding"), self.max_body_bytes)
        except BodyTooLarge:
            self.counts.event(None, "too_large")
            raise
        name = next((name for name in EVENT_NAMES if name.encode() in body), None)
        letter = Letter(hashlib.sha256(body).hexdigest(), reference, self.clock(), body)
        try:
            is_new = await self.store(letter)
        except StorageError:
            self.counts.event(name, "not_stored")
            raise
        outcome: EventOutcome = "accepted" if is_new else "duplicate"
        self.counts.event(name, outcome)
        log.info("delivery_answered", outcome=outcome, reference=reference)
        return in_json(200, ACCEPTED if is_new else DUPLICATE)

    async def _is_signed(self, body: bytes, signature: str) -> bool:
        signed = is_signed(self.signing_secrets.active, body, signature)
        if not signed and await self._reread():
            signed = is_signed(self.signing_secrets.active, body, signature)
        if not signed and self.signing_secrets.unread:
            # The sender may be a stranger, so the delivery is not counted as signed and not stored.
            self.counts.signature_failure("secret_unread")
            raise StorageUnavailable("a stored secret can't be read, and the signature may be by that secret")
        return signed

    async def _reread(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REREAD_WITHIN_S):
                return await self.signing_secrets.reread()
        return False


def values(headers: Headers, name: str) -> list[str]:
    wanted = name.encode()
    return [value.decode("latin-1") for each, value in headers if each == wanted]


def in_json(status: int, content: Mapping[str, object], headers: Mapping[str, str] | None = None) -> HttpAnswer:
    body = _IN_JSON.encode(content).encode()
    lines = {"Content-Length": str(len(body)), "Content-Type": "application/json", **(headers or {})}
    return HttpAnswer(status, [(name.lower().encode(), value.encode()) for name, value in lines.items()], body)


def refuse(
    status: int, error: str, reference: str | None = None, headers: Mapping[str, str] | None = None, **logged: object
) -> HttpAnswer:
    """A refusal, and its line in the log under the reference of the answer. A 503 asks for a retry."""
    reference = reference or f"req-{token_hex(4)}"
    log.bounded("request_refused", error, **{"status": status, "reference": reference, "reason": error, **logged})
    return in_json(status, refusal(error, reference), {**retry_after(status), **(headers or {})})

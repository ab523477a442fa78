"""`POST /webhooks/racing`: signature over the raw bytes, then size, then one committed row; only then 2xx.

Anybody can send anything here. Before the signature is proven right, a refusal is counted, and no admin is told.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from bot.clock import Clock, Token
from bot.deliveries.admission import Admission
from bot.deliveries.inbox import Arrival
from bot.deliveries.inbox import reference as inbox_reference
from bot.deliveries.payload import Payload
from bot.deliveries.signature import HEADER, is_signed, read_signature
from bot.deliveries.signature_mismatches import Mismatches
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import (
    BodyBudgetSpent,
    BodyCodingUnknown,
    BodyRefused,
    BodyTooLarge,
    QueueFull,
    StorageError,
    StorageUnavailable,
)
from bot.logs import get_logger
from bot.web.json_answers import RETRY_AFTER_S, refuse
from bot.web.request_body import CODINGS, BodyReader, decoded

log = get_logger(__name__)

WEBHOOK_PATH = "/webhooks/racing"

READ_PER_BODY = 4
"""Times the largest size. Up to here the signature is checked: admins hear of too large bodies of the data service."""

LONG_BODY_BYTES = 32_768
"""From here on a thread reads the body."""

ACCEPTED, DUPLICATE = b'{"status":"accepted"}', b'{"status":"duplicate"}'


class Counts(Protocol):
    def delivery(self, status: str) -> None: ...

    def event(self, name: str | None, outcome: str) -> None:
        """A signed delivery was "accepted", a "duplicate", "not_stored" or "too_large"."""

    def signature_failure(self, reason: str) -> None:
        """The signature was "missing", or a "mismatch" with every secret."""


@dataclass(frozen=True)
class WebhookEndpoint:
    """`tell_too_large` tells admins of a signed body of more than `max_body_bytes`. `bodies` reads larger bodies."""

    bodies: BodyReader
    max_body_bytes: int
    signing_secrets: SigningSecrets
    mismatches: Mismatches
    store: Callable[[Arrival], Awaitable[int | None]]
    admission: Admission
    tell_too_large: Callable[[], Awaitable[None]]
    clock: Clock
    token: Token
    counts: Counts

    async def __call__(self, request: Request) -> Response:
        """200 accepted or duplicate, 400, 401, 408, 411, 413, 415 or 503."""
        reference = f"req-{self.token(4)}"
        try:
            # First: in a flood, work on refused deliveries delays the admitted deliveries.
            self.admission.check()
            response = await self._receive(request, reference)
        except ClientDisconnect:
            log.info("delivery_cut_off", reference=reference)
            response = refuse(400, "the connection ended before the body did", reference=reference)
        except BodyRefused as error:
            response = self._refuse_body(error, reference)
        except QueueFull as error:
            if count := self.admission.refusals_to_log():
                log.warning("deliveries_turned_away", reference=reference, count=count, reason=str(error))
            response = refuse(503, "too many at once; send it again", retry_after_s=RETRY_AFTER_S, reference=reference)
        except StorageError as error:
            log.warning("delivery_not_taken", reference=reference, reason=str(error))
            response = refuse(503, "not stored; send it again", retry_after_s=RETRY_AFTER_S, reference=reference)
        self.counts.delivery(str(response.status_code))
        return response

    async def _receive(self, request: Request, reference: str) -> Response:
        self.bodies.check_length(request)
        signature = read_signature(request.headers.getlist(HEADER))
        if signature is None:
            log.warning("delivery_unsigned", reference=reference, signatures=len(request.headers.getlist(HEADER)))
            self.counts.signature_failure("missing")
            return refuse(401, f"exactly one {HEADER} of 64 hex digits is needed", reference=reference)
        if "content-length" not in request.headers and "transfer-encoding" not in request.headers:
            return refuse(411, "a Content-Length is needed", reference=reference)
        async with self.bodies.read(request) as body:
            # Only now, so that slow senders hold no place in the queue.
            with self.admission.admitted():
                return await self._accept(request, body, signature, reference)

    async def _accept(self, request: Request, signed_body: bytes, signature: str, reference: str) -> Response:
        if not await self._is_signed(signed_body, signature):
            log.warning("signature_matches_no_secret", reference=reference, in_a_row=self.mismatches.in_a_row)
            self.counts.signature_failure("mismatch")
            return refuse(401, "the signature matches no active secret", reference=reference)
        try:
            # The unpacked body is stored, hashed and read: a repeat may be packed in other bytes.
            body = decoded(signed_body, request, self.max_body_bytes)
        except BodyTooLarge:
            self.counts.event(None, "too_large")
            await self.tell_too_large()
            raise
        payload = Payload(body)
        if len(body) > LONG_BODY_BYTES:
            # The loop answers other deliveries meanwhile.
            await asyncio.to_thread(lambda: (payload.identity, payload.region))
        event_key, event_name = payload.identity
        sha256 = hashlib.sha256(body).hexdigest()
        arrival = Arrival(event_key, event_name, sha256, body, self.clock(), lambda: payload.events, payload.region)
        try:
            number = await self.store(arrival)
        except StorageError:
            self.counts.event(event_name, "not_stored")
            raise
        outcome = "duplicate" if number is None else "accepted"
        self.counts.event(event_name, outcome)
        stored_as = reference if number is None else inbox_reference(number)
        log.info("delivery", outcome=outcome, reference=stored_as, request=reference, event_key=event_key)
        return Response(DUPLICATE if number is None else ACCEPTED, media_type="application/json")

    async def _is_signed(self, body: bytes, signature: str) -> bool:
        signed = is_signed(self.signing_secrets.active, body, signature)
        if not signed and await self.signing_secrets.reread():
            signed = is_signed(self.signing_secrets.active, body, signature)
        if not signed and self.signing_secrets.unread:
            self.counts.event(None, "not_stored")
            raise StorageUnavailable("the stored secrets can't be read, and the signature may be by one of them")
        if signed:
            self.mismatches.matched()
        else:
            await self.mismatches.missed()
        return signed

    def _refuse_body(self, error: BodyRefused, reference: str) -> JSONResponse:
        log.warning("body_refused", reference=reference, reason=str(error))
        if isinstance(error, BodyTooLarge):
            return refuse(413, f"more than {self.max_body_bytes} bytes", reference=reference)
        if isinstance(error, BodyCodingUnknown):
            response = refuse(415, str(error), reference=reference)
            response.headers["Accept-Encoding"] = CODINGS
            return response
        if isinstance(error, BodyBudgetSpent):
            return refuse(503, str(error), retry_after_s=RETRY_AFTER_S, reference=reference)
        return refuse(408, str(error), reference=reference)

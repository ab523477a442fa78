"""Tests PUBLIC_URL by a signed delivery to the bot itself, and says in words what is wrong with the address."""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
from pydantic_core import from_json

from bot.clock import Monotonic
from bot.deliveries.signature import HEADER, sign
from bot.deliveries.signing_secrets import SigningSecrets
from bot.events.word_rows import sentence_rows
from bot.logs import get_logger
from bot.web.outgoing import open_http
from bot.web.plain_answers import ACCEPTED, DUPLICATE, WEBHOOK_PATH

log = get_logger(__name__)

DELIVERY_CALL_S = 5.0
"""The data service gives a receiver a couple of seconds (Interface, Events 5)."""

SLOW_S = 2.0
"""A good answer that takes longer is logged as slow."""

ANSWER_MAX = 4_096

_rows = partial(sentence_rows, "bot.operations", "public_url.ini")


@dataclass(frozen=True)
class Problem:
    told: str
    mend: str


@dataclass(frozen=True)
class AddressAnswer:
    """The answer of our public address. `problem` is None after a good answer."""

    address: str
    took_s: float
    problem: Problem | None = None


def _of_row(name: str, **facts: object) -> Problem:
    row = _rows()["other"] | _rows()[name]
    return Problem(row["told"].format(**facts), row["mend"])


@dataclass(frozen=True)
class SelfDelivery:
    """Signs with the newest secret. Redirects are not followed."""

    public_url: str | None
    signing_secrets: SigningSecrets
    monotonic: Monotonic
    call_s: float = DELIVERY_CALL_S

    async def __call__(self, body: bytes) -> AddressAnswer:
        """Never raises: the answer carries the problem."""
        if self.public_url is None:
            return AddressAnswer("", 0.0, _of_row("unset"))
        address = self.public_url + WEBHOOK_PATH
        # `racing-bot subscribe` may have stored the first secret a moment ago.
        await self.signing_secrets.read()
        secrets = self.signing_secrets.active
        if not secrets:
            return AddressAnswer(address, 0.0, _of_row("no secret"))
        began_s = self.monotonic()
        problem = await self._problem(address, body, sign(secrets[-1], body))
        took_s = self.monotonic() - began_s
        if problem is not None:
            log.warning("drill_not_delivered", address=address, reason=problem.told)
        elif took_s > SLOW_S:
            log.warning("drill_delivered_slowly", address=address, took_s=round(took_s, 2))
        return AddressAnswer(address, took_s, problem)

    async def _problem(self, address: str, body: bytes, signature: str) -> Problem | None:
        headers = {HEADER: signature, "Content-Type": "application/json"}
        try:
            async with (
                asyncio.timeout(self.call_s),
                open_http(address, self.call_s) as http,
                http.stream("POST", address, content=body, headers=headers) as response,
            ):
                answer = b""
                async for part in response.aiter_bytes(ANSWER_MAX):
                    answer = part
                    break
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return unreached(error, address, self.call_s)
        said = object_in(answer)
        if response.status_code == HTTPStatus.OK:
            return None if said in (ACCEPTED, DUPLICATE) else _of_row("stranger")
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and isinstance(reason := said.get("error"), str):
            return _of_row("not stored", reason=reason[:200])
        return answered(response)


def unreached(error: Exception, address: str, call_s: float) -> Problem:
    host, cause = urlsplit(address).netloc, _cause(error)
    kinds: tuple[tuple[str, BaseException, type[BaseException]], ...] = (
        ("proxy", error, httpx.ProxyError),
        ("certificate", cause, ssl.SSLError),
        ("name", cause, socket.gaierror),
        ("silence", error, httpx.TimeoutException),
        ("silence", error, TimeoutError),
        ("port", error, httpx.ConnectError),
        ("connection", error, httpx.HTTPError),
    )
    name = next((name for name, one, kind in kinds if isinstance(one, kind)), "address")
    return _of_row(name, host=host, call_s=call_s, reason=_reason(cause))


def answered(response: httpx.Response) -> Problem:
    """The problem that an answer shows, where something other than the bot answered."""
    status, location = response.status_code, response.headers.get("Location", "")[:200]
    name = str(status) if str(status) in _rows() else "failing" if response.is_server_error else "other"
    return _of_row("redirect" if response.has_redirect_location else name, status=status, location=location)


def _cause(error: BaseException) -> BaseException:
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error


def _reason(cause: BaseException) -> str:
    said = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None) or str(cause)
    return str(said).splitlines()[0][:200] if said else type(cause).__name__


def object_in(answer: bytes) -> dict[str, object]:
    try:
        found = from_json(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

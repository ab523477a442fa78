"""Tests PUBLIC_URL by a signed delivery to the bot itself, and says in words what is wrong with the address."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
from pydantic_core import from_json

from bot.clock import Monotonic
from bot.deliveries.signature import HEADER, sign
from bot.deliveries.signing_secrets import SigningSecrets
from bot.logs import get_logger
from bot.web.outgoing import open_http
from bot.web.plain_answers import ACCEPTED, DUPLICATE, WEBHOOK_PATH

log = get_logger(__name__)

DELIVERY_CALL_S = 5.0
"""The data service gives a receiver a couple of seconds (Interface, Events 5)."""

SLOW_S = 2.0
"""A good answer that takes longer is logged as slow."""

ANSWER_MAX = 4_096
_FROM_HERE = " From elsewhere the address may answer all the same: some networks do not lead back to themselves."

_LET_THROUGH = "Have the proxy pass /healthz, /webhooks/racing and /slack/events on to the bot, bodies unchanged."
_START = "Start `racing-bot serve`, and point the proxy to the bot's HOST and PORT."

_STATUSES: Mapping[int, tuple[str, str]] = {
    HTTPStatus.UNAUTHORIZED: (
        "refused the signature",
        "Have PUBLIC_URL lead to this bot and no other, and keep the proxy from changing the body.",
    ),
    HTTPStatus.FORBIDDEN: ("does not let me in", "Open POST /webhooks/racing in the proxy or firewall to everybody."),
    HTTPStatus.NOT_FOUND: ("knows no such path", _LET_THROUGH),
    HTTPStatus.METHOD_NOT_ALLOWED: ("does not take the request there", _LET_THROUGH),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "finds even a small body too large",
        "Raise the proxy's limit on bodies to MAX_BODY_BYTES.",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: (
        "limits requests",
        "Take the proxy's rate limit off POST /webhooks/racing: the data service sends bursts.",
    ),
    HTTPStatus.BAD_GATEWAY: ("does not reach the bot", _START),
    HTTPStatus.GATEWAY_TIMEOUT: ("gets no answer from the bot", _START),
}


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


NO_SECRET = Problem(
    "I have no signing secret, so every delivery is refused.",
    "Type `racing-bot subscribe` in a shell, or set RACING_WEBHOOK_SECRETS.",
)

NOT_OURS = Problem(
    "PUBLIC_URL answered 200, but not with my words: something else answers there, and would swallow deliveries.",
    _LET_THROUGH,
)


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
            return AddressAnswer("", 0.0, Problem("PUBLIC_URL is not set.", "Set PUBLIC_URL and start me again."))
        address = self.public_url + WEBHOOK_PATH
        # `racing-bot subscribe` may have stored the first secret a moment ago.
        await self.signing_secrets.read()
        secrets = self.signing_secrets.active
        if not secrets:
            return AddressAnswer(address, 0.0, NO_SECRET)
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
            return None if said in (ACCEPTED, DUPLICATE) else NOT_OURS
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and isinstance(reason := said.get("error"), str):
            return Problem(
                f"I answered 503: {reason[:200]}.", "See /readyz: its `storage` says what keeps me from storing."
            )
        return answered(response)


def unreached(error: Exception, address: str, call_s: float) -> Problem:
    host, cause = urlsplit(address).netloc, _cause(error)
    match error, cause:
        case (httpx.ProxyError(), _):
            return Problem(
                f"The proxy in the environment does not lead to {host}.",
                "Correct HTTPS_PROXY, or name the host in NO_PROXY.",
            )
        case (_, ssl.SSLError()):
            return Problem(
                f"The TLS certificate of {host} is not accepted ({_reason(cause)}).",
                "Renew the certificate, and have the proxy send its whole chain.",
            )
        case (_, socket.gaierror()):
            return Problem(
                f"The name {host} is not known (DNS).", "Correct PUBLIC_URL, or make the DNS record of that name."
            )
        case (httpx.TimeoutException() | TimeoutError(), _):
            return Problem(
                f"{host} did not answer within {call_s:g} seconds.{_FROM_HERE}",
                "Open the port in the firewall, and see that proxy and bot run.",
            )
        case (httpx.ConnectError(), _):
            return Problem(
                f"Nothing takes connections at {host} ({_reason(cause)}).{_FROM_HERE}",
                "Start the reverse proxy, or correct PUBLIC_URL.",
            )
        case (httpx.HTTPError(), _):
            return Problem(
                f"The connection to {host} broke off ({_reason(cause)}).",
                "See the proxy's log: it ended the connection before it answered.",
            )
    return Problem(f"{host} is no address that can be called.", "Correct PUBLIC_URL.")


def answered(response: httpx.Response) -> Problem:
    """The problem that an answer shows, where something other than the bot answered."""
    status = response.status_code
    if response.has_redirect_location:
        return Problem(
            f"PUBLIC_URL answered {status}, a redirect to {response.headers['Location'][:200]}.",
            "Set PUBLIC_URL to the final address, and subscribe anew: a delivery is not redirected.",
        )
    other = "fails" if response.is_server_error else "does not answer as the bot does"
    told, mend = _STATUSES.get(status, (other, _LET_THROUGH))
    return Problem(f"PUBLIC_URL answered {status}: it {told}.", mend)


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

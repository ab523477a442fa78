"""A delivery to ourselves, signed as the data service signs, through our public address."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from bot.addresses import proxy_of
from bot.clock import Monotonic
from bot.deliveries.endpoint import ACCEPTED, DUPLICATE, WEBHOOK_PATH
from bot.deliveries.signature import HEADER, sign
from bot.deliveries.signing_secrets import SigningSecrets
from bot.logs import get_logger
from bot.operations.drill_run import AddressAnswer, Problem

log = get_logger(__name__)

DELIVERY_CALL_S = 5.0
"""The data service gives a receiver a couple of seconds (Interface, Events 5)."""

SLOW_S = 2.0

ANSWER_MAX = 4_096
_FROM_HERE = " From elsewhere the address may answer all the same: some networks do not lead back to themselves."

_CHECK_PROXY = "Have the proxy pass POST /webhooks/racing on to the bot, body and headers unchanged."

_STATUSES: Mapping[int, tuple[str, str]] = {
    HTTPStatus.UNAUTHORIZED: (
        "refused the signature",
        "Have PUBLIC_URL lead to this bot and no other, and keep the proxy from changing the body.",
    ),
    HTTPStatus.FORBIDDEN: ("does not let me in", "Open POST /webhooks/racing in the proxy or firewall to everybody."),
    HTTPStatus.NOT_FOUND: ("knows no such path", _CHECK_PROXY),
    HTTPStatus.METHOD_NOT_ALLOWED: ("takes no POST there", _CHECK_PROXY),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "finds even a small body too large",
        "Raise the proxy's limit on bodies to MAX_BODY_BYTES.",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: (
        "limits requests",
        "Take the proxy's rate limit off POST /webhooks/racing: the data service sends bursts.",
    ),
    HTTPStatus.BAD_GATEWAY: ("does not reach the bot", "Point the proxy to the bot's HOST and PORT."),
    HTTPStatus.GATEWAY_TIMEOUT: ("gets no answer from the bot", "Point the proxy to the bot's HOST and PORT."),
}


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
        timeout = aiohttp.ClientTimeout(total=self.call_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(
                    address, data=body, headers=headers, allow_redirects=False, proxy=proxy_of(address)
                ) as response,
            ):
                answer = await response.content.read(ANSWER_MAX)
                return _read_answer(response.status, response.headers.get("Location"), answer)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return unreached(error, urlsplit(address).netloc, self.call_s)


NO_SECRET = Problem(
    "I have no signing secret, so every delivery is refused.",
    "Type `racing-bot subscribe` in a shell, or set RACING_WEBHOOK_SECRETS.",
)


def unreached(error: Exception, host: str, call_s: float) -> Problem:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return Problem(
                f"The name {host} is not known (DNS).", "Correct PUBLIC_URL, or make the DNS record of that name."
            )
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return Problem(
                f"The proxy in the environment does not lead to {host}.",
                "Correct HTTPS_PROXY, or name the host in NO_PROXY.",
            )
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return Problem(
                f"The TLS certificate of {host} is not accepted ({_reason(error)}).",
                "Renew the certificate, and have the proxy send its whole chain.",
            )
        case TimeoutError():
            return Problem(
                f"{host} did not answer within {call_s:g} seconds.{_FROM_HERE}",
                "Open the port in the firewall, and see that proxy and bot run.",
            )
        case aiohttp.ClientConnectorError():
            return Problem(
                f"Nothing takes connections at {host} ({_reason(error)}).{_FROM_HERE}",
                "Start the proxy, or correct PUBLIC_URL.",
            )
        case aiohttp.InvalidURL() | ValueError():
            return Problem(f"{host} is no address that can be called.", "Correct PUBLIC_URL.")
        case _:
            return Problem(
                f"The connection to {host} broke off ({_reason(error)}).",
                "See the proxy's log: it ended the connection before it answered.",
            )


def _reason(error: Exception) -> str:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    said = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None) or str(cause)
    return str(said).splitlines()[0][:200] if said else type(cause).__name__


def _read_answer(status: int, location: str | None, answer: bytes) -> Problem | None:
    if status == HTTPStatus.OK:
        return None if _is_ours(answer) else NOT_OURS
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        to = f" to {location[:200]}" if location else ""
        return Problem(
            f"PUBLIC_URL answered {status}, a redirect{to}.",
            "Set PUBLIC_URL to the final address, and subscribe anew: a delivery is not redirected.",
        )
    if status == HTTPStatus.SERVICE_UNAVAILABLE and _error_of(answer):
        return Problem(
            f"I answered 503: {_error_of(answer)}.", "See /readyz: its `storage` says what keeps me from storing."
        )
    told, mend = _STATUSES.get(status, (_other(status), _CHECK_PROXY))
    return Problem(f"PUBLIC_URL answered {status}: it {told}.", mend)


NOT_OURS = Problem(
    "PUBLIC_URL answered 200, but not with my words: something else answers there, and would swallow deliveries.",
    _CHECK_PROXY,
)


def _other(status: int) -> str:
    return "fails" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "takes no delivery"


def _is_ours(answer: bytes) -> bool:
    return answer.strip() in {ACCEPTED, DUPLICATE}


def _error_of(answer: bytes) -> str | None:
    try:
        found = json.loads(answer)
    except ValueError:
        return None
    error = found.get("error") if isinstance(found, dict) else None
    return error[:200] if isinstance(error, str) else None

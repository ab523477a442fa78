"""One request, one answer, over httpx: the only place that knows the key, and the only one that sees httpx's errors.

Nothing that leaves here shows the key, a header or a whole address. Failures are raised outside the `except` that saw
httpx's own error, so that they are not chained to it: its text and its request carry both.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue, SecretStr

from bot.errors import SettingsError
from bot.logs import quieten_http
from bot.racedata.client.address import check_base_url
from bot.racedata.client.service_errors import AnswerUnreadable, ServiceFailure, ServiceUnreachable

MIB = 1024 * 1024
MAX_ANSWER_BYTES = 32 * MIB
"""Cap on an answer, unpacked. A page of 200 races of 40 runners at 1 KiB each is 8 MiB."""

TIMEOUTS = httpx.Timeout(connect=5, read=30, write=10, pool=10)
WHOLE_ANSWER_S = 60.0
"""Time limit on an answer from first to last byte; the read timeout alone would wait for ever on a slow trickle."""

MASK = "********"
SURELY_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


@dataclass(frozen=True)
class Request:
    """What is asked. `repeatable` is False for what must not be done twice."""

    method: str
    path: str
    params: tuple[tuple[str, str | int], ...] = ()
    body: JsonValue = None
    repeatable: bool = True


@dataclass(frozen=True)
class Answer:
    """What came back. Header names are lower case. The repr shows neither headers nor body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Transport:
    """Sends requests below a base address. A client that is passed in is not closed by `aclose`."""

    def __init__(
        self,
        base_url: str,
        key: SecretStr,
        *,
        http: httpx.AsyncClient | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        whole_answer_s: float = WHOLE_ANSWER_S,
    ) -> None:
        _check(base_url, key)
        quieten_http()
        self._base_url = base_url.rstrip("/") + "/"
        self._key = key
        # On loopback there is no proxy to go through, and http would show the key to it.
        self._http = http or httpx.AsyncClient(trust_env=urlsplit(base_url).scheme == "https")
        self._owns_http = http is None
        self._max_answer_bytes = max_answer_bytes
        self._whole_answer_s = whole_answer_s

    async def aclose(self) -> None:
        """Close the connections that were made here."""
        if self._owns_http:
            await self._http.aclose()

    def mask(self, text: str) -> str:
        """The text with the key blanked out: a service may quote it in a refusal."""
        return text.replace(self._key.get_secret_value(), MASK)

    async def send(self, request: Request) -> Answer:
        """The answer, whatever its status. Raises ServiceUnreachable, or AnswerUnreadable where it is too large."""
        answer = await self._attempt(request)
        if isinstance(answer, ServiceFailure):
            raise answer
        return answer

    async def _attempt(self, request: Request) -> Answer | ServiceFailure:
        try:
            async with asyncio.timeout(self._whole_answer_s):
                return await self._exchange(request)
        except httpx.DecodingError:
            return AnswerUnreadable(request.path, message="its compression is broken")
        except httpx.InvalidURL:
            # A cursor of tens of thousands of characters, say. It was not asked, and can't be.
            return AnswerUnreadable(request.path, message="what it gave to go on with is too long to be asked for")
        except (httpx.HTTPError, OSError) as error:
            return _unreachable(request.path, error)

    async def _exchange(self, request: Request) -> Answer | ServiceFailure:
        sent = self._http.build_request(
            request.method,
            self._base_url + request.path,
            params=dict(request.params) or None,
            json=request.body,
            headers={
                "X-API-Key": self._key.get_secret_value(),
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": "racing-bot",
            },
            timeout=TIMEOUTS,
        )
        response = await self._http.send(sent, stream=True, follow_redirects=False)
        try:
            body = await self._read(response)
        finally:
            await response.aclose()
        if body is None:
            return AnswerUnreadable(
                request.path, status=response.status_code, message=f"it is over {self._max_answer_bytes} bytes"
            )
        return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)

    async def _read(self, response: httpx.Response) -> bytes | None:
        """The body, or None as soon as it is over the cap."""
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._max_answer_bytes:
                return None
        return bytes(body)


def _unreachable(path: str, error: Exception) -> ServiceUnreachable:
    """The failure, named by the error's class alone: its text may hold an address or a header."""
    return ServiceUnreachable(
        path, message=type(error).__name__, may_have_arrived=not isinstance(error, SURELY_NOT_SENT)
    )


def _check(base_url: str, key: SecretStr) -> None:
    """SettingsError where the address is none, or the key can't stand in a header (httpx's own error would show it)."""
    problem = check_base_url(base_url)
    problems = [f"RACING_API_URL {problem}"] if problem else []
    if not re.fullmatch(r"[\x21-\x7e]+", key.get_secret_value()):
        problems.append("RACING_API_KEY must be printable ASCII without spaces")
    if problems:
        raise SettingsError(problems)

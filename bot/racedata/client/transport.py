"""One request and one answer over httpx. Only this module knows the key.

httpx's errors hold the key and whole addresses. So failures are raised outside the `except` block, unchained, and no
message, repr or log shows the key, a header or a whole address.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import JsonValue, SecretStr
from pydantic_core import from_json

from bot.events.reading.json_object import NotAnObject, decode
from bot.logs import MaskSecrets
from bot.racedata.client.service_errors import AnswerUnreadable, ServiceFailure, ServiceUnreachable
from bot.web.outgoing import open_http

Params = tuple[tuple[str, str | int], ...]
"""The names and values of a query. A name may stand in a query more than once."""

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""A page of 200 races of 40 runners at 1 KiB each is 8 MiB."""

TIMEOUTS = httpx.Timeout(connect=5, read=30, write=10, pool=10)
WHOLE_ANSWER_S = 60.0
"""Against a slow trickle the read timeout alone never ends."""

SURELY_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@dataclass(frozen=True)
class Request:
    """`path` has no query: httpx would replace the path's query by `params`.

    `template` is the operator's path that `path` was made from. `bare`: an answer without an envelope is no failure.
    """

    method: str
    path: str
    params: Params = ()
    body: JsonValue = None
    template: str | None = None
    bare: bool = False

    @property
    def endpoint(self) -> str:
        return self.template or self.path

    @property
    def is_repeatable(self) -> bool:
        return self.method == "GET"


@dataclass(frozen=True)
class Answer:
    """Header names are lower case. `body`: the parsed JSON, else the text. `size`: bytes of the body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)
    size: int


class Transport:
    def __init__(
        self,
        base_url: str,
        key: SecretStr,
        *,
        http: httpx.AsyncClient | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        whole_answer_s: float = WHOLE_ANSWER_S,
    ) -> None:
        self._base_url = base_url.rstrip("/") + "/"
        self._key = key
        self._mask = MaskSecrets([key.get_secret_value()]).masked
        self._http = http or open_http(base_url, WHOLE_ANSWER_S)
        self._max_answer_bytes = max_answer_bytes
        self._whole_answer_s = whole_answer_s

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, request: Request) -> Answer:
        """Raises ServiceUnreachable, or AnswerUnreadable for an answer over the cap."""
        answer: Answer | ServiceFailure
        try:
            async with asyncio.timeout(self._whole_answer_s):
                answer = await self._exchange(request)
        except httpx.DecodingError:
            answer = AnswerUnreadable(request.path, message="its compression is broken")
        except httpx.InvalidURL:
            # For example a cursor of tens of thousands of characters.
            answer = AnswerUnreadable(request.path, message="what it gave to go on with is too long to be asked for")
        except (httpx.HTTPError, OSError) as error:
            # The class alone: the error's text may hold an address or a header.
            name, may_have_arrived = type(error).__name__, not isinstance(error, SURELY_NOT_SENT)
            answer = ServiceUnreachable(request.path, message=name, may_have_arrived=may_have_arrived)
        if isinstance(answer, ServiceFailure):
            raise answer
        return answer

    async def _exchange(self, request: Request) -> Answer | ServiceFailure:
        sent = self._http.build_request(
            request.method,
            self._base_url + request.path,
            params=request.params or None,
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
            # A kilobyte compressed twice can expand to a gigabyte.
            if "," in response.headers.get("content-encoding", ""):
                raise httpx.DecodingError("compressed twice")
            body = await self._read(response)
        finally:
            await response.aclose()
        if body is None:
            return AnswerUnreadable(
                request.path, status=response.status_code, message=f"it is over {self._max_answer_bytes} bytes"
            )
        # An answer may quote the key, escaped too: the parsed values are masked.
        # Thousands of texts take a while.
        headers = {name.lower(): self._mask(value) for name, value in response.headers.items()}
        value = await asyncio.to_thread(lambda: self._mask(read_body(body)))
        return Answer(response.status_code, headers, value, len(body))

    async def _read(self, response: httpx.Response) -> bytes | None:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._max_answer_bytes:
                return None
        return bytes(body)


def read_body(body: bytes) -> Any:
    """The parsed JSON, else the text. A letter beyond Unicode becomes a question mark, and spoils no page."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        pass
    try:
        return from_json(json.dumps(decode(body), ensure_ascii=False).encode(errors="replace"))
    except (NotAnObject, ValueError):
        return body.decode(errors="backslashreplace")

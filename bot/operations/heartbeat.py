"""The outbound heartbeat: a monitor elsewhere warns when the calls stop, because a dead bot can warn nobody.

The protocol is that of Healthchecks (healthchecks.io/docs/http_api). A call of the address is a success. A call of the
address with `/fail` after its path is a failure, and the body says why.
"""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

import httpx
from pydantic import SecretStr

from bot.logs import get_logger, quieten_http

log = get_logger(__name__)

EVERY_S = 60.0
"""The time between two calls, and before the first call: a bot dead before then was not well."""

CALL_S = 5.0
"""A call is given up after this long."""

FAIL = "/fail"

BODY_MAX = 2_000

FindProblem = Callable[[], Awaitable[str | None]]
"""Why deliveries can't be stored or posts don't go out; None while both work."""


class Heartbeat:
    """Calls the address of HEARTBEAT_URL. The address may hold a secret id, so the log names the host alone."""

    def __init__(self, url: SecretStr, http: httpx.AsyncClient, find_problem: FindProblem) -> None:
        self._url = url
        self._http = http
        self._find_problem = find_problem
        self._host = urlsplit(url.get_secret_value()).hostname
        self._is_taken: bool | None = None

    async def run(self) -> None:
        """Call once a minute until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.beat()

    async def beat(self) -> bool:
        """Call once, with success or failure; whether the monitor took the call. Never raises."""
        refusal = await self._call(await self._find_problem_safely())
        is_taken = refusal is None
        # A line for each change: a monitor away for a night is not worth a line a minute.
        if is_taken != self._is_taken:
            say = log.info if is_taken else log.warning
            say("heartbeat_taken" if is_taken else "heartbeat_not_taken", host=self._host, reason=refusal)
        self._is_taken = is_taken
        return is_taken

    async def _find_problem_safely(self) -> str | None:
        try:
            return await self._find_problem()
        except Exception as error:  # noqa: BLE001  a state that can't be told is no good state
            log.warning("heartbeat_state_unknown", reason=type(error).__name__)
            return f"the bot can't tell its own state ({type(error).__name__})"

    async def _call(self, problem: str | None) -> str | None:
        """Why the monitor did not take the call, without the address; None where the monitor did."""
        url = self._url.get_secret_value()
        try:
            async with asyncio.timeout(CALL_S):
                # The answer's headers are enough, so a body without an end keeps nobody waiting.
                async with self._http.stream(
                    "POST", url if problem is None else _failing(url), content=(problem or "")[:BODY_MAX].encode()
                ) as response:
                    return None if response.is_success else f"status {response.status_code}"
        except TimeoutError:
            return f"no answer within {CALL_S:g} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # The class alone: the text may hold the address.
            return type(error).__name__


def open_http(url: SecretStr) -> httpx.AsyncClient:
    """A client for the calls. Redirects are not followed: another host is not to learn the address."""
    quieten_http()
    # On loopback there is no proxy to go through.
    is_https = urlsplit(url.get_secret_value()).scheme == "https"
    return httpx.AsyncClient(timeout=CALL_S, follow_redirects=False, trust_env=is_https)


def _failing(url: str) -> str:
    """The address for a failure: `/fail` stands after the path, before a query."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + FAIL))

"""The outbound heartbeat: a monitor elsewhere warns when calls stop, because a dead bot can warn nobody.

Healthchecks' protocol (healthchecks.io/docs/http_api): a call means success; a call with `/fail` after the path means
failure, with the reason in the body.
"""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

import httpx
from pydantic import SecretStr

from bot.logs import get_logger

log = get_logger(__name__)

EVERY_S = 60.0
HEARTBEAT_CALL_S = 5.0
FAIL = "/fail"

BODY_MAX = 2_000

FindProblem = Callable[[], Awaitable[str | None]]


class Heartbeat:
    """HEARTBEAT_URL may hold a secret id, so the log names the host alone."""

    def __init__(self, url: SecretStr, http: httpx.AsyncClient, find_problem: FindProblem) -> None:
        self._url = url
        self._http = http
        self._find_problem = find_problem
        self._host = urlsplit(url.get_secret_value()).hostname
        self._is_taken: bool | None = None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            await self.beat()

    async def beat(self) -> bool:
        """True if the monitor took the call. Never raises."""
        refusal = await self._call(await self._find_problem_safely())
        is_taken = refusal is None
        # A night without the monitor needs a single line.
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
        url = self._url.get_secret_value()
        try:
            async with asyncio.timeout(HEARTBEAT_CALL_S):
                # Headers suffice: an endless body must not block.
                async with self._http.stream(
                    "POST", url if problem is None else _failing(url), content=(problem or "")[:BODY_MAX].encode()
                ) as response:
                    return None if response.is_success else f"status {response.status_code}"
        except TimeoutError:
            return f"no answer within {HEARTBEAT_CALL_S:g} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # The class alone: the text may hold the address.
            return type(error).__name__


def _failing(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + FAIL))

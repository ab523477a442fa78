"""`/healthz`, `/readyz` and `/metrics`, and the outbound heartbeat.

A monitor elsewhere warns when the heartbeat's calls stop, because a dead bot can warn nobody. Healthchecks' protocol
(healthchecks.io/docs/http_api): a call means success; a call with `/fail` after the path means failure, with the reason
in the body.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import httpx
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.logs import get_logger

log = get_logger(__name__)

HEARTBEAT_EVERY_S = 60.0
HEARTBEAT_CALL_S = 5.0
FAIL = "/fail"

BODY_MAX = 2_000

FindProblem = Callable[[], Awaitable[str | None]]

READY_S = 2.0


@dataclass(frozen=True)
class Health:
    """Ready means: a delivery can be stored.

    Other faults are `degraded` in the body: a load balancer must not remove the receiver while Slack is down. With
    METRICS_PORT only the private address shows reasons and metrics.
    """

    store_probe: Callable[[], Awaitable[None]]
    degraded: Callable[[], Mapping[str, str]]
    registry: CollectorRegistry

    def routes(self, *, show_reasons: bool) -> list[Route]:
        return [
            Route("/healthz", self.healthz),
            Route("/readyz", partial(self.readyz, show_reasons=show_reasons)),
            *([Route("/metrics", self.metrics)] if show_reasons else []),
        ]

    async def healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request, *, show_reasons: bool) -> Response:
        if reason := await self.unready():
            shown = {"reason": reason} if show_reasons else {}
            return JSONResponse({"status": "unready", **shown}, 503, {"Retry-After": "5"})
        degraded = dict(self.degraded())
        shown_parts = {"degraded": degraded} if show_reasons else {}
        return JSONResponse({"status": "degraded" if degraded else "ready", **shown_parts})

    async def metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)

    async def unready(self) -> str | None:
        """Why no delivery can be stored; None if ready."""
        try:
            async with asyncio.timeout(READY_S):
                await self.store_probe()
        except Exception as error:  # noqa: BLE001  after any error, no delivery can be stored
            return str(error) or f"the database did not answer within {READY_S:g} s"
        return None


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
            await asyncio.sleep(HEARTBEAT_EVERY_S)
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
        except Exception as error:  # noqa: BLE001  an unknown state counts as bad
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

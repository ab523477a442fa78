"""A deployment for the checks: settings, database, clients, shared answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import httpx
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.db.engine import TOOL_BUSY_S, Database
from bot.errors import SettingsError
from bot.logs import get_logger
from bot.ports import Ports
from bot.racedata.client.circuit_breakers import USAGE_PATH
from bot.racedata.client.headers import http_date
from bot.racedata.client.records import ServicePage
from bot.racedata.client.service_client import RacingClient, open_client
from bot.racedata.client.service_errors import ServiceUnreachable, UpgradeRequired
from bot.settings import Settings
from bot.slack.web_client import SlackClient, make_session, make_web_client
from bot.web.outgoing import open_http

log = get_logger(__name__)
T = TypeVar("T")

HTTP_TIMEOUT_S = 5.0
"""A check has ten seconds in all."""

CLOSE_S = 2.0

SLACK, SERVICE = "Slack", "the data service"


class ForgetfulStore:
    """Without memory the doctor ignores the bot's circuit breakers, and opens none."""

    async def get(self, name: str) -> None:
        """Nothing."""

    async def change(self, name: str, change: Callable[[Any], Any]) -> None:  # noqa: ARG002  the protocol's name
        """Keep nothing."""
        change(None)


@dataclass
class Deployment:
    """Each shared answer is asked for once. `ahead_s`: seconds from a sender's clock to ours, by `Date` headers."""

    settings: Settings
    database: Database
    racing: RacingClient
    slack: SlackClient
    ports: Ports
    ahead_s: dict[str, float] = field(default_factory=dict)
    _answers: dict[str, asyncio.Future[Any]] = field(default_factory=dict)

    async def usage(self) -> ServicePage[Any] | UpgradeRequired:
        """`/account/usage`, free of quota; the refusal if the plan lacks the endpoint. Raises other ServiceFailures."""
        return await self.once("usage", self._ask_usage)

    async def _ask_usage(self) -> ServicePage[Any] | UpgradeRequired:
        try:
            async with asyncio.timeout(HTTP_TIMEOUT_S):
                return await self.racing.usage_by_day()
        except UpgradeRequired as error:
            return error
        except TimeoutError:
            message = f"no answer within {HTTP_TIMEOUT_S:g} s"
            raise ServiceUnreachable(USAGE_PATH, message=message, may_have_arrived=True) from None

    async def whoami(self) -> AsyncSlackResponse:
        """`auth.test`. Raises SlackError."""
        call = partial(self.slack.call, "auth.test", self.slack.web.auth_test, timeout_s=HTTP_TIMEOUT_S)
        return await self.once("whoami", call)

    async def public_health(self) -> httpx.Response:
        """`GET /healthz` at PUBLIC_URL. Raises httpx.HTTPError."""
        return await self.once("public", lambda: self.ask("GET", f"{self.settings.public_url}/healthz"))

    async def ask(
        self, method: str, url: str, *, time_of: str | None = None, body: bytes | None = None, **headers: str
    ) -> httpx.Response:
        """Sends no key and no token. Raises httpx.HTTPError."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with open_http(url, HTTP_TIMEOUT_S) as http:
            response = await http.request(method, url, content=body, headers=named)
        self.note_time(time_of or url, response)
        return response

    async def post(self, url: str, body: bytes, **headers: str) -> httpx.Response:
        return await self.ask("POST", url, body=body, content_type="application/json", **headers)

    def note_time(self, whose: str, response: httpx.Response) -> None:
        if date := http_date(response.headers.get("date")):
            self.ahead_s[whose] = (self.ports.clock() - date).total_seconds()

    async def forget(self) -> None:
        for answer in self._answers.values():
            answer.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)

    async def once(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        if name not in self._answers:
            self._answers[name] = asyncio.ensure_future(make())
        # Other checks may wait for an abandoned check's question.
        answer: T = await asyncio.shield(self._answers[name])
        return answer


async def _close(database: Database) -> None:
    """A thread of an abandoned check may still hold the database."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await database.close()
    except TimeoutError:
        log.warning("database_not_closed", reason=f"the database did not answer within {CLOSE_S:g} s")


@asynccontextmanager
async def open_patient(
    load: Callable[[], Settings], ports: Ports, *, busy_s: float = TOOL_BUSY_S
) -> AsyncIterator[Deployment | SettingsError]:
    async with AsyncExitStack() as stack:
        try:
            settings = load()
        except SettingsError as error:
            yield error
            return
        database = Database(settings.database_url.get_secret_value(), busy_s=busy_s)
        stack.push_async_callback(_close, database)
        session = await stack.enter_async_context(make_session())
        http = await stack.enter_async_context(open_http(settings.racing_api_url, HTTP_TIMEOUT_S))
        client = open_client(
            settings.racing_api_url, settings.racing_api_key, ForgetfulStore(), ports.timing, http=http
        )
        slack = SlackClient(
            make_web_client(settings.slack_bot_token.get_secret_value(), settings.slack_api_url, session)
        )
        deployment = Deployment(settings, database, client.in_one_try(), slack, ports)

        async def note(response: httpx.Response) -> None:
            deployment.note_time(SERVICE, response)

        http.event_hooks = {"response": [note]}
        stack.push_async_callback(deployment.forget)
        yield deployment

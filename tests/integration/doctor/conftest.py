"""A healthy deployment for the doctor: stand-ins over real sockets, a database, and the bot."""

import asyncio
import shutil
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from cryptography.fernet import Fernet
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.app import Service
from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.cli.subscribe_command import run_retire, run_subscribe
from bot.clock import Monotonic
from bot.db import migrate
from bot.db.engine import Database
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.doctor.check_run import CHECK_TIMEOUT_S, CheckOutcome, Examined, examine
from bot.doctor.deployment import open_patient
from bot.doctor.table import CHECKS
from bot.events.event import EventKind
from bot.manifest import read_manifest
from bot.ports import Ports
from bot.racedata import webhook_subscriptions
from bot.settings import Settings, load_settings
from bot.slack.web_client import make_session, make_web_client
from sandbox.loopback_server import LOOPBACK, serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import START, now
from tests.front import receiver_of
from tests.world import own_port

KEY, TOKEN, APP_TOKEN, SIGNING_SECRET = (
    "doctors-racing-key",
    "xoxb-test-doctor",
    "xapp-test-doctor",
    "doctors-slack-signing-secret",
)
OLD_KEY, NEW_KEY = (Fernet.generate_key().decode() for _ in range(2))


@dataclass
class Clinic:
    """A deployment. `settings` are as typed; a test changes settings, and the things behind the settings."""

    folder: Path
    settings: dict[str, Any]
    service: RacingService
    slack: SlackWorkspace
    ahead: timedelta = timedelta()
    monotonic: Monotonic = lambda: 0.0
    """The clock by which the doctor times commits: a busy machine makes no commit slow."""
    busy_s: float = 3.0
    running: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def database_file(self) -> Path:
        return self.folder / "bot.db"

    def clock(self) -> datetime:
        return now() + self.ahead

    def set_ahead(self, **ahead: float) -> None:
        self.ahead = timedelta(**ahead)

    def load(self) -> Settings:
        return load_settings(None, **{name: value for name, value in self.settings.items() if value is not None})

    def database(self) -> Database:
        return Database(str(self.settings["database_url"]))

    async def examine(self, *names: str, alone: bool = False, limit_s: float = CHECK_TIMEOUT_S) -> dict[str, Examined]:
        """The ends of the named checks and of all needed checks, or of the named alone; of all without names."""
        chosen = [check for check in CHECKS if check.id in (names if alone else with_needs(names))]
        if alone:
            chosen = [type(check)(check.id, check.look) for check in chosen]
        ports = Ports(self.clock, monotonic=self.monotonic)
        async with open_patient(self.load, ports, busy_s=self.busy_s) as patient:
            return {one.check: one for one in await examine(chosen, patient, limit_s=limit_s)}

    async def subscribe(self, *events: str, again: bool = False) -> str:
        """The answer of `racing-bot subscribe`."""
        return await run_subscribe(self.load(), events, again=again)

    def subscription(self) -> WebhookSubscriptionRow:
        """A row as stored by `racing-bot subscribe`."""
        return WebhookSubscriptionRow(
            url=f"{self.settings['public_url']}/webhooks/racing",
            events=",".join(EventKind),
            secret=Vault([OLD_KEY]).lock("secret-of-a-subscription"),
            created_at=self.clock(),
        )

    async def post(self, channel_id: str) -> None:
        """A message of the bot's."""
        async with make_session() as session:
            await make_web_client(TOKEN, self.slack.api_url, session).chat_postMessage(channel=channel_id, text="said")

    async def retire(self, number: int) -> None:
        """Do as `racing-bot subscribe --retire` does."""
        await run_retire(self.load(), number)

    async def choose(self, channel_id: str, chosen: ChannelFilter) -> None:
        """Store as `/racing subscribe` does."""
        await self.write(
            lambda session: subscriptions.save(session, channel_id, chosen, user_id="UALICE", now=self.clock())
        )

    async def write(self, work: Callable[..., Any]) -> None:
        database = self.database()
        await database.write(work)
        await database.close()

    async def start_bot(self, *, until: set[str] | None = None) -> None:
        """Run the bot at PUBLIC_URL, `until` exactly the named parts are degraded."""
        bot = Service(self.load(), ports=Ports(self.clock))
        await self.running.enter_async_context(bot.app.router.lifespan_context(bot.app))
        await self.running.enter_async_context(serve(receiver_of(bot).app, int(self.settings["port"])))
        if "metrics_port" in self.settings:
            await self.running.enter_async_context(serve(bot.private_app(), int(self.settings["metrics_port"])))
        async with asyncio.timeout(60):
            while until is not None and set(bot.health.degraded) != until:  # noqa: ASYNC110  nothing tells of a look
                await asyncio.sleep(0.01)

    async def serve_in_its_place(self, app: Any) -> None:
        """Have another program at PUBLIC_URL."""
        await self.running.enter_async_context(serve(app, int(self.settings["port"])))

    async def stop_bot(self) -> None:
        await self.running.aclose()


def with_needs(names: Sequence[str]) -> set[str]:
    wanted = set(names) or {check.id for check in CHECKS}
    for check in reversed(CHECKS):
        if check.id in wanted:
            wanted.update(check.needs)
    return wanted


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory) -> Path:
    """A SQLite file with all tables, to be copied."""
    file: Path = tmp_path_factory.mktemp("doctor") / "empty.db"
    database = Database(f"sqlite:///{file}")
    migrate.upgrade(database)
    with database.writer.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    asyncio.run(database.close())
    return file


@pytest_asyncio.fixture
async def clinic(tmp_path: Path, empty_database: Path, monkeypatch) -> AsyncIterator[Clinic]:
    """All is well; the bot does not run yet."""
    # The bot tells the state at once, and not after five seconds.
    monkeypatch.setattr("bot.operations.health.STATE_EVERY_S", 0.02)
    # The doctor looks at no job, and a job cancelled during a connect leaves a socket to the garbage collector.
    monkeypatch.setattr("bot.operations.jobs.scheduler.Jobs.start", lambda _jobs: None)
    shutil.copy(empty_database, tmp_path / "bot.db")
    scopes = read_manifest()["oauth_config"]["scopes"]["bot"]
    slack = SlackWorkspace(TOKEN, SIGNING_SECRET, app_token=APP_TOKEN, scopes=scopes)
    for channel_id in ("CADMIN", "CGB"):
        slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    slack.add_user("UALICE", "alice")
    service = RacingService(START.date(), api_key=KEY, switches=Switches(allow_http_loopback=True))
    port = own_port()
    async with service, slack.running(), serve(service.app) as address, AsyncExitStack() as running:
        clinic = Clinic(
            tmp_path,
            {
                "racing_api_url": f"{address}/v1",
                "racing_api_key": KEY,
                "slack_bot_token": TOKEN,
                "slack_signing_secret": SIGNING_SECRET,
                "slack_api_url": slack.api_url,
                "admin_channel": "CADMIN",
                "database_url": f"sqlite:///{tmp_path / 'bot.db'}",
                "encryption_keys": OLD_KEY,
                "public_url": f"http://127.0.0.1:{port}",
                "port": str(port),
            },
            service,
            slack,
            running=running,
        )
        await clinic.write(partial(webhook_subscriptions.add, row=clinic.subscription()))
        yield clinic


Story = Callable[[Clinic], AsyncGenerator[None, None]]
Act = Callable[[Clinic], object]
FAILED, WARNING = CheckOutcome.FAILED, CheckOutcome.WARNING
DEAD = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Case:
    """A finding: the check, the outcome, words of the mending line, and the story."""

    code: str
    check: str
    outcome: CheckOutcome
    mend: str
    story: Story
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.code}-{self.outcome}"


@dataclass
class Cases:
    """The cases of a file. A call makes a decorator that adds a story as a case."""

    cases: list[Case] = field(default_factory=list)

    def __call__(self, code: str, check: str, outcome: CheckOutcome, mend: str, *, alone: bool = False) -> Any:
        def register(story: Story) -> Story:
            self.cases.append(Case(code, check, outcome, mend, story, alone))
            return story

        return register

    def wrong(self, code: str, check: str, outcome: CheckOutcome, mend: str, **settings: str | None) -> None:
        """Settings are wrong, and then as before."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            right = dict(clinic.settings)
            clinic.settings |= settings
            yield
            clinic.settings = right

        self(code, check, outcome, mend)(story)

    def short(
        self, code: str, check: str, outcome: CheckOutcome, mend: str, *, broken: Act, mended: Act | None = None
    ) -> None:
        """Without `mended` the trouble passes by itself. An awaitable result of an act is awaited."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            for act in (broken, mended):
                if act and isawaitable(done := act(clinic)):
                    await done
                if act is broken:
                    yield

        self(code, check, outcome, mend)(story)


async def check_mended(clinic: Clinic, told: Case) -> None:
    """The finding is told, and its line mends the fault."""
    async with aclosing(told.story(clinic)) as story:
        await anext(story)
        ill = (await clinic.examine(told.check, alone=told.alone))[told.check]
        found = {finding.code: finding for finding in ill.findings}
        assert found.keys() == {told.code}, ill
        assert (ill.outcome, found[told.code].outcome) == (told.outcome, told.outcome)
        assert told.mend in found[told.code].mend
        with suppress(StopAsyncIteration):
            await anext(story)
        well = (await clinic.examine(told.check, alone=told.alone))[told.check]
        assert (well.outcome, well.findings) == (CheckOutcome.OK, ())


# Programs in the bot's place at PUBLIC_URL


def answering(response: Callable[[Request], Response]) -> Starlette:
    """A program with an answer for everything, such as a proxy without the bot behind the proxy."""

    async def answer(request: Request) -> Response:
        return response(request)

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])


def proxy(to: str, *, without: str) -> Starlette:
    """A forgetful reverse proxy."""

    async def pass_on(request: Request) -> Response:
        if request.url.path == without:
            return JSONResponse({"detail": "Not Found"}, 404)
        async with httpx.AsyncClient(trust_env=False) as client:
            headers = {name: value for name, value in request.headers.items() if name != "host"}
            url = f"{to}{request.url.path}"
            answer = await client.request(request.method, url, content=await request.body(), headers=headers)
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])])


@asynccontextmanager
async def healthy_program(
    *, ahead: timedelta = timedelta(), certificate: tuple[Path, Path] | None = None
) -> AsyncIterator[str]:
    """The address of a program with the answer of `/healthz` for everything, by another clock."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"status":"ok"}'
        date = format_datetime(now() + ahead, usegmt=True)
        headers: Mapping[str, object] = {"Date": date, "Content-Length": len(body), "Connection": "close"}
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
    server = await asyncio.start_server(answer, LOOPBACK, 0, ssl=tls)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http{'s' if tls else ''}://{LOOPBACK}:{port}"

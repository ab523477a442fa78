"""The composition root, the only wiring: settings in, a running service out."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx
from slack_bolt.async_app import AsyncApp
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.db.engine import Database
from bot.db.named_values import DatabaseStateStore
from bot.db.replicas import Replicas
from bot.db.schema import Schema
from bot.db.vault import Vault
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal
from bot.deliveries.payload import read_events, read_payload
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import StorageError
from bot.fanout.fanout import Fanout
from bot.fanout.standstill import Standstill
from bot.logs import get_logger
from bot.operations.drill_run import Drills
from bot.operations.health import HEARTBEAT_CALL_S, Health, Heartbeat
from bot.operations.jobs import routine_jobs
from bot.operations.jobs.job import Job
from bot.operations.jobs.scheduler import Jobs
from bot.operations.metrics import Metrics, ReceiverNews
from bot.operations.public_url import SelfDelivery
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.repair.repair_run import Repair
from bot.operations.self_notices import SelfNotices
from bot.operations.signature_mismatches import Mismatches
from bot.operations.watchdog import DeliveryWatch
from bot.outbox import pace
from bot.outbox.claim_sender import ClaimSender
from bot.outbox.held_channels import Reopening
from bot.outbox.message import NativeBlocks
from bot.outbox.notices import Notices
from bot.outbox.pace import Pace
from bot.outbox.poster import Poster
from bot.outbox.resolve import Resolver
from bot.ports import Ports
from bot.racedata import webhook_subscriptions
from bot.racedata.client.calls import Hooks
from bot.racedata.client.service_client import RacingClient, open_client
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack import request_guard
from bot.slack.bolt_app import make_bolt
from bot.slack.commands.invocation import Desk
from bot.slack.event_messages import PostRenderer
from bot.slack.listeners.app_home import HomeListener
from bot.slack.listeners.channel_life import LOOK_S, AdminCheck, ChannelListener
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import CommandListener, FormListener
from bot.slack.messages.alerts.alert_notes import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.web_client import METHOD_OF, METHODS, Responder, SlackClient, make_web_client
from bot.slack.workspace import BotIdentity, People, is_member, members, problem_of_channel
from bot.tasks import Tasks
from bot.web.outgoing import open_http
from bot.web.plain_answers import WEBHOOK_PATH, refusal
from bot.web.request_body import BodyReader

if TYPE_CHECKING:
    from bot.slack.socket_mode import SocketMode

log = get_logger(__name__)

OBJECTS_UNTIL_COLLECTED = 10_000
"""With Python's default of 700, garbage collection takes 5% of the processor time of a post."""

LOGGED_PATH = 200
"""Characters."""

FINISH_S = 8.0
"""Limit for answers under way at a graceful stop."""

ENVELOPES_S = 3.0
"""Limit for Socket Mode at a graceful stop: Slack waits no longer for an ack."""

FANOUT, POSTER = "fanout", "poster"
"""Loops that are not cancelled, so that begun work in the database is finished."""

IDENTITY_WAIT_S = 60.0
"""The longest pause between two tries."""

SLACK_PATHS = (request_guard.SLACK_PATH, f"{request_guard.SLACK_PATH}/")


class Service:
    """`app` is the ASGI application: its lifespan starts and stops the whole service."""

    def __init__(self, settings: Settings, *, ports: Ports | None = None, pace: Pace | None = None) -> None:
        self.settings = settings
        self.ports = ports or Ports()
        self.clock = clock = self.ports.clock
        self.metrics = Metrics(METHODS)
        self.queued = asyncio.Event()
        self.database = Database(settings.database_url.get_secret_value(), runner=self.ports.runner())
        self.schema = Schema(self.database)
        self.replicas = Replicas(self.database, clock, settings.port)
        self.vault = Vault([key.get_secret_value() for key in settings.encryption_keys])
        self.identity = BotIdentity(settings.slack_bot_token.get_secret_value())
        self.web = make_web_client(self.identity.token, settings.slack_api_url)
        self.slack = SlackClient(self.web, count=self.metrics.slack_call, secrets=settings.secret_values)
        self.notices = Notices(settings.admin_channel, admin_notice, clock=clock, admin_users=settings.admin_users)
        self.telling = SelfNotices(self.database, self.notices, clock, self.queued)
        self.reopening = Reopening(waited)
        self.journal = Journal(self.database.address, self.ports.monotonic)
        self.intake = Intake(self.database, self.journal, clock)
        self.racing = self._make_racing_client()
        self.quota = QuotaBook(self.database, self.racing, settings, clock)
        self.reference = ReferenceBook(self.database, self.racing, clock)
        self.races = RaceBook(self.database, self.racing, clock, self.quota, settings)
        self.signing_secrets = self._make_signing_secrets()
        self.receiver_news = ReceiverNews(
            self.metrics,
            Mismatches(self.telling.tell_today, self.ports.monotonic),
            self.intake.wake.set,
            settings.max_body_bytes,
        )
        deliver = SelfDelivery(settings.public_url, self.signing_secrets, self.ports.monotonic)
        self.drills = Drills(self.database, deliver, clock, self.queued, self.ports.monotonic)
        self.native = NativeBlocks(self.ports.monotonic)
        self.poster = self._make_poster(pace or Pace())
        self.fanout = self._make_fanout()
        self.standstill = Standstill(
            self.database, self.notices, fanout=self.fanout, poster=self.poster, monotonic=self.ports.monotonic
        )
        self.admin_check = AdminCheck(self.database, self.slack, self.notices, self.reopening, clock, self.queued)
        self.tasks = Tasks()
        self.jobs = self._make_jobs()
        self.health = self._make_health()
        bolt = self._make_bolt()
        self.socket_mode = self._make_socket_mode(bolt)
        self.slack_events = self._make_slack_endpoint(bolt)
        self._loops: list[asyncio.Task[None]] = []
        self._started = AsyncExitStack()
        self.app = Starlette(
            routes=[
                *(Route(path, self.slack_events.__call__, methods=["POST"]) for path in SLACK_PATHS),
                *self.health.routes(show_reasons=settings.metrics_host is None),
            ],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refuse_http, Exception: self._refuse_bug},
        )
        # A redirect would have a sender post without the body, or not at all.
        self.app.router.redirect_slashes = False

    def private_app(self) -> Starlette:
        return Starlette(routes=self.health.routes(show_reasons=True))

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    async def start(self) -> None:
        """Database, Slack and data service may be away. A start that raises has stopped every part again."""
        async with AsyncExitStack() as started:
            await self._start(started)
            self._started = started.pop_all()
        # The collector need not look at objects that live as long as the process.
        gc.freeze()
        gc.set_threshold(OBJECTS_UNTIL_COLLECTED)
        gc.enable()
        log.info("started", admin_channel=self.settings.admin_channel, database=repr(self.database))

    async def stop(self) -> None:
        """Finish begun work: deliveries are stored, calls of Slack are heard out."""
        await self._started.aclose()
        log.info("stopped")

    async def _start(self, started: AsyncExitStack) -> None:
        """Each stop is registered before its start. Parts stop in reverse order."""
        started.push_async_callback(self.database.close)
        started.callback(self.journal.close)
        started.push_async_callback(self.replicas.leave)
        loops = self._loops_to_run()
        if url := self.settings.heartbeat_url:
            http = await started.enter_async_context(open_http(url.get_secret_value(), HEARTBEAT_CALL_S))
            loops["heartbeat"] = Heartbeat(url, http, self.health.standing_still).run
        self.web.session = await started.enter_async_context(self.ports.slack_session())
        started.push_async_callback(self.racing.aclose)
        started.push_async_callback(self.races.aclose)
        started.push_async_callback(self.reference.aclose)
        started.push_async_callback(self.tasks.finish, FINISH_S)
        started.push_async_callback(self.poster.finish)
        if self.socket_mode:
            started.push_async_callback(self.socket_mode.finish, ENVELOPES_S)
        await self.schema.prepare()
        await self.signing_secrets.read()
        self._warn_of_gaps()
        started.push_async_callback(self._stop_loops)
        started.callback(self.jobs.stop)
        for name, run in loops.items():
            self._loops.append(asyncio.create_task(_for_ever(name, run), name=name))

    async def _stop_loops(self) -> None:
        self.fanout.stop()
        self.poster.stop()
        # Loops that wait for the schema end too.
        self.schema.is_current.set()
        for loop in self._loops:
            if loop.get_name() not in {FANOUT, POSTER}:
                loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    def _warn_of_gaps(self) -> None:
        if not self.signing_secrets.active:
            log.warning("no_signing_secret", advice="every delivery is refused: run `racing-bot subscribe`")
        if not (self.settings.admin_channel or self.settings.admin_users):
            log.warning(
                "warnings_go_to_the_log_alone",
                advice="nobody in Slack hears of a spent quota or a refused delivery: set ADMIN_CHANNEL or ADMIN_USERS",
            )

    def _make_racing_client(self) -> RacingClient:
        settings, transport = self.settings, self.ports.racing_transport
        return open_client(
            settings.racing_api_url,
            settings.racing_api_key,
            DatabaseStateStore(self.database, self.clock),
            self.ports.timing,
            http=httpx.AsyncClient(transport=transport) if transport else None,
            hooks=Hooks(
                on_meta=self.telling.account,
                on_circuit_open=self.telling.circuit_open,
                held_back=lambda *about: self.quota.held_back(*about),  # noqa: PLW0108  made with the client
                on_answer=self.metrics.service_request,
            ),
        )

    def _make_signing_secrets(self) -> SigningSecrets:
        return SigningSecrets(
            [secret.get_secret_value() for secret in self.settings.racing_webhook_secrets],
            lambda: self.database.read(partial(webhook_subscriptions.signing_secrets, vault=self.vault)),
            self.ports.monotonic,
            log.warning,
        )

    def _make_poster(self, pace: Pace) -> Poster:
        settings, monotonic, worked = self.settings, self.ports.monotonic, self.ports.worked
        render = PostRenderer(self.identity, settings.late_after_min * 60)
        return Poster(
            database=self.database,
            claim_sender=ClaimSender(self.slack, render, self.native, self.clock, monotonic, worked),
            resolver=Resolver(self.slack, settings.settle_s, settings.doubtful_posts, monotonic()),
            notices=self.notices,
            clock=self.clock,
            monotonic=monotonic,
            worked=worked,
            token=self.ports.token,
            wake=self.queued,
            pace=pace,
            on_outcome=partial(self.metrics.count, "posts"),
            on_told=self.metrics.receipt_to_slack,
        )

    def _make_fanout(self) -> Fanout:
        return Fanout(
            self.database,
            read_events,
            arrivals=self.intake,
            outbox=self.poster,
            notices=self.notices,
            clock=self.clock,
            wake=self.intake.stored,
            monotonic=self.ports.monotonic,
        )

    def _make_health(self) -> Health:
        return Health(
            self.database,
            schema=self.schema,
            journal=self.journal,
            signing_secrets=self.signing_secrets,
            standstill=self.standstill,
            breakers=self.racing.breakers,
            jobs=self.jobs,
            notices=self.notices,
            telling=self.telling,
            metrics=self.metrics,
            problems=self._problems,
            method_of=METHOD_OF,
            clock=self.clock,
            monotonic=self.ports.monotonic,
        )

    def _make_bolt(self) -> AsyncApp:
        settings = self.settings
        desk = Desk(
            settings=settings,
            database=self.database,
            slack=self.slack,
            identity=self.identity,
            reference=self.reference,
            races=self.races,
            quota=self.quota,
            reopening=self.reopening,
            drills=self.drills,
            jobs=self.jobs.table,
            people=People(
                self.slack, self.identity, frozenset(settings.admin_users), settings.subscribe_by, self.ports.monotonic
            ),
            clock=self.clock,
            token=self.ports.token,
            wake=self.queued,
            degraded=lambda: self.health.degraded,
        )
        runner = CommandRunner(
            desk, Responder(self.web, settings.slack_api_url, self.native, mask=self.slack.mask), self.tasks
        )
        return make_bolt(
            self.identity,
            [
                HomeListener(runner),
                CommandListener(runner),
                FormListener(runner),
                ChannelListener(
                    self.database,
                    self.identity,
                    partial(problem_of_channel, self.slack, timeout_s=LOOK_S),
                    self.notices,
                    self.reopening,
                    self.clock,
                    self.queued,
                ),
            ],
        )

    def _make_slack_endpoint(self, bolt: AsyncApp) -> request_guard.SlackEndpoint:
        return request_guard.SlackEndpoint(
            bolt=bolt,
            signing_secret=self.settings.slack_signing_secret,
            bodies=BodyReader(max_bytes=request_guard.MAX_BODY_BYTES, budget_bytes=request_guard.BODY_BUDGET_BYTES),
            clock=self.clock,
            count=partial(self.metrics.count, "slack_requests"),
            token=self.ports.token,
        )

    def _make_socket_mode(self, bolt: AsyncApp) -> "SocketMode | None":
        """None without SLACK_APP_TOKEN: Slack comes by HTTP."""
        if self.settings.slack_app_token is None:
            return None
        from bot.slack.socket_mode import SocketMode  # noqa: PLC0415  most installations save the memory

        count = partial(self.metrics.count, "slack_requests")
        return SocketMode(bolt, self.slack, self.settings.slack_app_token, count=count)

    def _make_jobs(self) -> Jobs:
        """Commands and jobs share the books. Each call of a book says whether it is upkeep."""
        settings, database, clock, wake, ports = self.settings, self.database, self.clock, self.queued, self.ports
        repair = Repair(
            database,
            self.racing.in_one_try(),
            quota_book=self.quota,
            races=self.races,
            fanout=self.fanout,
            reopening=self.reopening,
            notices=self.notices,
            read_payload=read_payload,
            clock=clock,
            wake=wake,
        )
        table: list[Job] = [
            QuotaCheck(self.quota, self.notices, database, settings, clock).job,
            repair.job(settings.repair_check_s),
            *routine_jobs.refresh_lists(self.reference, database, self.notices, clock, wake),
            routine_jobs.prune_bodies(database, self.journal, settings.body_keep_days, clock),
            routine_jobs.check_channels(database, partial(is_member, self.slack), self.reopening, clock, wake),
            routine_jobs.end_pauses(database, self.reopening, clock, wake),
            routine_jobs.tell_due(database, self.reopening, clock, wake),
            routine_jobs.escalate(database, self.notices, partial(members, self.slack), clock, wake),
            routine_jobs.follow_off_times(database, clock, wake),
            self.drills.job,
            routine_jobs.expire_queue(database, self.notices, settings.queue_keep_hours, clock),
            DeliveryWatch(database, self.notices, self.races, self.quota, clock, wake).job,
        ]
        self.metrics.declare_jobs(table)
        return Jobs(
            table,
            database,
            clock,
            wall=ports.wall,
            monotonic=ports.monotonic,
            token=ports.token,
            count=partial(self.metrics.count, "job_runs"),
            tell_undone=self.telling.job_undone,
        )

    def _loops_to_run(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            **({"socket mode": self.socket_mode.run} if self.socket_mode else {}),
            "schema, then jobs and replicas": self._start_jobs,
            "journal": partial(self._on_current_schema, self.intake.run),
            FANOUT: partial(self._on_current_schema, self.fanout.run),
            POSTER: partial(self._on_current_schema, self.poster.run),
            "identity": self._learn_identity,
            "admins": self.admin_check.run,
            "look": self.health.run,
        }

    async def _on_current_schema(self, run: Callable[[], Awaitable[None]]) -> None:
        """Rows written on an older schema could make its migration fail."""
        await self.schema.is_current.wait()
        await run()

    async def _start_jobs(self) -> None:
        await self.schema.run()
        await self._renew_secrets()
        self.jobs.start()
        await self.replicas.run()

    async def _renew_secrets(self) -> None:
        """Use the newest of ENCRYPTION_KEYS, so that an operator can drop older keys."""
        try:
            await self.database.write(partial(webhook_subscriptions.renew, vault=self.vault))
        except StorageError as error:
            log.warning("stored_secrets_not_renewed", reason=str(error))

    async def _learn_identity(self) -> None:
        wait_s = 1.0
        while not await self.identity.ask(self.slack):
            log.warning("slack_not_reached", reason=self.identity.problem)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, IDENTITY_WAIT_S)
        try:
            await self.database.write(pace.release_every_call)
            self.queued.set()
        except StorageError as error:
            # A hold ends within a minute anyway.
            log.info("slack_hold_not_ended", reason=str(error))
        await asyncio.Event().wait()

    def _problems(self) -> dict[str, str]:
        found = {
            "deliveries": self.standstill.problem or self.intake.problem,
            "fan-out": self.fanout.problem,
            "poster": self.poster.problem,
            "posts": self.standstill.not_taken,
            "slack": self.identity.problem,
            "socket mode": self.socket_mode.problem if self.socket_mode else None,
        }
        return {name: problem for name, problem in found.items() if problem}

    async def _refuse_http(self, request: Request, error: Exception) -> Response:
        """404 or 405: a sender with a wrong address must not fail in silence."""
        assert isinstance(error, HTTPException)
        status, path = error.status_code, request.url.path[:LOGGED_PATH]
        self.metrics.count("requests_refused", "path" if status == HTTPStatus.NOT_FOUND else "method")
        ours = f"{WEBHOOK_PATH} for deliveries, and {request_guard.SLACK_PATH} for Slack"
        words = f"{error.detail}: the bot takes a POST at {ours}"
        response = request_guard.refuse(self.ports.token, status, words, method=request.method, path=path)
        response.headers.update(error.headers or {})
        return response

    async def _refuse_bug(self, _request: Request, error: Exception) -> Response:
        reference = f"req-{self.ports.token(4)}"
        log.error("request_failed", exc_info=error, reference=reference)
        return JSONResponse(refusal("a fault of ours", reference), 500)


async def _for_ever(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """After a bug the loop begins again: no operator has to restart the process."""
    while True:
        try:
            return await run()
        except Exception:
            log.exception("loop_failed", loop=name)
            await asyncio.sleep(1.0)

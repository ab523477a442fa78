"""The whole service in the test's process, between the stand-ins, by a moved clock: the wiring, and the heartbeat."""

import asyncio
import logging
from collections import Counter
from functools import partial

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.db.engine import FILE_GONE
from bot.db.tables import StoredState, WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.fanout.standstill import STANDS_STILL_S
from bot.operations import health
from bot.operations.health import BODY_MAX, HEARTBEAT_CALL_S, PROOF_S, STATE_VALID_S, Heartbeat
from bot.racedata import webhook_subscriptions
from bot.web.outgoing import open_http
from sandbox.loopback_server import serve
from tests.answering import answering
from tests.clock import PATIENCE_S
from tests.databases import empty
from tests.integration.operations import breaking
from tests.integration.operations.running_bot import run_bot
from tests.logged import capture_logs
from tests.world import own_port, result


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine must not fail a test about something else."""
    monkeypatch.setattr(health, "READY_S", PATIENCE_S)


async def ready(bot):
    status, body = await bot.readiness()
    return status, body.get("reason")


async def told(bot, count=1):
    await bot.slack.wait_for(lambda: len(bot.slack.messages("CADMIN")) >= count, timeout_s=PATIENCE_S)
    return [message.text for message in bot.slack.messages("CADMIN")]


# The log of an event


def lines_of(lines, reference):
    return [line for line in lines if line.get("reference") == reference]


async def test_lines_of_the_log_lead_from_the_request_to_the_message_in_its_channel(tmp_path):
    with capture_logs() as lines:
        async with run_bot(tmp_path) as bot:
            await bot.tell("rc_1")
            assert await bot.status_of(result("rc_1")) == 200
        (message,) = bot.slack.messages("CALL")
    delivery, fanned_out, post = lines_of(lines, "inbox-1")
    wanted = {"event": "delivery", "outcome": "accepted", "event_key": "result.received:rc_1"}
    assert delivery | wanted == delivery
    assert fanned_out | {"event": "fanned_out", "channels": 1} == fanned_out
    wanted = {"event": "post", "outcome": "sent", "channel_id": "CALL", "message_ts": message.ts}
    assert post | wanted == post
    assert 0 <= post["since_receipt_s"] < 60
    accepted, duplicate = (line for line in lines if line["event"] == "delivery_answered")
    assert (accepted["outcome"], accepted["reference"]) == ("accepted", delivery["request"])
    assert (duplicate["outcome"], duplicate["reference"] != delivery["request"]) == ("duplicate", True)


async def test_fan_out_that_was_rolled_back_is_told_by_its_failure_alone(tmp_path):
    with capture_logs() as lines:
        async with run_bot(tmp_path) as bot:
            await breaking.refuse_an_event(bot)
    assert [line["event"] for line in lines_of(lines, "inbox-1")][:2] == ["delivery", "fanout_failed"]
    assert "fanned_out" not in {line["event"] for line in lines}


# Whether a delivery could be stored, and the heartbeat's calls


async def test_ready_writes_a_row_only_where_no_row_proves_that_rows_can_be_written(tmp_path):
    async with run_bot(tmp_path) as bot:
        proved = []
        for ahead in (0.0, 0.5, 1.0):
            bot.clock.monotonic_ahead_s += ahead * PROOF_S
            assert await ready(bot) == (200, None)
            proved.append(await bot.service.database.read(lambda session: session.get_one(StoredState, "ready_probe")))
    first, second, third = (row.updated_at for row in proved)
    assert first == second < third


async def test_stored_secrets_that_no_key_opens_are_named_by_readyz_and_told_to_admins(tmp_path):
    async with run_bot(tmp_path) as bot:
        lost = Vault([Fernet.generate_key().decode()]).lock("whsec-lost")
        row = WebhookSubscriptionRow(url="https://b", events="result.received", secret=lost, created_at=bot.clock())
        await bot.service.database.write(partial(webhook_subscriptions.add, row=row))
        for _ in range(2):
            await bot.service.health.look()
        status, body = await bot.readiness()
        assert (status, await bot.status_of(result("rc_1"), secret="whsec-lost")) == (200, 503)
        assert "ENCRYPTION_KEYS" in body["degraded"]["webhooks"]
        (words,) = await told(bot)
        assert "ENCRYPTION_KEYS" in words


async def test_bot_whose_file_was_removed_tells_admins_and_the_monitor(tmp_path):
    async with run_bot(tmp_path) as bot:
        await bot.service.health.look()
        assert (await ready(bot), await bot.service.health.standing_still()) == ((200, None), None)
        for path in tmp_path.glob("bot.db*"):
            path.unlink()
        assert await ready(bot) == (503, FILE_GONE)
        assert await bot.service.health.standing_still() == f"deliveries can't be stored: {FILE_GONE}"
        # The journal is another file.
        assert await bot.status_of(result("rc_1")) == 200
        await bot.until(lambda _scrape: bot.service.fanout.problem is not None)
        bot.clock.monotonic_ahead_s += STANDS_STILL_S
        await bot.service.health.look()
        (words,) = await told(bot)
        assert FILE_GONE in words
        assert (await bot.scrape()).value("racing_bot_degraded", part="deliveries") == 1


@pytest.fixture
def database_url(request, tmp_path):
    """On a SQLite file made by the service, or on the shared PostgreSQL."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'bot.db'}"
    database = request.getfixturevalue("postgresql_database")
    empty(database)
    return database.url.render_as_string(hide_password=False)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
async def test_bot_stands_still_for_the_monitor_while_slack_refuses_and_after_the_last_look(tmp_path, database_url):
    """An absent data service is no reason: the bot stores and posts."""
    async with run_bot(tmp_path, database_url=database_url) as bot:
        await bot.until(lambda _scrape: bot.service.identity.problem is None)
        (look,) = [task for task in asyncio.all_tasks() if task.get_name() == "look"]
        look.cancel()
        bot.racing.fail_next("*", "drop", 1_000)
        for problem in ("auth.test: token_revoked", None):
            bot.service.identity.problem = problem
            await bot.service.health.look()
            assert await bot.service.health.standing_still() == (problem and f"slack: {problem}")
        bot.clock.monotonic_ahead_s += STATE_VALID_S + 1
        assert await bot.service.health.standing_still() == "the bot has not looked at its own state for 60 s"


# The data service


BEYOND = ("/account/usage", "/webhooks/deliveries", "/reference", "/races/search")


async def test_running_bot_asks_for_nothing_beyond_the_plan_until_the_plan_changes(tmp_path):
    async with run_bot(tmp_path) as bot:
        await bot.well()
        for plan, hours, times in (("free", 24, {1}), ("analyst", 36, range(1, 100))):
            bot.racing.switch(reach=dict.fromkeys(BEYOND, ("analyst",)))
            bot.racing.set_plan(plan)
            asked = len(bot.racing.requests)
            for _ in range(hours // 12):
                await bot.forward(12 * 3_600)
                await bot.service.races.card("GB", bot.clock().date())
            counts = Counter(request.endpoint for request in bot.racing.requests[asked:])
            assert {counts[endpoint] for endpoint in BEYOND} <= {*times}
            assert bot.service.jobs.failing == {}


# Requests of the data service


RECORDS, LISTS = ["/webhooks/deliveries"], ["/courses", "/reference", "/countries"]


@pytest.mark.parametrize("used", [0, 14_500], ids=["much left", "little left"])
@pytest.mark.parametrize(("job", "endpoints"), [("repair", RECORDS), ("refresh_reference", LISTS)])
async def test_job_asks_a_failing_service_once_a_run_and_lists_are_spared_before_lost_deliveries(
    tmp_path, job, endpoints, used
):
    async with run_bot(tmp_path) as bot:
        await bot.well()
        for endpoint in endpoints:
            bot.racing.fail_next(endpoint, "server_error", 100)
        bot.clock.forward(48 * 3_600)
        bot.racing.set_plan("free")
        bot.racing.set_used(used)
        await bot.service.quota.read()
        before = len(bot.racing.requests)
        await bot.service.jobs.run(next(one for one in bot.service.jobs.table if one.id == job))
        asked = Counter(request.endpoint for request in bot.racing.requests[before:])
        once = 0 if used and endpoints is LISTS else 1
        assert {endpoint: asked[endpoint] for endpoint in endpoints} == dict.fromkeys(endpoints, once)


# The heartbeat against a monitor over a real socket: a success, a failure with its reason, a monitor in trouble


SECRET_ID = "0f7c41d2-5a5e-4b7c-9d59-heartbeat"
PATH, FAIL = f"/ping/{SECRET_ID}", f"/ping/{SECRET_ID}/fail"


class Monitor:
    """Notes each call: method, path with query, and body. Answers with `status`, once `answers` is set."""

    def __init__(self):
        self.calls = []
        self.url = ""
        self.status = 200
        self.answers = asyncio.Event()
        self.answers.set()
        self.app = Starlette(routes=[Route("/{path:path}", self._take, methods=["GET", "POST"])])

    async def _take(self, request):
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.calls.append((request.method, path, (await request.body()).decode()))
        await self.answers.wait()
        return Response("OK", self.status, {"Location": "/elsewhere"} if self.status == 302 else {})


@pytest.fixture
async def monitor():
    watching = Monitor()
    async with serve(watching.app) as address:
        watching.url = f"{address}/ping/{SECRET_ID}"
        yield watching


@pytest.fixture
async def make_heartbeat():
    opened = []

    def make(url, problem=None):
        opened.append(open_http(url, HEARTBEAT_CALL_S))
        return Heartbeat(SecretStr(url), opened[-1], answering(problem))

    yield make
    for http in opened:
        await http.aclose()


FULL = "deliveries can't be stored: disk full é"


@pytest.mark.parametrize(
    ("query", "problem", "path", "body"),
    [
        ("", None, PATH, ""),
        ("", FULL, FAIL, FULL),
        ("?create=1", FULL, f"{FAIL}?create=1", FULL),
        ("/", FULL, FAIL, FULL),
        ("", "x" * 100_000, FAIL, "x" * BODY_MAX),
    ],
    ids=["well", "problem", "query", "slash", "long"],
)
async def test_call_says_that_all_is_well_or_why_not(monitor, make_heartbeat, *, query, problem, path, body):
    assert await make_heartbeat(monitor.url + query, problem).beat()
    assert monitor.calls == [("POST", path, body)]


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_monitor_that_refuses_is_logged_once_without_the_address(monitor, make_heartbeat, status, caplog):
    beating = make_heartbeat(monitor.url)
    caplog.set_level(logging.DEBUG)
    with capture_logs() as lines:
        for monitor.status in (status, 200):
            assert [await beating.beat(), await beating.beat()] == [monitor.status == 200] * 2
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("heartbeat_not_taken", f"status {status}"),
        ("heartbeat_taken", None),
    ]
    assert len(monitor.calls) == 4, "a redirect was followed"
    assert SECRET_ID not in f"{lines}{caplog.text}"


async def test_monitor_that_is_away_or_silent_is_not_waited_for(monitor, make_heartbeat, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(health, "HEARTBEAT_CALL_S", 0.2)
    monitor.answers.clear()
    away = f"http://127.0.0.1:{own_port()}/{SECRET_ID}"
    with capture_logs() as lines:
        assert [await make_heartbeat(url).beat() for url in (monitor.url, away)] == [False, False]
    monitor.answers.set()
    assert [line["reason"] for line in lines] == ["no answer within 0.2 s", "ConnectError"]
    assert SECRET_ID not in f"{lines}{caplog.text}"


async def test_running_bot_beats_and_says_why_no_post_goes_out(monitor, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "HEARTBEAT_EVERY_S", 0.05)
    async with run_bot(tmp_path, heartbeat_url=monitor.url) as bot, asyncio.timeout(PATIENCE_S):
        await bot.until(lambda _scrape: bot.service.identity.problem is None)
        for problem, call in ((None, ("POST", PATH, "")), ("revoked", ("POST", FAIL, "slack: revoked"))):
            bot.service.identity.problem = problem
            await bot.service.health.look()
            while call not in monitor.calls:  # noqa: ASYNC110  the service calls when it does
                await asyncio.sleep(0.01)

"""Each finding, produced for real, and the finding's line tried: the line mends the fault.

A story breaks something and yields; after the doctor's look the story follows the finding's line, and ends.
"""

import json
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.filters import ChannelFilter
from bot.cli.unlatch_command import run_unlatch
from bot.db import migrate
from bot.db.named_value_store import DatabaseStateStore
from bot.doctor.findings import CheckOutcome
from bot.events.event import Topic
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import Unauthorized
from sandbox.loopback_server import free_port
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.service_state import USAGE
from sandbox.slack.failures import (
    Failure,
    delay_before,
    drop_before,
    html,
    http_error,
    rate_limited,
    slack_error,
    truncated,
)
from tests.clock import real_clock
from tests.integration.doctor.authority import Authority
from tests.integration.doctor.conftest import APP_TOKEN, KEY, NEW_KEY, OLD_KEY, SIGNING_SECRET, TOKEN, Clinic
from tests.integration.doctor.programs import answering, healthy_program, proxy, redirecting
from tests.older_database import make_older_database

Story = Callable[[Clinic], AsyncIterator[None]]
FAILED, WARNING = CheckOutcome.FAILED, CheckOutcome.WARNING


@dataclass(frozen=True)
class Case:
    """A finding: the check, the outcome, words of the mending line, and the story."""

    code: str
    check: str
    outcome: CheckOutcome
    mend: str
    story: Story
    alone: bool = False


CASES: list[Case] = []


def case(code: str, check: str, outcome: CheckOutcome, mend: str, *, alone: bool = False) -> Callable[[Story], Story]:
    def register(story: Story) -> Story:
        CASES.append(Case(code, check, outcome, mend, story, alone))
        return story

    return register


@pytest.mark.parametrize("told", CASES, ids=lambda told: f"{told.code}-{told.outcome}")
async def test_finding_is_told_and_its_line_mends_it(clinic, told):
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


def dead() -> str:
    return f"http://127.0.0.1:{free_port()}"


# Clock


@case("clock_off", "clock", FAILED, "timedatectl set-ntp true")
async def an_hour_ahead(clinic):
    clinic.ahead = timedelta(hours=1)
    yield
    clinic.ahead = timedelta()


@case("clock_off", "clock", WARNING, "timedatectl set-ntp true")
async def two_minutes_behind(clinic):
    clinic.ahead = timedelta(minutes=-2)
    yield
    clinic.ahead = timedelta()


@case("bot_clock_off", "clock", FAILED, "timedatectl set-ntp true")
async def bot_an_hour_behind(clinic):
    async with healthy_program(ahead=timedelta(hours=-1)) as address:
        clinic.settings["public_url"] = address
        yield
    async with healthy_program() as address:
        clinic.settings["public_url"] = address
        yield


@case("clock_not_compared", "clock", WARNING, "keeps this machine from Slack")
async def nobody_to_ask(clinic):
    right = dict(clinic.settings)
    clinic.settings |= {"racing_api_url": f"{dead()}/v1", "slack_api_url": f"{dead()}/api/"}
    yield
    clinic.settings |= right


# Database


@case("database_missing", "database", FAILED, "racing-bot migrate")
async def before_the_first_start(clinic):
    clinic.database_file.unlink()
    yield
    await migrated(clinic)


async def migrated(clinic):
    """Do as `racing-bot migrate` does."""
    database = clinic.database()
    migrate.upgrade(database)
    await database.close()


@case("database_damaged", "database", FAILED, "a copy from the backup")
async def overwritten(clinic):
    shutil.copy(clinic.database_file, clinic.folder / "backup.db")
    clinic.database_file.write_bytes(b"no database" * 1000)
    yield
    shutil.copy(clinic.folder / "backup.db", clinic.database_file)


@case("database_unreachable", "database", FAILED, "Start PostgreSQL")
async def no_server(clinic):
    right = clinic.settings["database_url"]
    clinic.settings["database_url"] = f"postgresql://racing:hidden@127.0.0.1:{free_port()}/racing"
    yield
    clinic.settings["database_url"] = right


@case("database_unreachable", "database", FAILED, "user read and write")
async def a_folder_in_its_place(clinic):
    shutil.move(clinic.database_file, clinic.folder / "kept.db")
    (clinic.database_file / "folder").mkdir(parents=True)
    yield
    shutil.rmtree(clinic.database_file)
    shutil.move(clinic.folder / "kept.db", clinic.database_file)


@case("schema_older", "schema", FAILED, "racing-bot migrate")
async def an_older_version(clinic):
    clinic.database_file.unlink()
    await make_older_database(clinic.settings["database_url"], "0002")
    yield
    await migrated(clinic)


@case("schema_newer", "schema", FAILED, "put back a copy of the database from before")
async def a_newer_version(clinic):
    shutil.copy(clinic.database_file, clinic.folder / "backup.db")
    with sqlite3.connect(clinic.database_file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    yield
    shutil.copy(clinic.folder / "backup.db", clinic.database_file)


@case("database_locked", "writable", FAILED, "a shell with an open transaction")
async def a_forgotten_shell(clinic):
    shell = sqlite3.connect(clinic.database_file, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    clinic.busy_s = 0.1
    yield
    shell.close()


@case("commits_slow", "commit", WARNING, "end other processes that hold its lock", alone=True)
async def a_busy_neighbour(clinic):
    neighbour = sqlite3.connect(clinic.database_file, isolation_level=None, check_same_thread=False)
    neighbour.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.8, neighbour.rollback)
    timer.start()
    yield
    timer.join()
    neighbour.close()


@case("secrets_not_opened", "encryption keys", FAILED, "Add the key of that time to ENCRYPTION_KEYS, after the newest")
async def another_key(clinic):
    clinic.settings["encryption_keys"] = NEW_KEY
    yield
    clinic.settings["encryption_keys"] = f"{NEW_KEY},{OLD_KEY}"


@case("secrets_not_opened", "encryption keys", FAILED, "`racing-bot subscribe --retire 1`")
async def a_lost_key(clinic):
    clinic.settings["encryption_keys"] = NEW_KEY
    yield
    await clinic.subscribe(again=True)
    await clinic.retire(1)


@case("no_encryption_key", "encryption keys", WARNING, "Set ENCRYPTION_KEYS to a key made by: python -c")
async def no_key(clinic):
    await clinic.retire(1)
    clinic.settings["encryption_keys"] = None
    yield
    clinic.settings["encryption_keys"] = NEW_KEY


# The data service


@case("service_unreachable", "data service", FAILED, "correct the address")
async def wrong_host(clinic):
    right = clinic.settings["racing_api_url"]
    clinic.settings["racing_api_url"] = f"{dead()}/v1"
    yield
    clinic.settings["racing_api_url"] = right


@case("service_elsewhere", "data service", FAILED, "Correct RACING_API_URL")
async def wrong_version(clinic):
    right = clinic.settings["racing_api_url"]
    clinic.settings["racing_api_url"] = right.replace("/v1", "/v2")
    yield
    clinic.settings["racing_api_url"] = right


@case("service_busy", "data service", FAILED, "again in 1 seconds")
async def too_many_requests(clinic):
    clinic.service.fail_next(USAGE, "rate_limited")
    yield


@case("service_fault", "data service", FAILED, "report the request id")
async def a_fault_of_theirs(clinic):
    clinic.service.fail_next(USAGE, "server_error")
    yield


@case("key_refused", "key", FAILED, "Set RACING_API_KEY")
async def a_rotated_key(clinic):
    key = clinic.service.rotate_key()
    yield
    clinic.settings["racing_api_key"] = key


@case("service_not_asked", "latches", FAILED, "racing-bot unlatch key")
async def a_latched_key(clinic):
    clinic.service.rotate_key()
    database = clinic.database()
    settings = clinic.load()
    store = DatabaseStateStore(database, clinic.clock)
    client = open_client(settings.racing_api_url, settings.racing_api_key, store, Ports().timing)
    with pytest.raises(Unauthorized):
        await client.countries()
    await client.aclose()
    await database.close()
    clinic.service.rotate_key(KEY)
    yield
    await run_unlatch(clinic.load(), "key")


@case("plan_lacks_usage", "plan", WARNING, "analyst")
async def a_plan_without_usage(clinic):
    clinic.service.switch(reach={USAGE: ("analyst",)})
    yield
    clinic.service.set_plan("analyst")


@case("plan_unknown", "plan", WARNING, "Set MONTHLY_QUOTA")
async def a_plan_of_another_name(clinic):
    clinic.service._state.account.plan = replace(PLANS["free"], name="gold")
    clinic.service.switch(reach={USAGE: ("gold",)})
    yield
    clinic.settings["monthly_quota"] = "20000"


@case("window_ends", "window", WARNING, "ends in `upcoming`")
async def an_archive(clinic):
    clinic.service.set_plan("archive")
    yield
    clinic.service.set_plan("complete")


@case("quota_low", "quota", WARNING, "take a larger plan")
async def little_left(clinic):
    clinic.service.set_used(12_500)
    yield
    clinic.service.set_plan("live")


@case("quota_spent", "quota", FAILED, "take a larger plan")
async def nothing_left(clinic):
    clinic.service.set_used(15_000)
    yield
    clinic.service.set_plan("live")


# The ways in


@case("no_signing_secret", "webhook subscription", FAILED, "Run `racing-bot subscribe`")
async def never_subscribed(clinic):
    await clinic.retire(1)
    yield
    await clinic.subscribe()


@case("subscription_elsewhere", "webhook subscription", FAILED, "Set PUBLIC_URL to http://127.0.0.1")
async def moved(clinic):
    right = clinic.settings["public_url"]
    clinic.settings["public_url"] = "https://elsewhere.example.com"
    yield
    clinic.settings["public_url"] = right


@case(
    "events_not_delivered",
    "webhook subscription",
    WARNING,
    "racing-bot subscribe --event racecard.published --region GB",
)
async def only_abandonments(clinic):
    await clinic.retire(1)
    await clinic.subscribe("race.abandoned", "meeting.abandoned", "result.received")
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic)))
    yield
    await clinic.subscribe("racecard.published")


@case("public_url_missing", "public address", WARNING, "Set PUBLIC_URL")
async def no_address(clinic):
    right = clinic.settings["public_url"]
    clinic.settings["public_url"] = None
    yield
    clinic.settings["public_url"] = right
    await clinic.start_bot()


@case("public_url_dead", "public address", FAILED, "Start the reverse proxy")
async def no_proxy(clinic):
    yield
    await clinic.start_bot()


@case("tls_invalid", "public address", FAILED, "Renew the certificate in the reverse proxy")
async def a_certificate_of_nobody(clinic):
    with pytest.MonkeyPatch.context() as patched, real_clock():
        trusted = Authority(clinic.folder)
        patched.setenv("SSL_CERT_FILE", str(trusted.file))
        (clinic.folder / "stranger").mkdir()
        stranger = Authority(clinic.folder / "stranger")
        async with healthy_program(certificate=stranger.certify(30)) as address:
            clinic.settings["public_url"] = address
            yield
        async with healthy_program(certificate=trusted.certify(29)) as address:
            clinic.settings["public_url"] = address
            yield


@case("certificate_ends", "public address", WARNING, "Renew the certificate")
async def a_certificate_that_ends(clinic):
    with pytest.MonkeyPatch.context() as patched, real_clock():
        trusted = Authority(clinic.folder)
        patched.setenv("SSL_CERT_FILE", str(trusted.file))
        for days in (3, 29):
            async with healthy_program(certificate=trusted.certify(days)) as address:
                clinic.settings["public_url"] = address
                yield


@case(
    "public_url_redirects",
    "public address",
    FAILED,
    "take the redirect to http://127.0.0.1",
)
async def moved_with_a_redirect(clinic):
    await clinic.start_bot()
    right = clinic.settings["public_url"]
    clinic.settings |= {"port": str(free_port())}
    clinic.settings["public_url"] = f"http://127.0.0.1:{clinic.settings['port']}"
    await clinic.serve_in_its_place(redirecting(right))
    yield
    clinic.settings["public_url"] = right


@case("public_url_elsewhere", "public address", FAILED, "Start `racing-bot serve`")
async def a_proxy_without_the_bot(clinic):
    await clinic.serve_in_its_place(answering(502))
    yield
    await clinic.stop_bot()
    await clinic.start_bot()


@case("webhooks_not_reached", "webhook endpoint", FAILED, "POST /webhooks/racing")
async def a_proxy_that_forgets_deliveries(clinic):
    await with_proxy(clinic, "/webhooks/racing")
    yield
    clinic.settings["public_url"] = clinic.settings.pop("bot")


async def with_proxy(clinic, forgotten):
    await clinic.start_bot()
    clinic.settings["bot"] = clinic.settings["public_url"]
    clinic.settings["port"] = str(free_port())
    clinic.settings["public_url"] = f"http://127.0.0.1:{clinic.settings['port']}"
    await clinic.serve_in_its_place(proxy(clinic.settings["bot"], without=forgotten))


@case("slack_not_reached", "slack endpoint", FAILED, "POST /slack/events")
async def a_proxy_that_forgets_slack(clinic):
    await with_proxy(clinic, "/slack/events")
    yield
    clinic.settings["public_url"] = clinic.settings.pop("bot")


@case("slack_secret_differs", "slack endpoint", FAILED, "the signing secret of Slack's page Basic Information")
async def another_signing_secret(clinic):
    await clinic.start_bot()
    clinic.settings["slack_signing_secret"] = "of-another-app"
    yield
    clinic.settings["slack_signing_secret"] = SIGNING_SECRET


@case("bot_not_running", "bot", WARNING, "Start `racing-bot serve`")
async def not_started(clinic):
    yield
    await clinic.start_bot(until=set())


@case("port_taken", "bot", FAILED, "Set PORT to a free port")
async def another_program(clinic):
    await clinic.serve_in_its_place(answering(200))
    yield
    clinic.settings["port"] = str(free_port())
    await clinic.start_bot(until=set())


@case("bot_unready", "bot", FAILED, "Mend the database")
async def a_bot_that_stores_nothing(clinic):
    await clinic.start_bot(until=set())
    shell = sqlite3.connect(clinic.database_file, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    yield
    shell.close()
    # The bot would be well by itself when each of the jobs has run again, within a minute.
    await clinic.stop_bot()
    await clinic.start_bot(until=set())


@case("bot_degraded", "bot", WARNING, "docs/operations/README.md, What to watch")
async def a_bot_without_secrets(clinic):
    await clinic.retire(1)
    await clinic.start_bot(until={"webhooks"})
    yield
    await clinic.subscribe()
    await clinic.stop_bot()
    await clinic.start_bot(until=set())


# Slack


@case("slack_token_refused", "slack token", FAILED, "Set SLACK_BOT_TOKEN")
async def a_revoked_token(clinic):
    clinic.settings["slack_bot_token"] = "xoxb-of-yesterday"
    yield
    clinic.settings["slack_bot_token"] = TOKEN


@case("slack_busy", "slack token", FAILED, "again in 7 seconds")
async def slack_asks_for_a_wait(clinic):
    clinic.slack.script("auth.test", [rate_limited(7)])
    yield


@case("slack_unreachable", "slack token", FAILED, "status.slack.com")
async def slack_is_down(clinic):
    clinic.slack.script("auth.test", [http_error(503)])
    yield


@case("slack_unreachable", "slack token", FAILED, "Let this machine reach SLACK_API_URL")
async def slack_is_nowhere(clinic):
    clinic.settings["slack_api_url"] = f"{dead()}/api/"
    yield
    clinic.settings["slack_api_url"] = clinic.slack.api_url


@case("scope_needed", "scopes", FAILED, "For channels:read, on api.slack.com/apps add the scope")
async def a_needed_scope_missing(clinic):
    clinic.slack.scopes.discard("channels:read")
    yield
    clinic.slack.scopes.add("channels:read")


@case("scope_optional", "scopes", WARNING, "To have users:read, on api.slack.com/apps add the scope")
async def an_optional_scope_declined(clinic):
    clinic.slack.scopes.discard("users:read")
    yield
    clinic.slack.scopes.add("users:read")


@case("nobody_is_warned", "admins", WARNING, "Set ADMIN_CHANNEL")
async def no_admins(clinic):
    clinic.settings["admin_channel"] = None
    yield
    clinic.settings["admin_channel"] = "CADMIN"


@case("admin_channel_closed", "admins", FAILED, "Type `/invite @racing-bot` in CADMIN")
async def not_in_the_admins_channel(clinic):
    await clinic.slack.remove_bot("CADMIN")
    yield
    await clinic.slack.invite_bot("CADMIN")


@case("admin_not_reached", "admins", FAILED, "Take U0GONE out of ADMIN_USERS")
async def an_admin_who_left(clinic):
    clinic.slack.add_user("U0GONE", "gone", is_deactivated=True)
    clinic.settings["admin_users"] = "UALICE,U0GONE"
    yield
    clinic.settings["admin_users"] = "UALICE"


@case("channel_left", "channels", WARNING, "Type `/invite @racing-bot` in CGB")
async def removed_from_a_channel(clinic):
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic)))
    await clinic.slack.remove_bot("CGB")
    yield
    await clinic.slack.invite_bot("CGB")


@case("history_not_readable", "history", WARNING, "For the history, on api.slack.com/apps add the scope")
async def no_history(clinic):
    clinic.slack.scopes.discard("channels:history")
    yield
    clinic.slack.scopes.add("channels:history")


@case("replies_not_readable", "replies", WARNING, "Type `/racing unsubscribe show` in CGB")
async def no_replies(clinic):
    await clinic.post("CGB")
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic), show=(MEETINGS,)))
    clinic.slack.script("conversations.replies", [], then_always=slack_error("not_allowed_token_type"))
    yield
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic)))


@case("socket_mode_refused", "socket mode", FAILED, "Set SLACK_APP_TOKEN")
async def a_wrong_app_token(clinic):
    clinic.settings["slack_app_token"] = "xapp-of-yesterday"
    yield
    clinic.settings["slack_app_token"] = APP_TOKEN


# More than a story


async def test_every_problem_of_the_settings_is_a_finding_and_all_else_is_skipped(clinic):
    right = dict(clinic.settings)
    clinic.settings |= {"racing_api_url": "api.example.com", "slack_bot_token": None}
    found = await clinic.examine()
    told = found.pop("settings")
    assert told.outcome == "failed"
    assert {finding.code for finding in told.findings} == {"setting_wrong"}
    assert [finding.told.split()[0] for finding in told.findings] == ["RACING_API_URL", "SLACK_BOT_TOKEN"]
    assert {one.outcome for one in found.values()} == {"skipped"}
    assert {one.because_of for one in found.values()} >= {"settings", "database", "slack token"}
    clinic.settings |= right
    assert (await clinic.examine("settings"))["settings"].outcome == "ok"


async def test_check_that_hangs_is_told_and_the_other_checks_go_on(clinic):
    clinic.service.switch(slow_s=30)
    clinic.service.fail_next(USAGE, "slow")
    found = await clinic.examine("key", "database", limit_s=0.3)
    assert {name: str(one.outcome) for name, one in found.items()} == {
        "settings": "ok",
        "database": "ok",
        "data service": "failed",
        "key": "skipped",
    }
    assert found["data service"].findings[0].code == "too_slow"
    assert (await clinic.examine("key"))["key"].outcome == "ok"


@pytest.mark.parametrize("code", ["missing_scope", "no_permission", "channel_not_found", "user_is_bot", "unheard_of"])
@pytest.mark.parametrize(("choice", "cost"), [("repeat", "is repeated in the channel"), ("hold", "is not repeated")])
async def test_cost_of_unreadable_replies_is_told(clinic, code, choice, cost):
    clinic.settings["doubtful_posts"] = choice
    await clinic.post("CADMIN")
    clinic.slack.script("conversations.replies", [], then_always=slack_error(code))
    told = (await clinic.examine("replies"))["replies"]
    assert told.outcome == "ok"
    assert code in told.told
    assert cost in told.told
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic), show=(MEETINGS,)))
    (finding,) = (await clinic.examine("replies"))["replies"].findings
    assert cost in finding.told


async def test_replies_are_not_tried_without_a_message_in_a_channel(clinic):
    told = (await clinic.examine("replies"))["replies"]
    assert (told.outcome, told.told.partition(":")[0]) == ("skipped", "not tried")
    assert [call.method for call in clinic.slack.calls if call.method.startswith("chat.")] == []


SLACKS_FAULTS = [
    *(("slack_unreachable", one) for one in (http_error(503), slack_error("internal_error"), drop_before())),
    *(("slack_unreachable", one) for one in (truncated(), html(), delay_before(30))),
    ("slack_unreachable", Failure(name="list", status=200, body="[]")),
    ("slack_unreachable", Failure(name="binary", status=200, body="{}", content_type="application/gzip")),
    ("slack_busy", rate_limited(30)),
    ("slack_busy", slack_error("service_unavailable")),
    ("slack_token_refused", slack_error("token_revoked")),
]
CHECKS_OF_METHODS = {
    "auth.test": {"slack token"},
    "conversations.info": {"admins", "channels"},
    "users.info": {"admins"},
    "conversations.history": {"history", "replies"},
    "conversations.replies": {"replies"},
    "apps.connections.open": {"socket mode"},
}


@pytest.mark.parametrize(("code", "failure"), SLACKS_FAULTS, ids=lambda value: getattr(value, "name", value))
async def test_fault_of_slacks_in_any_call_is_a_finding_with_what_to_do(clinic, monkeypatch, capfd, code, failure):
    for module in ("deployment", "slack_checks"):
        monkeypatch.setattr(f"bot.doctor.{module}.HTTP_TIMEOUT_S", 0.5)
    clinic.settings |= {"slack_app_token": APP_TOKEN, "admin_users": "UALICE"}
    await clinic.post("CGB")
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic)))
    for method, checks in CHECKS_OF_METHODS.items():
        clinic.slack.script(method, [], then_always=failure)
        found = await clinic.examine(*checks)
        clinic.slack.script(method, [])
        for name in checks:
            (finding,) = found[name].findings
            of_app_token = (name, code) == ("socket mode", "slack_token_refused")
            assert (finding.code, finding.outcome) == ("socket_mode_refused" if of_app_token else code, "failed")
            assert method in finding.told
            assert finding.mend
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("channel", [None, [], "CADMIN", 7])
async def test_channel_that_slack_names_without_saying_anything_of_it_is_no_answer(clinic, channel):
    body = json.dumps({"ok": True, "channel": channel})
    clinic.slack.script("conversations.info", [], then_always=Failure(name="empty", status=200, body=body))
    (finding,) = (await clinic.examine("admins"))["admins"].findings
    assert (finding.code, finding.outcome) == ("slack_unreachable", "failed")


@pytest.mark.parametrize("messages", [None, {}, "none", [None, 7, "x"], [{"ts": None}]])
async def test_history_of_another_shape_has_no_message_to_try(clinic, messages):
    body = json.dumps({"ok": True, "messages": messages})
    clinic.slack.script("conversations.history", [], then_always=Failure(name="odd", status=200, body=body))
    assert (await clinic.examine("replies"))["replies"].outcome == "skipped"


async def test_one_channel_without_an_answer_hides_nothing_of_the_others(clinic):
    for channel_id in ("CGB", "CADMIN"):
        await clinic.choose(channel_id, ChannelFilter(region="GB", topics=frozenset(Topic)))
        await clinic.slack.remove_bot(channel_id)
    clinic.slack.script("conversations.info", [http_error(503)])
    told = (await clinic.examine("channels"))["channels"]
    assert sorted(finding.code for finding in told.findings) == ["channel_left", "slack_unreachable"]
    assert told.told == "the bot is in 0 of 2 channels with subscriptions; no answer of Slack for 1"


async def test_data_service_that_is_silent_is_not_reached(clinic, monkeypatch):
    monkeypatch.setattr("bot.doctor.deployment.HTTP_TIMEOUT_S", 0.3)
    clinic.service.switch(slow_s=30)
    clinic.service.fail_next(USAGE, "slow")
    (finding,) = (await clinic.examine("data service"))["data service"].findings
    assert finding.code == "service_unreachable"
    assert "no answer within 0.3 s" in finding.told


@pytest.mark.parametrize("status", ["[]", "{}", "null", "7", '"well"'])
async def test_answer_of_another_program_is_told_whatever_its_shape(clinic, status):
    async def answer(_request):
        return Response(f'{{"status": {status}}}', media_type="application/json")

    await clinic.serve_in_its_place(Starlette(routes=[Route("/{path:path}", answer)]))
    assert [finding.code for finding in (await clinic.examine("bot"))["bot"].findings] == ["port_taken"]


async def test_table_that_is_lost_is_a_fault_of_the_database_and_no_crash(clinic):
    with sqlite3.connect(clinic.database_file) as connection:
        connection.execute("DROP TABLE channel_subscription")
    connection.close()
    found = await clinic.examine("channels", "history", "replies", "webhook subscription")
    for name in ("channels", "history", "replies", "webhook subscription"):
        (finding,) = found[name].findings
        assert (finding.code, finding.outcome) == ("database_unreachable", "failed")
        assert "no such table" in finding.told


async def test_refusal_of_an_unknown_kind_is_told_with_its_code(clinic):
    clinic.slack.script("conversations.history", [], then_always=slack_error("unheard_of"))
    (finding,) = (await clinic.examine("history"))["history"].findings
    assert finding.code == "slack_refuses"
    assert "unheard_of" in finding.told

"""Beside the stories: a healthy deployment on both engines, silence, answers of other programs, and costs."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from secrets import token_hex

import psycopg
import pytest
from sqlalchemy import make_url
from starlette.responses import Response

from bot.channels.conditions.choices import MEETINGS
from bot.channels.filters import ChannelFilter
from bot.db import migrate
from bot.events.event import Topic
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
from tests.clock import move_clock
from tests.databases import new_postgres_database
from tests.integration.doctor.conftest import APP_TOKEN, answering
from tests.world import own_port

GB = ChannelFilter(region="GB", topics=frozenset(Topic))


def outcomes(found, *left_out):
    return {name: str(one.outcome) for name, one in found.items() if name not in left_out}


async def finding_of(clinic, check):
    """The code and the outcome of the only finding, and the finding."""
    (finding,) = (await clinic.examine(check))[check].findings
    return (finding.code, str(finding.outcome)), finding


async def test_every_check_of_a_healthy_deployment_is_ok_or_has_nothing_to_look_at(clinic):
    await clinic.choose("CGB", GB)
    await clinic.post("CGB")
    await clinic.start_bot(until=set())
    found = await clinic.examine()
    # The machine's free space is not the test's.
    not_ok = {name: outcome for name, outcome in outcomes(found, "free space").items() if outcome != "ok"}
    assert not_ok == {"socket mode": "skipped"}
    assert "in step with" in found["clock"].told
    assert found["channels"].told == "the bot is in 1 of 1 channels with subscriptions"
    assert found["webhook subscription"].told.startswith("1 made by `racing-bot subscribe`, 0 secrets in the settings")


async def test_check_up_changes_nothing_and_spends_no_quota(clinic):
    def stored():
        with closing(sqlite3.connect(clinic.database_file)) as connection:
            return list(connection.iterdump())

    await clinic.post("CADMIN")
    before, used, posted = stored(), clinic.service.used, len(clinic.slack.calls)
    await clinic.examine()
    assert (stored(), clinic.service.used) == (before, used)
    assert [request.endpoint for request in clinic.service.requests] == [USAGE]
    assert Counter(call.method for call in clinic.slack.calls[posted:]) == dict.fromkeys(
        ("auth.test", "api.test", "conversations.info", "conversations.history", "conversations.replies"), 1
    )


async def test_socket_mode_needs_no_signing_secret_and_opens_no_connection(clinic):
    clinic.settings |= {"slack_app_token": APP_TOKEN, "slack_signing_secret": None}
    await clinic.start_bot()
    await clinic.slack.wait_for(lambda: clinic.slack.sockets.connections == 1)
    found = await clinic.examine("socket mode", "slack endpoint")
    assert found["socket mode"].outcome == "ok"
    assert (found["slack endpoint"].outcome, found["slack endpoint"].told) == ("skipped", "Slack comes by Socket Mode")
    assert clinic.slack.sockets.connections == 1


async def test_reasons_are_read_where_the_bot_tells_them(clinic):
    clinic.settings |= {"metrics_host": "127.0.0.1", "metrics_port": str(own_port())}
    await clinic.retire(1)
    await clinic.start_bot(until={"webhooks"})
    bot = (await clinic.examine("bot"))["bot"]
    assert bot.told == f"http://127.0.0.1:{clinic.settings['metrics_port']} is degraded"
    (finding,) = bot.findings
    assert finding.told.startswith("The running bot says of webhooks: no signing secret")


@pytest.fixture
async def postgresql(clinic, postgres_server):
    """A statement against the clinic's database, now PostgreSQL's."""
    clinic.settings["database_url"] = url = new_postgres_database(postgres_server)
    move_clock(url)
    database = clinic.database()
    migrate.upgrade(database)
    await database.close()

    def execute(*statements):
        with psycopg.connect(url, autocommit=True) as connection:
            done = [connection.execute(statement) for statement in statements][-1]
            return done.fetchall() if done.description else []

    return execute


async def test_database_is_examined_on_postgresql_without_a_change(clinic, postgresql):
    def stored():
        tables = postgresql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name: len(postgresql(f'SELECT * FROM "{name}"')) for (name,) in tables}

    await clinic.write(lambda session: session.add(clinic.subscription()))
    before = stored()
    names = ("database", "schema", "writable", "commit", "encryption keys", "latches", "webhook subscription")
    found = await clinic.examine(*names, "free space")
    assert {name: str(found[name].outcome) for name in names} == dict.fromkeys(names, "ok")
    assert found["free space"].outcome == "skipped"
    assert stored() == before


async def test_database_that_only_reads_is_told_on_postgresql(clinic, postgresql):
    name = clinic.settings["database_url"].split("?")[0].rpartition("/")[2]
    postgresql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    kind, finding = await finding_of(clinic, "writable")
    assert kind == ("database_not_written", "failed")
    assert "Point DATABASE_URL at the primary server" in finding.mend
    on = "default_transaction_read_only"
    postgresql(f"SET {on} = off", f"ALTER DATABASE {name} RESET {on}")
    assert (await clinic.examine("writable"))["writable"].outcome == "ok"


async def test_user_without_rights_is_told_on_postgresql_and_crashes_no_check(clinic, postgresql):
    role = f"reader_{token_hex(4)}"
    postgresql(f"CREATE ROLE {role} LOGIN")
    url = make_url(clinic.settings["database_url"]).set(username=role, password=None)
    clinic.settings["database_url"] = url.render_as_string(hide_password=False)
    found = await clinic.examine()
    codes = {name: [one.code for one in found[name].findings] for name in ("database", "schema")}
    assert codes == {"database": [], "schema": ["database_unreachable"]}
    assert "permission denied" in found["schema"].findings[0].told
    assert "crashed" not in outcomes(found).values()
    postgresql(f"DROP ROLE {role}")


async def test_every_problem_of_the_settings_is_a_finding_and_all_else_is_skipped(clinic):
    right = dict(clinic.settings)
    clinic.settings |= {"racing_api_url": "api.example.com", "slack_bot_token": None}
    found = await clinic.examine()
    told = found.pop("settings")
    assert told.outcome == "failed"
    assert [(one.code, one.told.split()[0]) for one in told.findings] == [
        ("setting_wrong", "RACING_API_URL"),
        ("setting_wrong", "SLACK_BOT_TOKEN"),
    ]
    assert set(outcomes(found).values()) == {"skipped"}
    assert {one.because_of for one in found.values()} >= {"settings", "database", "slack token"}
    clinic.settings |= right
    assert (await clinic.examine("settings"))["settings"].outcome == "ok"


async def test_check_that_hangs_is_told_and_the_other_checks_go_on(clinic, monkeypatch):
    clinic.service.switch(slow_s=30)
    clinic.service.fail_next(USAGE, "slow")
    found = await clinic.examine("key", "database", limit_s=0.3)
    assert outcomes(found) == {"settings": "ok", "database": "ok", "data service": "failed", "key": "skipped"}
    assert found["data service"].findings[0].code == "too_slow"
    assert (await clinic.examine("key"))["key"].outcome == "ok"
    # A limit of the call's own, within the check's.
    monkeypatch.setattr("bot.doctor.deployment.HTTP_TIMEOUT_S", 0.3)
    clinic.service.fail_next(USAGE, "slow")
    kind, finding = await finding_of(clinic, "data service")
    assert kind == ("service_unusable", "failed")
    assert "no answer within 0.3 s" in finding.told


@pytest.mark.parametrize(("choice", "cost"), [("repeat", "is repeated in the channel"), ("hold", "is not repeated")])
async def test_cost_of_unreadable_replies_is_told(clinic, choice, cost):
    clinic.settings["doubtful_posts"] = choice
    (skipped,) = [one for name, one in (await clinic.examine("replies")).items() if name == "replies"]
    assert (skipped.outcome, skipped.told.partition(":")[0]) == ("skipped", "not tried")
    assert [call.method for call in clinic.slack.calls if call.method.startswith("chat.")] == []
    await clinic.post("CADMIN")
    for code in ("missing_scope", "no_permission", "channel_not_found", "user_is_bot", "unheard_of"):
        clinic.slack.script("conversations.replies", [], then_always=slack_error(code))
        told = (await clinic.examine("replies"))["replies"]
        assert told.outcome == "ok"
        assert code in told.told
        assert cost in told.told
    await clinic.choose("CGB", GB.model_copy(update={"show": (MEETINGS,)}))
    (finding,) = (await clinic.examine("replies"))["replies"].findings
    assert cost in finding.told


SLACKS_FAULTS = [
    *(("slack_unusable", one) for one in (http_error(503), slack_error("internal_error"), drop_before())),
    *(("slack_unusable", one) for one in (truncated(), html(), delay_before(30))),
    ("slack_unusable", Failure(name="list", status=200, body="[]")),
    ("slack_unusable", Failure(name="binary", status=200, body="{}", content_type="application/gzip")),
    ("slack_unusable", rate_limited(30)),
    ("slack_unusable", slack_error("service_unavailable")),
    ("slack_token_refused", slack_error("token_revoked")),
]
CHECKS_OF_METHODS = (
    {"auth.test": {"slack token"}},
    {
        "conversations.info": {"admins", "channels"},
        "conversations.history": {"history", "replies"},
        "apps.connections.open": {"socket mode"},
    },
    {"users.info": {"admins"}, "conversations.replies": {"replies"}},
)
"""The failures of a row happen at once: no two have a check in common."""


@pytest.mark.parametrize(("code", "failure"), SLACKS_FAULTS, ids=lambda value: getattr(value, "name", value))
async def test_fault_of_slacks_in_any_call_is_a_finding_with_what_to_do(clinic, monkeypatch, capfd, code, failure):
    for module in ("deployment", "slack_checks"):
        monkeypatch.setattr(f"bot.doctor.{module}.HTTP_TIMEOUT_S", 0.5)
    clinic.settings |= {"slack_app_token": APP_TOKEN, "admin_users": "UALICE"}
    await clinic.post("CGB")
    await clinic.choose("CGB", GB)
    for methods in CHECKS_OF_METHODS:
        for method in methods:
            clinic.slack.script(method, [], then_always=failure)
        found = await clinic.examine(*set().union(*methods.values()))
        for method, name in ((method, name) for method, checks in methods.items() for name in checks):
            clinic.slack.script(method, [])
            (finding,) = found[name].findings
            of_app_token = (name, code) == ("socket mode", "slack_token_refused")
            assert (finding.code, finding.outcome) == ("socket_mode_refused" if of_app_token else code, "failed")
            assert method in finding.told
            assert finding.mend
    assert "Traceback" not in capfd.readouterr().err


async def test_answer_of_slacks_that_says_nothing_is_no_answer(clinic):
    def answer(**fields):
        return Failure(name="odd", status=200, body=json.dumps({"ok": True} | fields))

    channels: tuple[object, ...] = (None, [], "CADMIN", 7)
    for channel in channels:
        clinic.slack.script("conversations.info", [], then_always=answer(channel=channel))
        assert (await finding_of(clinic, "admins"))[0] == ("slack_unusable", "failed")
    clinic.slack.script("conversations.info", [])
    histories: tuple[object, ...] = (None, {}, "none", [None, 7, "x"], [{"ts": None}])
    for messages in histories:
        clinic.slack.script("conversations.history", [], then_always=answer(messages=messages))
        assert (await clinic.examine("replies"))["replies"].outcome == "skipped"
    clinic.slack.script("conversations.history", [], then_always=slack_error("unheard_of"))
    kind, finding = await finding_of(clinic, "history")
    assert kind[0] == "slack_unusable"
    assert "unheard_of" in finding.told


async def test_one_channel_without_an_answer_hides_nothing_of_the_others(clinic):
    for channel_id in ("CGB", "CADMIN"):
        await clinic.choose(channel_id, GB)
        await clinic.slack.remove_bot(channel_id)
    clinic.slack.script("conversations.info", [http_error(503)])
    told = (await clinic.examine("channels"))["channels"]
    assert sorted(finding.code for finding in told.findings) == ["channel_left", "slack_unusable"]
    assert told.told == "the bot is in 0 of 2 channels with subscriptions; no answer of Slack for 1"


async def test_answer_of_another_program_is_told_whatever_its_shape(clinic):
    body = ""
    await clinic.serve_in_its_place(answering(lambda _: Response(body, media_type="application/json")))
    for status in ("[]", "{}", "null", "7", '"well"'):
        body = f'{{"status": {status}}}'
        assert (await finding_of(clinic, "bot"))[0] == ("port_taken", "failed")


async def test_table_that_is_lost_is_a_fault_of_the_database_and_no_crash(clinic):
    with closing(sqlite3.connect(clinic.database_file)) as connection:
        connection.execute("DROP TABLE channel_subscription")
    names = ("channels", "history", "replies", "webhook subscription")
    found = await clinic.examine(*names)
    for name in names:
        (finding,) = found[name].findings
        assert (finding.code, finding.outcome) == ("database_unreachable", "failed")
        assert "no such table" in finding.told

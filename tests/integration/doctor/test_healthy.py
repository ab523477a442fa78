"""A healthy deployment, on both engines: every check is ok, and nothing has changed."""

import sqlite3
from secrets import token_hex

import psycopg
import pytest
from sqlalchemy import make_url

from bot.channels.filters import ChannelFilter
from bot.db import migrate
from bot.db.engine import Database
from bot.events.event import DEFAULT_TOPICS
from sandbox.loopback_server import free_port
from sandbox.racing_service.service_state import USAGE
from tests.clock import move_clock
from tests.integration.doctor.conftest import APP_TOKEN, Clinic
from tests.postgres import new_postgres_database


def dump(clinic: Clinic) -> list[str]:
    with sqlite3.connect(clinic.database_file) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


async def test_every_check_is_ok_or_has_nothing_to_look_at(clinic):
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=DEFAULT_TOPICS))
    await clinic.post("CGB")
    await clinic.start_bot(until=set())
    found = await clinic.examine()
    ended = {name: str(one.outcome) for name, one in found.items()}
    # How much room this machine has is not the test's to say.
    ended.pop("free space")
    assert {name: outcome for name, outcome in ended.items() if outcome != "ok"} == {"socket mode": "skipped"}
    assert "in step with" in found["clock"].told
    assert found["channels"].told == "the bot is in 1 of 1 channels with subscriptions"
    assert found["webhook subscription"].told.startswith("1 made by `racing-bot subscribe`, 0 secrets in the settings")


async def test_check_up_changes_nothing_and_spends_no_quota(clinic):
    await clinic.post("CADMIN")
    before, used, asked = dump(clinic), clinic.service.used, len(clinic.service.requests)
    posted = len(clinic.slack.calls)
    await clinic.examine()
    assert dump(clinic) == before
    assert clinic.service.used == used
    assert {request.endpoint for request in clinic.service.requests[asked:]} == {USAGE}
    assert len(clinic.service.requests) == asked + 1
    assert {call.method for call in clinic.slack.calls[posted:]} == {
        *("auth.test", "api.test", "conversations.info", "conversations.history", "conversations.replies")
    }


async def test_socket_mode_needs_no_signing_secret_and_opens_no_connection(clinic):
    clinic.settings |= {"slack_app_token": APP_TOKEN, "slack_signing_secret": None}
    await clinic.start_bot()
    await clinic.slack.wait_for(lambda: clinic.slack.sockets.connections == 1)
    found = await clinic.examine("socket mode", "slack endpoint")
    assert found["socket mode"].outcome == "ok"
    assert (found["slack endpoint"].outcome, found["slack endpoint"].told) == ("skipped", "Slack comes by Socket Mode")
    assert clinic.slack.sockets.connections == 1


async def test_reasons_are_read_where_the_bot_tells_them(clinic):
    clinic.settings |= {"metrics_host": "127.0.0.1", "metrics_port": str(free_port())}
    await clinic.retire(1)
    await clinic.start_bot(until={"webhooks"})
    bot = (await clinic.examine("bot"))["bot"]
    assert bot.told == f"http://127.0.0.1:{clinic.settings['metrics_port']} is degraded"
    (finding,) = bot.findings
    assert finding.told.startswith("The running bot says of webhooks: no signing secret")


@pytest.fixture
def on_postgresql(clinic, postgres_server):
    clinic.settings["database_url"] = url = new_postgres_database(postgres_server)
    move_clock(url)
    return clinic


def rows_of_all_tables(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        return {name: len(connection.execute(f'SELECT * FROM "{name}"').fetchall()) for name in names}


async def test_database_is_examined_on_postgresql_without_a_change(on_postgresql):
    database = on_postgresql.database()
    migrate.upgrade(database)
    await database.close()
    await on_postgresql.write(lambda session: session.add(on_postgresql.subscription()))
    before = rows_of_all_tables(on_postgresql.settings["database_url"])
    names = ("database", "schema", "writable", "commit", "encryption keys", "latches", "webhook subscription")
    found = await on_postgresql.examine(*names)
    assert {name: str(found[name].outcome) for name in names} == dict.fromkeys(names, "ok")
    assert (await on_postgresql.examine("free space"))["free space"].outcome == "skipped"
    assert rows_of_all_tables(on_postgresql.settings["database_url"]) == before


async def test_database_that_only_reads_is_told_on_postgresql(on_postgresql):
    url = on_postgresql.settings["database_url"]
    database = Database(url)
    migrate.upgrade(database)
    await database.close()
    name = url.split("?")[0].rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    (finding,) = (await on_postgresql.examine("writable"))["writable"].findings
    assert (finding.code, finding.outcome) == ("database_read_only", "failed")
    assert "Point DATABASE_URL at the primary server" in finding.mend
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert (await on_postgresql.examine("writable"))["writable"].outcome == "ok"


async def test_user_without_rights_is_told_on_postgresql_and_crashes_no_check(on_postgresql):
    url = on_postgresql.settings["database_url"]
    database = Database(url)
    migrate.upgrade(database)
    await database.close()
    role = f"reader_{token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    on_postgresql.settings["database_url"] = (
        make_url(url).set(username=role, password=None).render_as_string(hide_password=False)
    )
    found = await on_postgresql.examine()
    codes = {name: [one.code for one in found[name].findings] for name in ("database", "schema")}
    assert codes == {"database": [], "schema": ["database_unreachable"]}
    assert "permission denied" in found["schema"].findings[0].told
    assert "crashed" not in {one.outcome for one in found.values()}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE {role}")

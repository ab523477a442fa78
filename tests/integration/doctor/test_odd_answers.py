"""What no story tells: silence, answers of other programs, and costs of what can't be read."""

import json
import sqlite3

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.filters import ChannelFilter
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
from tests.integration.doctor.conftest import APP_TOKEN


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

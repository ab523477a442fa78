"""Findings of the ways in and of Slack, produced for real, and each finding's line tried."""

import sqlite3

import pytest
from starlette.responses import RedirectResponse, Response

from bot.channels.conditions.choices import MEETINGS
from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from sandbox.slack.failures import http_error, rate_limited, slack_error
from tests.authority import Authority
from tests.clock import real_clock
from tests.integration.doctor.conftest import (
    APP_TOKEN,
    DEAD,
    FAILED,
    SIGNING_SECRET,
    WARNING,
    Cases,
    answering,
    check_mended,
    healthy_program,
    proxy,
)
from tests.world import own_port

case = Cases()


# The ways in

case.wrong(
    *("subscription_elsewhere", "webhook subscription", FAILED, "Set PUBLIC_URL to http://127.0.0.1"),
    public_url="https://elsewhere.example.com",
)


case.short(
    *("no_signing_secret", "webhook subscription", FAILED, "Run `racing-bot subscribe`"),
    broken=lambda clinic: clinic.retire(1),
    mended=lambda clinic: clinic.subscribe(),
)


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


case.short(
    *("public_url_dead", "public address", FAILED, "Start the reverse proxy"),
    broken=lambda clinic: None,
    mended=lambda clinic: clinic.start_bot(),
)


@case("public_url_dead", "public address", FAILED, "have the proxy send its whole chain")
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


@case("public_url_dead", "public address", FAILED, "Set PUBLIC_URL to the final address")
async def moved_with_a_redirect(clinic):
    await clinic.start_bot()
    right = clinic.settings["public_url"]
    clinic.settings |= {"port": str(own_port())}
    clinic.settings["public_url"] = f"http://127.0.0.1:{clinic.settings['port']}"
    await clinic.serve_in_its_place(answering(lambda request: RedirectResponse(f"{right}{request.url.path}")))
    yield
    clinic.settings["public_url"] = right


@case("public_url_dead", "public address", FAILED, "Start `racing-bot serve`")
async def a_proxy_without_the_bot(clinic):
    await clinic.serve_in_its_place(answering(lambda _: Response("<html>no bot here</html>", 502)))
    yield
    await clinic.stop_bot()
    await clinic.start_bot()


@case("webhooks_not_reached", "webhook endpoint", FAILED, "/webhooks/racing and")
async def a_proxy_that_forgets_deliveries(clinic):
    await with_proxy(clinic, "/webhooks/racing")
    yield
    clinic.settings["public_url"] = clinic.settings.pop("bot")


async def with_proxy(clinic, forgotten):
    await clinic.start_bot()
    clinic.settings["bot"] = clinic.settings["public_url"]
    clinic.settings["port"] = str(own_port())
    clinic.settings["public_url"] = f"http://127.0.0.1:{clinic.settings['port']}"
    await clinic.serve_in_its_place(proxy(clinic.settings["bot"], without=forgotten))


@case("slack_not_reached", "slack endpoint", FAILED, "and /slack/events")
async def a_proxy_that_forgets_slack(clinic):
    await with_proxy(clinic, "/slack/events")
    yield
    clinic.settings["public_url"] = clinic.settings.pop("bot")


@case("slack_not_reached", "slack endpoint", FAILED, "the signing secret of Slack's page Basic Information")
async def another_signing_secret(clinic):
    await clinic.start_bot()
    clinic.settings["slack_signing_secret"] = "of-another-app"
    yield
    clinic.settings["slack_signing_secret"] = SIGNING_SECRET


case.short(
    *("bot_not_running", "bot", WARNING, "Start `racing-bot serve`"),
    broken=lambda clinic: None,
    mended=lambda clinic: clinic.start_bot(until=set()),
)


@case("port_taken", "bot", FAILED, "Set PORT to a free port")
async def another_program(clinic):
    await clinic.serve_in_its_place(answering(lambda _: Response("<html>no bot here</html>")))
    yield
    clinic.settings["port"] = str(own_port())
    await clinic.start_bot(until=set())


@case("bot_degraded", "bot", FAILED, "Mend the database")
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

case.wrong(*("slack_token_refused", "slack token", FAILED, "Set SLACK_BOT_TOKEN"), slack_bot_token="xoxb-of-yesterday")
case.wrong(
    *("slack_unusable", "slack token", FAILED, "Let this machine reach SLACK_API_URL"), slack_api_url=f"{DEAD}/api/"
)
case.wrong("nobody_is_warned", "admins", WARNING, "Set ADMIN_CHANNEL", admin_channel=None)
case.short(
    *("slack_unusable", "slack token", FAILED, "again in 7 seconds"),
    broken=lambda clinic: clinic.slack.script("auth.test", [rate_limited(7)]),
)
case.short(
    *("slack_unusable", "slack token", FAILED, "status.slack.com"),
    broken=lambda clinic: clinic.slack.script("auth.test", [http_error(503)]),
)
case.short(
    *("scope_missing", "scopes", FAILED, "For channels:read, on api.slack.com/apps add the scope"),
    broken=lambda clinic: clinic.slack.scopes.discard("channels:read"),
    mended=lambda clinic: clinic.slack.scopes.add("channels:read"),
)
case.short(
    *("scope_missing", "scopes", WARNING, "To have users:read, on api.slack.com/apps add the scope"),
    broken=lambda clinic: clinic.slack.scopes.discard("users:read"),
    mended=lambda clinic: clinic.slack.scopes.add("users:read"),
)
case.short(
    *("history_not_readable", "history", WARNING, "For the history, on api.slack.com/apps add the scope"),
    broken=lambda clinic: clinic.slack.scopes.discard("channels:history"),
    mended=lambda clinic: clinic.slack.scopes.add("channels:history"),
)


case.short(
    *("admin_not_reached", "admins", FAILED, "Type `/invite @racing-bot` in CADMIN"),
    broken=lambda clinic: clinic.slack.remove_bot("CADMIN"),
    mended=lambda clinic: clinic.slack.invite_bot("CADMIN"),
)


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


@case("history_not_readable", "replies", WARNING, "Type `/racing unsubscribe show` in CGB")
async def no_replies(clinic):
    await clinic.post("CGB")
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic), show=(MEETINGS,)))
    clinic.slack.script("conversations.replies", [], then_always=slack_error("not_allowed_token_type"))
    yield
    await clinic.choose("CGB", ChannelFilter(region="GB", topics=frozenset(Topic)))


case.short(
    *("socket_mode_refused", "socket mode", FAILED, "Set SLACK_APP_TOKEN"),
    broken=lambda clinic: clinic.settings.update(slack_app_token="xapp-of-yesterday"),
    mended=lambda clinic: clinic.settings.update(slack_app_token=APP_TOKEN),
)


@pytest.mark.parametrize("told", case.cases, ids=str)
async def test_finding_of_a_way_in_is_told_and_its_line_mends_it(clinic, told):
    await check_mended(clinic, told)

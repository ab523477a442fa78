"""Slack's side: who may change what a channel receives, who is an admin, and the app manifest."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from bot.errors import CommandError, SlackChannelClosed, SlackDoubtful, SlackScopeMissing, SlackUnreached, SlackWait
from bot.manifest import made_for, read_manifest
from bot.settings import SubscribeBy
from bot.slack.commands.invocation import team_of
from bot.slack.workspace import FAILURE_CACHED_S, LOOKUP_CACHED_S, BotIdentity, People
from tests.rows import over


@dataclass
class Slack:
    """Slack's users.info and conversations.info. `fails` is raised in place of every answer except `answers`."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    creator: str | None = None
    fails: Exception | None = None
    answers: frozenset[str] = frozenset()
    calls: list[str] = field(default_factory=list)

    @property
    def web(self):
        return self

    def users_info(self, user):
        return {"user": self.users.get(user, {})}

    def conversations_info(self, channel):
        return {"channel": {"id": channel, "creator": self.creator}}

    async def call(self, method, start, *, timeout_s):
        assert timeout_s <= 1.0
        self.calls.append(method)
        if self.fails and method not in self.answers:
            raise self.fails
        return start()


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self):
        return self.now_s


@dataclass(frozen=True)
class Caller:
    user_id: str
    team_id: str | None = "T1"


def people(slack, by=SubscribeBy.ADMINS, clock=None, enterprise_id=None):
    identity = BotIdentity("xoxb-test", team_id="T1", enterprise_id=enterprise_id)
    return People(slack, identity, frozenset({"UADMIN"}), by, clock or Clock())


NO_SCOPE, NO_ANSWER = SlackScopeMissing("x", "missing_scope"), SlackDoubtful("x", "no answer")
UNREACHED, BUSY = SlackUnreached("x", "no_connection"), SlackWait("x", "ratelimited", 1.0)
UNINVITED = SlackChannelClosed("conversations.info", "channel_not_found")
ADMIN, OWNER, GUEST = {"is_admin": True}, {"is_owner": True}, {"is_restricted": True}
CHANNELS, USERS = frozenset({"conversations.info"}), frozenset({"users.info"})
CREATORS, ADMINS, MEMBERS = SubscribeBy.CREATORS, SubscribeBy.ADMINS, SubscribeBy.MEMBERS
PEOPLE = {"U1": {}, "U2": {}, "U3": ADMIN, "U4": OWNER, "U5": {"is_primary_owner": True}, "UADMIN": GUEST}
IN_THE_ORGANISATION = {"U1": ADMIN | {"team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}}
MAY, ONLY_CREATOR, ONLY_ADMINS = "", "Only the channel's creator and admins", "Only admins"
NOT_TOLD = r"Slack did not tell me whether you .* Try again"


@over(
    ("by", "slack", "who", "channel_id", "told"),
    [
        (MEMBERS, {}, "U1", "C1", MAY),
        (CREATORS, {}, "U1", "C1", MAY),
        (CREATORS, {}, "U2", "D2", MAY),
        (CREATORS, {}, "UADMIN", "C1", MAY),
        (CREATORS, {}, "U3", "C1", MAY),
        (CREATORS, {}, "U2", "C1", ONLY_CREATOR),
        (ADMINS, {}, "U4", "C1", MAY),
        (ADMINS, {}, "U1", "C1", ONLY_ADMINS),
        (ADMINS, {}, "U1", "D1", ONLY_ADMINS),
        *(
            (by, {"fails": fails}, "U1", "C1", NOT_TOLD)
            for by in (CREATORS, ADMINS)
            for fails in (NO_ANSWER, UNREACHED, BUSY)
        ),
        *((by, {"fails": NO_ANSWER}, "UADMIN", "C1", MAY) for by in (CREATORS, ADMINS)),
        (CREATORS, {"fails": NO_ANSWER, "answers": CHANNELS}, "U1", "C1", MAY),
        (CREATORS, {"fails": NO_ANSWER, "answers": CHANNELS}, "U2", "C1", NOT_TOLD),
        (CREATORS, {"fails": NO_ANSWER, "answers": USERS}, "U3", "C1", MAY),
        (CREATORS, {"fails": UNINVITED, "answers": USERS}, "U1", "C1", "private channel before I am invited"),
        # A missing scope is no reason to try again.
        (CREATORS, {"fails": NO_SCOPE, "answers": CHANNELS}, "U2", "C1", ONLY_CREATOR),
        # Without Slack's answer only the body tells an outsider.
        *((MEMBERS, {"fails": fails}, "U1", "C1", MAY) for fails in (NO_SCOPE, NO_ANSWER)),
        *((MEMBERS, {"fails": fails}, ("U1", "T2"), "C1", "other workspaces") for fails in (NO_SCOPE, NO_ANSWER)),
        # Of another workspace of the same organisation.
        *((ADMINS, {"users": IN_THE_ORGANISATION}, ("U1", team_id), "C1", MAY) for team_id in ("T1", "T2", "E1", None)),
    ],
)
async def test_who_may_change_what_a_channel_receives(by, slack, who, channel_id, told):
    known = people(Slack(**{"users": PEOPLE, "creator": "U1"} | slack), by, enterprise_id="E1")
    caller = Caller(who) if isinstance(who, str) else Caller(*who)
    if told == MAY:
        await known.check_may_change(caller, channel_id)
        return
    with pytest.raises(CommandError, match=told) as caught:
        await known.check_may_change(caller, channel_id)
    assert ("Only" in str(caught.value)) == told.startswith("Only")


@over(
    ("slack", "user_id", "is_admin"),
    [
        *(({}, user_id, user_id in {"U3", "U4", "U5", "UADMIN"}) for user_id in PEOPLE),
        ({"fails": NO_ANSWER}, "UADMIN", True),
        ({"fails": NO_SCOPE}, "U3", False),
    ],
)
async def test_admins_are_those_of_the_settings_and_of_the_workspace(slack, user_id, is_admin):
    asked = Slack(**{"users": PEOPLE} | slack)
    assert await people(asked).is_admin(Caller(user_id)) is is_admin
    assert user_id != "UADMIN" or asked.calls == []
    # While Slack does not answer, nobody is called "no admin".
    with pytest.raises(CommandError, match="Slack did not tell me whether you are an admin"):
        await people(Slack(fails=NO_ANSWER)).check_is_admin(Caller("U1"), "Only admins.")


async def test_people_are_asked_for_again_after_some_minutes_and_a_failure_leaves_what_was_known():
    slack, clock = Slack(users={"U1": ADMIN}), Clock()
    known = people(slack, clock=clock)
    assert await known.is_admin(Caller("U1"))
    slack.users = {}
    clock.now_s = LOOKUP_CACHED_S - 1
    assert await known.is_admin(Caller("U1"))
    slack.fails, clock.now_s = NO_ANSWER, LOOKUP_CACHED_S
    assert await known.is_admin(Caller("U1"))
    slack.fails, clock.now_s = None, LOOKUP_CACHED_S + FAILURE_CACHED_S
    assert not await known.is_admin(Caller("U1"))
    assert slack.calls == ["users.info"] * 3


async def test_missing_scope_is_asked_about_once():
    slack = Slack(fails=NO_SCOPE)
    known = people(slack)
    assert [await known.is_admin(Caller("U1")), await known.is_admin(Caller("U1"))] == [False, False]
    assert await known.person("U1") is None
    assert slack.calls == ["users.info"]


async def test_zone_of_a_person_is_as_slack_tells_and_is_asked_for_once():
    slack = Slack(users={"U1": {"tz": "Europe/Paris"}, "U2": {"tz": "Nowhere/Land"}, "U3": {}})
    known = people(slack)
    assert str(await known.zone("U1")) == "Europe/Paris"
    assert await known.zone("U1") == await known.zone("U1")
    assert slack.calls == ["users.info"]
    assert await known.zone("U2") is await known.zone("U3") is None
    assert [await people(Slack(fails=fails)).zone("U1") for fails in (NO_SCOPE, NO_ANSWER, UNREACHED)] == [None] * 3


OUTSIDERS = {
    "a guest of several channels": ({"is_restricted": True}, "T1"),
    "a guest of one channel": ({"is_restricted": True, "is_ultra_restricted": True}, "T1"),
    "a stranger, says the flag": ({"is_stranger": True}, "T1"),
    "a stranger, says users.info": ({"team_id": "T2"}, "T1"),
    "a stranger, says the body": ({"team_id": "T1"}, "T2"),
    "a stranger of another organisation": ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E2"}}, "T2"),
}


@over("by", SubscribeBy)
@over(("user", "team_id"), OUTSIDERS.values(), ids=OUTSIDERS)
async def test_outsider_is_no_admin_and_changes_and_takes_nothing_whatever_slack_says_of_admins(by, user, team_id):
    slack = Slack(creator="U1", users={"U1": {"is_admin": True, "is_owner": True} | user})
    known, caller = people(slack, by, enterprise_id="E1"), Caller("U1", team_id)
    assert await known.is_admin(caller) is False
    for channel_id in ("C1", "D1"):
        with pytest.raises(CommandError):
            await known.check_may_change(caller, channel_id)
    with pytest.raises(CommandError):
        await known.check_is_member(caller)


@pytest.mark.parametrize("user", [{"is_restricted": True}, {"team_id": "T2"}])
async def test_outsider_whom_the_settings_name_is_an_admin(user):
    known, caller = people(Slack(users={"UADMIN": user})), Caller("UADMIN", "T2")
    assert await known.is_admin(caller)
    await known.check_may_change(caller, "C1")
    await known.check_is_member(caller)
    # Until Slack has named the bot's own workspace, nobody is an outsider.
    known = people(Slack(), SubscribeBy.MEMBERS)
    known.identity.team_id = None
    await known.check_may_change(Caller("U1", "T2"), "C1")


@over(
    ("body", "team_id"),
    [
        ({"team_id": "T2", "user_id": "U1"}, "T2"),
        ({"user": {"id": "U1", "team_id": "T2"}, "team": {"id": "T1"}}, "T2"),
        ({"user": {"id": "U1"}, "team": {"id": "T2"}, "view": {"app_installed_team_id": "T1"}}, "T2"),
        ({"user": {"id": "U1", "team_id": "T2"}, "team": None, "enterprise": {"id": "E1"}}, "T2"),
        ({"user": {"id": "U1", "team_id": ""}, "team": {}}, None),
        ({}, None),
    ],
)
def test_workspace_of_the_person_is_read_from_every_kind_of_body(body, team_id):
    assert team_of(body) == team_id


# The app manifest, in the project and as printed, by Slack's rules


ROOT = Path(__file__).parents[2]
SCHEMA = Path(__file__).with_name("manifest.schema.json")
"""Slack's own, as published, for manifests of version 2.0.0."""
ADDRESS = "https://bot.example.com"

FORMS: dict[str, Any] = {
    "project": read_manifest,
    "http": lambda: yaml.safe_load(made_for(ADDRESS)),
    "socket": lambda: yaml.safe_load(made_for(None)),
}

SCOPES_OF_EVENTS = {
    # No scope: docs.slack.dev/reference/events/app_home_opened
    "app_home_opened": set(),
    "member_joined_channel": {"channels:read", "groups:read"},
    "member_left_channel": {"channels:read", "groups:read"},
    **{f"channel_{happens}": {"channels:read"} for happens in ("left", "archive", "unarchive", "deleted")},
    **{f"group_{happens}": {"groups:read"} for happens in ("left", "archive", "unarchive", "deleted")},
    "channel_id_changed": {"groups:read"},
    "app_uninstalled": set(),
    "tokens_revoked": set(),
}
"""docs.slack.dev/reference/events: an event is sent only to an app with the event's scope."""

OPTIONAL = {"message.im": {"im:history"}}
"""Optional events."""


@pytest.fixture(params=FORMS)
def manifest(request):
    return FORMS[request.param]()


def test_manifest_is_valid_by_slacks_own_schema(manifest):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    problems = [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(manifest)]
    assert problems == []
    # Beyond the schema: docs.slack.dev/reference/app-manifest
    assert manifest["_metadata"]["major_version"] == 2
    assert re.fullmatch("#[0-9a-fA-F]{6}", manifest["display_information"]["background_color"])
    for command in manifest["features"]["slash_commands"]:
        assert re.fullmatch("/[a-z0-9_-]{1,31}", command["command"])


def test_manifest_asks_for_the_scopes_that_its_events_need(manifest):
    scopes = manifest["oauth_config"]["scopes"]
    assert set(scopes["bot_optional"]) < set(scopes["bot"]), "docs.slack.dev/reference/app-manifest#oauth"
    needed = set(scopes["bot"]) - set(scopes["bot_optional"])
    for event in manifest["settings"]["event_subscriptions"]["bot_events"]:
        assert OPTIONAL.get(event, set()) <= set(scopes["bot"])
        assert event in OPTIONAL or SCOPES_OF_EVENTS[event] <= needed


def test_http_form_points_everything_at_the_address():
    manifest = FORMS["http"]()
    settings = manifest["settings"]
    urls = [command["url"] for command in manifest["features"]["slash_commands"]]
    urls += [settings["event_subscriptions"]["request_url"], settings["interactivity"]["request_url"]]
    urls.append(settings["interactivity"]["message_menu_options_url"])
    assert set(urls) == {f"{ADDRESS}/slack/events"}
    assert settings["socket_mode_enabled"] is False
    printed = made_for(ADDRESS)
    assert "YOUR-ADDRESS" not in printed
    assert f"{ADDRESS}/bot/slack/events" in made_for(f"{ADDRESS}/bot/")
    # Readable, too.
    assert printed.endswith("\n")
    assert max(map(len, printed.splitlines())) <= 200
    assert "\\u" not in printed
    # Addresses that Slack could not reach are refused.
    for wrong in ("bot.example.com", "http://bot.example.com", "http://localhost:3000", "https://", ""):
        with pytest.raises(ValueError, match=r"must (be|end)"):
            made_for(wrong)
    with pytest.raises(ValueError, match="must end"):
        made_for(f"{ADDRESS}/slack/events")


def test_socket_form_has_no_address_and_says_the_same_as_the_http_form_otherwise():
    http, socket = FORMS["http"](), FORMS["socket"]()
    assert "://" not in json.dumps(socket)
    assert socket["settings"]["socket_mode_enabled"] is True
    assert socket["settings"]["interactivity"] == {"is_enabled": True}
    assert http["oauth_config"] == socket["oauth_config"]
    assert http["display_information"] == socket["display_information"]
    commands = [
        {name: word for name, word in one.items() if name != "url"} for one in http["features"]["slash_commands"]
    ]
    assert commands == socket["features"]["slash_commands"]

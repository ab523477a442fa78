"""The app manifest, in the project and as printed, by Slack's rules."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from bot.manifest import made_for, read_manifest
from tests.rows import over

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


def test_manifest_keeps_slacks_limits(manifest):
    about = manifest["display_information"]
    assert 1 <= len(about["name"]) <= 35
    assert 1 <= len(about["description"]) <= 140
    # docs.slack.dev/reference/app-manifest says 174, the schema says 175.
    assert 175 <= len(about["long_description"]) <= 4000
    assert re.fullmatch("#[0-9a-fA-F]{6}", about["background_color"])
    assert 1 <= len(manifest["features"]["bot_user"]["display_name"]) <= 80
    for command in manifest["features"]["slash_commands"]:
        assert re.fullmatch("/[a-z0-9_-]{1,31}", command["command"])
        assert 1 <= len(command["description"]) <= 2000
        assert 1 <= len(command["usage_hint"]) <= 1000
    assert manifest["_metadata"]["major_version"] == 2


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


@over(
    "wrong",
    ["bot.example.com", "http://bot.example.com", "http://localhost:3000", "https://", "", f"{ADDRESS}/slack/events"],
)
def test_http_form_refuses_what_slack_could_not_reach(wrong):
    with pytest.raises(ValueError, match=r"must (be|end)"):
        made_for(wrong)


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

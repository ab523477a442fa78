"""`manifest.yml`, ready to paste: for HTTP, or for Socket Mode, which forbids addresses."""

from pathlib import Path
from typing import Any

import yaml

from bot.addresses import check_public_address

MANIFEST_PATHS = (Path(__file__).parent / "manifest.yml", Path(__file__).parent.parent / "manifest.yml")
"""In an installed package, and in a clone."""

EVENTS_PATH = "/slack/events"

INTERACTIVITY_ADDRESSES = ("request_url", "message_menu_options_url")
"""For clicks and forms, and for menus that search while people type."""


def read_manifest() -> dict[str, Any]:
    place = next(place for place in MANIFEST_PATHS if place.exists())
    manifest: dict[str, Any] = yaml.safe_load(place.read_text(encoding="utf-8"))
    return manifest


def for_http(url: str) -> str:
    """Raises ValueError unless `url` is an https address without a path of the bot."""
    address = check_public_address(url, loopback_http=False) + EVENTS_PATH
    manifest = read_manifest()
    for command in manifest["features"]["slash_commands"]:
        command["url"] = address
    manifest["settings"]["event_subscriptions"]["request_url"] = address
    for name in INTERACTIVITY_ADDRESSES:
        manifest["settings"]["interactivity"][name] = address
    return _as_yaml(manifest)


def for_socket_mode() -> str:
    manifest = read_manifest()
    for command in manifest["features"]["slash_commands"]:
        del command["url"]
    del manifest["settings"]["event_subscriptions"]["request_url"]
    for name in INTERACTIVITY_ADDRESSES:
        del manifest["settings"]["interactivity"][name]
    manifest["settings"]["socket_mode_enabled"] = True
    return _as_yaml(manifest)


def _as_yaml(manifest: dict[str, Any]) -> str:
    return yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=120)

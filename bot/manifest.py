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


def made_for(url: str | None) -> str:
    """For HTTP at an address, or without an address for Socket Mode.

    Raises ValueError unless `url` is an https address without a path of the bot.
    """
    manifest = read_manifest()
    settings = manifest["settings"]
    named = [(command, "url") for command in manifest["features"]["slash_commands"]]
    named += [(settings["event_subscriptions"], "request_url")]
    named += [(settings["interactivity"], name) for name in INTERACTIVITY_ADDRESSES]
    address = None if url is None else check_public_address(url, loopback_http=False) + EVENTS_PATH
    for holder, name in named:
        holder[name] = address
        if not address:
            del holder[name]
    if not address:
        settings["socket_mode_enabled"] = True
    return yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=120)

"""The bodies that Slack sends, field for field."""

import json
import re

from sandbox.slack.methods.shapes import blocks_with_ids, message_shape
from sandbox.slack.short_lived import ResponseUrl
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, EphemeralMessage, Json, PostedMessage, User, elements_of

_MENTION = re.compile(r"(<[@#!][^<>]+>)")


def command_fields(
    state: WorkspaceState, name: str, text: str, *, channel: Channel, user: User, url: ResponseUrl
) -> dict[str, str]:
    """docs.slack.dev/interactivity/implementing-slash-commands."""
    return {
        "token": state.verification_token,
        "team_id": user.team_id or state.team_id,
        "team_domain": state.team_domain,
        "channel_id": channel.id,
        "channel_name": _shown_name(channel),
        "user_id": user.id,
        "user_name": user.name,
        "command": name,
        "text": escaped(text),
        "api_app_id": state.app_id,
        "is_enterprise_install": "false",
        "response_url": address_of(state, url),
        "trigger_id": state.triggers.issue(),
    }


def escaped(typed: str) -> str:
    """`<@U1|alice>` and the like are Slack's own mentions, and stay.

    docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    parts = _MENTION.split(typed)
    plain = [part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    return "".join(part for pair in zip(plain, [*parts[1::2], ""], strict=True) for part in pair)


def event_envelope(state: WorkspaceState, event: Json, event_id: str | None = None) -> Json:
    """docs.slack.dev/apis/events-api."""
    return {
        "token": state.verification_token,
        "team_id": state.team_id,
        "api_app_id": state.app_id,
        "event": {"event_ts": state.timestamps.issue(), **event},
        "type": "event_callback",
        "event_id": event_id or f"Ev{next(state.numbers):08d}",
        "event_time": int(state.clock().timestamp()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": state.team_id,
                "user_id": state.bot_user_id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def action_fields(
    state: WorkspaceState,
    action_id: str,
    value: str,
    *,
    message: PostedMessage | EphemeralMessage,
    user: User,
    url: ResponseUrl,
) -> dict[str, str]:
    """A pressed button or a chosen option in a message."""
    channel = state.channels[message.channel]
    parts: Json = {
        "type": "block_actions",
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": channel.id,
            "is_ephemeral": isinstance(message, EphemeralMessage),
        },
        "channel": {"id": channel.id, "name": _shown_name(channel)},
        "state": {"values": {}},
        "response_url": address_of(state, url),
        "actions": [_action(state, blocks_with_ids(message.blocks), action_id, value)],
    }
    # Slack keeps no ephemeral message.
    if isinstance(message, PostedMessage):
        parts["message"] = message_shape(state, message, with_metadata=True)
    return _payload(state, user, parts)


def view_fields(state: WorkspaceState, view: Json, values: Json, user: User) -> dict[str, str]:
    """`values` is the state by block id and action id."""
    submitted = {**view, "state": {"values": values}}
    return _payload(state, user, {"type": "view_submission", "view": submitted, "response_urls": []})


def view_action_fields(state: WorkspaceState, action_id: str, value: str, *, view: Json, user: User) -> dict[str, str]:
    """A pressed button or a chosen option in a modal or the App Home."""
    parts = {
        "type": "block_actions",
        "container": {"type": "view", "view_id": view["id"]},
        "view": view,
        "actions": [_action(state, view["blocks"], action_id, value)],
    }
    return _payload(state, user, parts)


def suggestion_fields(state: WorkspaceState, action_id: str, typed: str, *, view: Json, user: User) -> dict[str, str]:
    """Text typed into a menu whose options the bot looks up."""
    block, _ = _element(view["blocks"], action_id)
    container = {"type": "view", "view_id": view["id"]}
    parts = {"type": "block_suggestion", "action_id": action_id, "block_id": block.get("block_id", ""), "value": typed}
    return _payload(state, user, parts | {"container": container, "view": view})


def address_of(state: WorkspaceState, url: ResponseUrl) -> str:
    if state.address is None:
        raise RuntimeError("the workspace has no address yet: use `async with workspace.running()`, or set `address`")
    return state.address + url.path


def _payload(state: WorkspaceState, user: User, parts: Json) -> dict[str, str]:
    shared = {
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id or state.team_id},
        "api_app_id": state.app_id,
        "token": state.verification_token,
        "team": {"id": state.team_id, "domain": state.team_domain},
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": state.triggers.issue(),
    }
    return {"payload": json.dumps(shared | parts)}


def _action(state: WorkspaceState, blocks: list[Json], action_id: str, value: str) -> Json:
    block, element = _element(blocks, action_id)
    action: Json = {
        "action_id": action_id,
        "block_id": block.get("block_id", ""),
        "type": element["type"],
        "action_ts": state.timestamps.issue(),
    }
    if element["type"] == "button":
        return action | {"text": element["text"], "value": value}
    chosen = next((option for option in element.get("options", []) if option.get("value") == value), {"value": value})
    return action | {"selected_option": chosen}


def _element(blocks: list[Json], action_id: str) -> tuple[Json, Json]:
    for block, element in elements_of(blocks):
        if element["action_id"] == action_id:
            return block, element
    raise LookupError(f"the message has no element with the action_id {action_id!r}")


def _shown_name(channel: Channel) -> str:
    if channel.is_dm:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name

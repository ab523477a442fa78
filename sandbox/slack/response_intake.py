"""Takes the bot's responses to commands and actions."""

from dataclasses import replace
from typing import Any

from sandbox.slack.arguments import Arguments
from sandbox.slack.content import Content, read_content
from sandbox.slack.refused_calls import Refused
from sandbox.slack.response_urls import ResponseUrl
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import EphemeralMessage, Json, PostedMessage, SentResponse

RESPONSE_TYPES = frozenset({"ephemeral", "in_channel"})


def take_response(state: WorkspaceState, url: ResponseUrl, values: Json, *, via: str) -> SentResponse:
    """Raises Refused.

    An ephemeral response goes to the person who asked, and "in_channel" is posted. `replace_original` changes the
    clicked message.
    """
    response = _read(state, values, via)
    url.responses.append(response)
    _show(state, url, response)
    state.changes.notify()
    return response


def _read(state: WorkspaceState, values: Json, via: str) -> SentResponse:
    args = Arguments(values)
    delete_original = _boolean(values, "delete_original")
    content = Content("", (), {}) if delete_original else read_content(args, refused_kinds=state.refused_blocks)
    response_type = values.get("response_type", "ephemeral")
    if not isinstance(response_type, str) or response_type not in RESPONSE_TYPES:
        raise Refused("invalid_response_type")
    return SentResponse(
        text=content.text,
        response_type=response_type,
        received_at=state.clock(),
        via=via,
        blocks=content.blocks,
        replace_original=_boolean(values, "replace_original"),
        delete_original=delete_original,
    )


def _boolean(values: Json, name: str) -> bool:
    value: Any = values.get(name, False)
    if not isinstance(value, bool):
        raise Refused("invalid_arguments")
    return value


def _show(state: WorkspaceState, url: ResponseUrl, response: SentResponse) -> None:
    original = state.message(url.channel_id, url.message_ts) if url.message_ts else None
    ephemeral = state.ephemeral(url.message_ts) if url.message_ts else None
    if original is not None and response.delete_original:
        state.remove(original)
    elif original is not None and response.replace_original:
        state.edit(replace(original, text=response.text, blocks=response.blocks))
    elif ephemeral is not None and (response.delete_original or response.replace_original):
        changed = replace(ephemeral, text=response.text, blocks=response.blocks)
        state.replace_ephemeral(ephemeral, None if response.delete_original else changed)
    elif response.delete_original:
        # A command has no original.
        return
    elif response.response_type == "in_channel":
        _post(state, url, response)
    else:
        _show_to_one(state, url, response)


def _post(state: WorkspaceState, url: ResponseUrl, response: SentResponse) -> None:
    state.put(
        PostedMessage(
            ts=state.timestamps.issue(),
            channel=url.channel_id,
            text=response.text,
            user=state.bot_user_id,
            received_at=response.received_at,
            blocks=response.blocks,
        )
    )


def _show_to_one(state: WorkspaceState, url: ResponseUrl, response: SentResponse) -> None:
    state.put_ephemeral(
        EphemeralMessage(
            ts=state.timestamps.issue(),
            channel=url.channel_id,
            user=url.user_id,
            text=response.text,
            received_at=response.received_at,
            via=response.via,
            blocks=response.blocks,
        )
    )

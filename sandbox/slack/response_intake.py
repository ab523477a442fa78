"""Takes the bot's responses to commands and actions."""

from dataclasses import replace

from sandbox.slack.arguments import Arguments
from sandbox.slack.content import read_content
from sandbox.slack.refused_calls import Refused
from sandbox.slack.short_lived import ResponseUrl
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import EphemeralMessage, Json, SentResponse


def take_response(state: WorkspaceState, url: ResponseUrl, values: Json) -> SentResponse:
    """Raises Refused.

    A response goes to the person who asked, or with `replace_original` into the clicked message.
    """
    text, blocks = read_content(Arguments(values), refused_kinds=state.refused_blocks)
    # Slack takes "in_channel" too. The bot must not answer the whole channel.
    if values.get("response_type", "ephemeral") != "ephemeral":
        raise Refused("invalid_response_type")
    in_place = values.get("replace_original", False)
    if not isinstance(in_place, bool):
        raise Refused("invalid_arguments")
    response = SentResponse(text, blocks, replace_original=in_place)
    url.responses.append(response)
    _show(state, url, response)
    state.changes.notify()
    return response


def _show(state: WorkspaceState, url: ResponseUrl, response: SentResponse) -> None:
    if response.replace_original and url.message_ts:
        if (original := state.message(url.channel_id, url.message_ts)) is not None:
            state.edit(replace(original, text=response.text, blocks=response.blocks))
            return
        if (ephemeral := state.ephemeral(url.message_ts)) is not None:
            state.replace_ephemeral(ephemeral, replace(ephemeral, text=response.text, blocks=response.blocks))
            return
    state.put_ephemeral(
        EphemeralMessage(
            ts=state.timestamps.issue(),
            channel=url.channel_id,
            user=url.user_id,
            text=response.text,
            received_at=state.clock(),
            blocks=response.blocks,
        )
    )

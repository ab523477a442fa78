"""A person's actions in Slack, by HTTP or Socket Mode: each is a body that Slack sends, and the bot's answer."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.slack import modals
from sandbox.slack.answers import PATIENCE_S, Answer, ResponseUrl
from sandbox.slack.bot_requests import send_event, send_form, with_body_taken
from sandbox.slack.shapes import blocks_with_ids, message_shape
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, Json, PostedMessage, User, elements_of

_MENTION = re.compile(r"(<[@#!][^<>]+>)")


@dataclass(frozen=True)
class Person:
    workspace: WorkspaceState
    user_id: str
    bot_url: str

    async def types(self, line: str, *, channel: str) -> Answer:
        """Types a command: `/racecard GB today`. docs.slack.dev/interactivity/implementing-slash-commands."""
        state, name_and_text = self.workspace, line.partition(" ")
        url = state.response_urls.issue(channel, self.user_id)
        fields = {
            "token": state.verification_token,
            "team_id": state.team_id,
            "team_domain": state.team_domain,
            "channel_id": channel,
            "channel_name": _shown_name(state.channels[channel]),
            "user_id": self.user_id,
            "user_name": self._user.name,
            "command": name_and_text[0],
            "text": escaped(name_and_text[2]),
            "api_app_id": state.app_id,
            "is_enterprise_install": "false",
            "response_url": state.reachable() + url.path,
            "trigger_id": state.triggers.issue(),
        }
        return with_body_taken(state, await send_form(state, self.bot_url, fields, url))

    async def writes(self, text: str, thread_ts: str | None = None) -> Answer:
        """Writes in the direct messages with the bot: the event `message.im`, which needs the scope im:history."""
        said = self.workspace.say(
            self.workspace.direct_message(self.user_id).id, self.user_id, text, thread_ts=thread_ts
        )
        event = {"type": "message", "channel": said.channel, "channel_type": "im", "user": self.user_id}
        in_thread = {"thread_ts": thread_ts} if thread_ts else {}
        return await send_event(self.workspace, self.bot_url, event | {"text": text, "ts": said.ts} | in_thread)

    async def opens_home(self) -> Answer:
        """Event: `app_home_opened`."""
        channel, view = self.workspace.direct_message(self.user_id).id, self.workspace.views.get(f"VHOME{self.user_id}")
        event = {"type": "app_home_opened", "user": self.user_id, "channel": channel, "tab": "home"}
        return await send_event(self.workspace, self.bot_url, event | ({"view": view} if view else {}))

    async def clicks(self, label: str, *, channel: str) -> Answer:
        """Clicks the button of this text or action_id in the newest message that has one. Raises LookupError."""
        for message in reversed(self.workspace.messages(channel, self.user_id)):
            for button in _buttons(message.blocks, label):
                return await self.presses(button["action_id"], button.get("value", ""), message)
        raise LookupError(f"{self.user_id} sees nothing to click that says {label!r} in {channel}")

    async def clicks_in_view(self, view_id: str, label: str) -> Answer:
        for button in _buttons(self.workspace.views[view_id]["blocks"], label):
            return await self.presses_in_view(button["action_id"], button.get("value", ""), view_id)
        raise LookupError(f"nothing in the view says {label!r}")

    async def presses(self, action_id: str, value: str, message: PostedMessage) -> Answer:
        state, channel = self.workspace, self.workspace.channels[message.channel]
        url = state.response_urls.issue(channel.id, self.user_id, message.ts)
        is_kept = message.only is None
        container = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": channel.id,
            "is_ephemeral": not is_kept,
        }
        payload: Json = {
            "type": "block_actions",
            "container": container,
            "channel": {"id": channel.id, "name": _shown_name(channel)},
            "state": {"values": {}},
            "response_url": state.reachable() + url.path,
            "actions": [self._action(blocks_with_ids(message.blocks), action_id, value)],
        }
        # Slack keeps no ephemeral message.
        if is_kept:
            payload["message"] = message_shape(state, message, with_metadata=True)
        return await self._send(payload, url)

    async def presses_in_view(self, action_id: str, value: str, view_id: str) -> Answer:
        """In a modal or the App Home."""
        blocks = self.workspace.views[view_id]["blocks"]
        actions = [self._action(blocks, action_id, value)]
        return await self._send({"type": "block_actions", **self._in_view(view_id), "actions": actions})

    async def looks_up(self, view_id: str, action_id: str, typed: str) -> list[Json]:
        """The bot's options for text typed into a menu of an open modal."""
        block, _ = _element(self.workspace.views[view_id]["blocks"], action_id)
        asked = {"action_id": action_id, "block_id": block.get("block_id", ""), "value": typed}
        answer = await self._send({"type": "block_suggestion", **asked, **self._in_view(view_id)})
        if answer.error is not None:
            raise LookupError(answer.error)
        options: list[Json] = json.loads(answer.body)["options"]
        return options

    async def submits(self, view_id: str, values: Json) -> Answer:
        """Fills in an open modal (`modals.filled_in`) and submits the modal."""
        return await self.submits_state(view_id, modals.filled_in(self.workspace.views[view_id], values))

    async def submits_state(self, view_id: str, values: Json) -> Answer:
        """Submits an open modal. `values` is the state by block id and action id."""
        view = {**self.workspace.views[view_id], "state": {"values": values}}
        answer = await self._send({"type": "view_submission", "view": view, "response_urls": []})
        return modals.carry_out(self.workspace, view_id, answer)

    async def opened(self, callback_id: str) -> str:
        """The id of the open view of a callback_id. Raises TimeoutError."""
        views = self.workspace.views
        await self.workspace.wait_for(lambda: callback_id in {one["callback_id"] for one in views.values()}, PATIENCE_S)
        return [view_id for view_id, view in views.items() if view["callback_id"] == callback_id][-1]

    @property
    def _user(self) -> User:
        return self.workspace.users[self.user_id]

    def _in_view(self, view_id: str) -> Json:
        return {"container": {"type": "view", "view_id": view_id}, "view": self.workspace.views[view_id]}

    def _action(self, blocks: list[Json], action_id: str, value: str) -> Json:
        block, button = _element(blocks, action_id)
        return {
            "action_id": action_id,
            "block_id": block.get("block_id", ""),
            "type": button["type"],
            "text": button["text"],
            "value": value,
            "action_ts": self.workspace.timestamps.issue(),
        }

    async def _send(self, payload: Json, url: ResponseUrl | None = None) -> Answer:
        state, user = self.workspace, self._user
        shared = {
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": state.team_id},
            "api_app_id": state.app_id,
            "token": state.verification_token,
            "team": {"id": state.team_id, "domain": state.team_domain},
            "enterprise": None,
            "is_enterprise_install": False,
            "trigger_id": state.triggers.issue(),
        }
        return await send_form(state, self.bot_url, {"payload": json.dumps(shared | payload)}, url)


def escaped(typed: str) -> str:
    """`<@U1|alice>` and the like are Slack's own mentions, and stay.

    docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    parts = _MENTION.split(typed)
    parts[::2] = [part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    return "".join(parts)


def _buttons(blocks: Iterable[Json], label: str) -> list[Json]:
    """The buttons with this text or action_id."""
    found = (element for _, element in elements_of(blocks) if element["type"] == "button")
    return [one for one in found if label in {one["action_id"], one["text"]["text"]}]


def _element(blocks: Iterable[Json], action_id: str) -> tuple[Json, Json]:
    for block, element in elements_of(blocks):
        if element["action_id"] == action_id:
            return block, element
    raise LookupError(f"the message has no element with the action_id {action_id!r}")


def _shown_name(channel: Channel) -> str:
    if channel.is_dm:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name

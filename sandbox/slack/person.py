"""A person's actions in Slack, by HTTP or Socket Mode."""

import json
from dataclasses import dataclass
from typing import Any

from sandbox.slack import bot_requests, modals, payloads
from sandbox.slack.answers import Answer
from sandbox.slack.changes import PATIENCE_S
from sandbox.slack.interactions import Interactions
from sandbox.slack.values import EphemeralMessage, Json, PostedMessage, elements_of

Seen = PostedMessage | EphemeralMessage


@dataclass(frozen=True)
class Person:
    workspace: Interactions
    user_id: str
    bot_url: str

    async def types(self, line: str, *, channel: str) -> Answer:
        """Types a command: `/racecard GB today`."""
        name, _, text = line.partition(" ")
        return await self.workspace.command(self.bot_url, name, text, channel=channel, user=self.user_id)

    async def writes(self, text: str) -> Answer:
        """Writes in the direct messages with the bot: the event `message.im`."""
        return await self.workspace.write_to_bot(self.user_id, text, self.bot_url)

    def sees(self, channel: str) -> list[Seen]:
        """Messages and ephemerals of a channel that this person sees, oldest first."""
        own = [one for one in self.workspace.ephemerals if (one.channel, one.user) == (channel, self.user_id)]
        return sorted([*self.workspace.messages(channel), *own], key=lambda message: message.ts)

    async def clicks(self, label: str, *, channel: str, choice: str | None = None) -> Answer:
        """Clicks in the newest message with a button of this text or action_id.

        In a menu `choice` is the option's text or value, and the label is the action_id. Raises LookupError.
        """
        for message in reversed(self.sees(channel)):
            for element in _elements(list(message.blocks), label):
                value = _value(element, choice)
                action_id = element["action_id"]
                return await self.workspace.action(self.bot_url, action_id, value, message=message, user=self.user_id)
        raise LookupError(f"{self.user_id} sees nothing to click that says {label!r} in {channel}")

    async def clicks_in_view(self, view_id: str, label: str, *, choice: str | None = None) -> Answer:
        view = self.workspace.views[view_id]
        for element in _elements(view["blocks"], label):
            action_id, value = element["action_id"], _value(element, choice)
            return await self.workspace.view_action(self.bot_url, action_id, value, view_id=view_id, user=self.user_id)
        raise LookupError(f"nothing in the view says {label!r}")

    async def looks_up(self, view_id: str, action_id: str, typed: str) -> list[Json]:
        """The bot's options for text typed into a menu of an open modal."""
        view = self.workspace.views[view_id]
        fields = payloads.suggestion_fields(self.workspace, action_id, typed, view=view, user=self._user)
        answer = await bot_requests.send_form(self.workspace, self.bot_url, fields, None)
        if answer.error is not None:
            raise LookupError(answer.error)
        options: list[Json] = json.loads(answer.body)["options"]
        return options

    async def submits(self, view_id: str, values: Json) -> Answer:
        """Fills in an open modal (`modals.filled_in`) and submits the modal."""
        state = modals.filled_in(self.workspace.views[view_id], values)
        return await self.workspace.view_submission(self.bot_url, view_id, state, user=self.user_id)

    async def opened(self, callback_id: str, *, timeout_s: float = PATIENCE_S) -> str:
        """The id of the open view of a callback_id. Raises TimeoutError."""
        views = self.workspace.views
        found: list[str] = []

        def is_there() -> bool:
            found[:] = [view_id for view_id, view in views.items() if view["callback_id"] == callback_id]
            return bool(found)

        await self.workspace.wait_for(is_there, timeout_s)
        return found[-1]

    @property
    def _user(self) -> Any:
        return self.workspace.users[self.user_id]


def _elements(blocks: list[Json], label: str) -> list[Json]:
    """The elements with this text or action_id."""
    found = (element for _, element in elements_of(blocks))
    return [one for one in found if label in {one["action_id"], (one.get("text") or {}).get("text")}]


def _value(element: Json, choice: str | None) -> str:
    """The button's value, or the chosen option's."""
    if choice is None:
        return str(element.get("value", ""))
    options = element.get("options", [])
    chosen = [one for one in options if choice in {one.get("value"), one["text"]["text"]}]
    if not chosen:
        raise LookupError(f"no option {choice!r} in {element['action_id']!r}")
    return str(chosen[0]["value"])

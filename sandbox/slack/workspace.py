"""The stand-in workspace.

`app` is Slack as the bot sees Slack. The methods are Slack as people see Slack.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property

from starlette.applications import Starlette

from sandbox.loopback_server import serve
from sandbox.slack.answers import Answer
from sandbox.slack.bot_requests import send_event
from sandbox.slack.person import Person
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, Json, User
from sandbox.slack.web_api import build_app

BY = "U0ADMIN"
"""The person who invites, removes and archives."""


class SlackWorkspace(WorkspaceState):
    """Each change of a channel tells the bot by Slack's event. Without a `bot_url` only the state changes."""

    @cached_property
    def app(self) -> Starlette:
        return build_app(self)

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        async with serve(self.app, port) as address, self.sockets.running():
            self.address = address
            yield address

    @property
    def api_url(self) -> str:
        return f"{self.reachable()}/api/"

    def person(self, user_id: str, bot_url: str) -> Person:
        return Person(self, self.users[user_id].id, bot_url)

    def add_user(
        self, user_id: str, name: str | None = None, *, is_admin: bool = False, is_deactivated: bool = False
    ) -> User:
        user = User(user_id, name or user_id.lower(), is_admin=is_admin, is_deactivated=is_deactivated)
        self.users[user_id] = user
        return user

    def add_channel(
        self,
        channel_id: str,
        name: str,
        *,
        bot_is_member: bool = True,
        is_private: bool = False,
        members: tuple[str, ...] = (),
    ) -> Channel:
        """By default everybody known so far is a member."""
        people = set(members) or (self.users.keys() - {self.bot_user_id})
        channel = Channel(
            id=channel_id,
            name=name,
            created_at=self.clock(),
            is_private=is_private,
            members=people | ({self.bot_user_id} if bot_is_member else set()),
        )
        self.channels[channel_id] = channel
        return channel

    async def rename(self, channel_id: str, name: str) -> None:
        """Slack's event `channel_rename` is not sent: the bot does not take it."""
        self.channels[channel_id].name = name

    async def make_private(self, channel_id: str) -> None:
        """The id stays, and Slack sends no event."""
        self.channels[channel_id].is_private = True
        self.changes.notify()

    async def change_id(self, channel_id: str, new_id: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `channel_id_changed`."""
        channel = self.channels.pop(channel_id)
        channel.id = new_id
        self.channels[new_id] = channel
        moved = self.posted.pop(channel_id, {})
        there = self.posted.setdefault(new_id, {})
        there.update((ts, replace(message, channel=new_id)) for ts, message in moved.items())
        event = {"type": "channel_id_changed", "old_channel_id": channel_id, "new_channel_id": new_id}
        return await self._tell_bot(bot_url, event)

    async def delete_channel(self, channel_id: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `channel_deleted` or `group_deleted`."""
        channel = self.channels.pop(channel_id)
        self.posted.pop(channel_id, None)
        return await self._tell_bot(bot_url, {"type": f"{_kind(channel)}_deleted", "channel": channel_id})

    async def invite_bot(self, channel_id: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `member_joined_channel`."""
        channel = self.channels[channel_id]
        channel.members.add(self.bot_user_id)
        event = {"type": "member_joined_channel", **self._member(channel), "inviter": BY}
        return await self._tell_bot(bot_url, event)

    async def remove_bot(self, channel_id: str, bot_url: str | None = None) -> list[Answer]:
        """Events: `member_left_channel`, then `channel_left` or `group_left`."""
        channel = self.channels[channel_id]
        channel.members.discard(self.bot_user_id)
        left = {"type": f"{_kind(channel)}_left", "channel": channel_id, "actor_id": BY}
        return await self._tell_bot(bot_url, {"type": "member_left_channel", **self._member(channel)}, left)

    async def archive(self, channel_id: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `channel_archive` or `group_archive`."""
        return await self._set_archived(channel_id, bot_url, archived=True)

    async def unarchive(self, channel_id: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `channel_unarchive` or `group_unarchive`."""
        return await self._set_archived(channel_id, bot_url, archived=False)

    async def event(
        self, bot_url: str, event: Json, *, event_id: str | None = None, retry_num: int | None = None
    ) -> Answer:
        """`retry_num` marks an event as sent again."""
        return await send_event(self, bot_url, event, event_id=event_id, retry_num=retry_num)

    async def _set_archived(self, channel_id: str, bot_url: str | None, *, archived: bool) -> list[Answer]:
        channel = self.channels[channel_id]
        channel.is_archived = archived
        what = "archive" if archived else "unarchive"
        return await self._tell_bot(bot_url, {"type": f"{_kind(channel)}_{what}", "channel": channel_id, "user": BY})

    def _member(self, channel: Channel) -> Json:
        kind = "G" if channel.is_private else "C"
        return {"user": self.bot_user_id, "channel": channel.id, "channel_type": kind, "team": self.team_id}

    async def _tell_bot(self, bot_url: str | None, *events: Json) -> list[Answer]:
        self.changes.notify()
        return [await self.event(bot_url, event) for event in events] if bot_url is not None else []


def _kind(channel: Channel) -> str:
    return "group" if channel.is_private else "channel"

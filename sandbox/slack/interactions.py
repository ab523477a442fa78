"""People and channels, and what Slack sends to the bot, with the bot's answers."""

from collections.abc import Callable
from dataclasses import replace

from sandbox.slack import bot_requests, modals, payloads
from sandbox.slack.answers import Answer
from sandbox.slack.changes import PATIENCE_S
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, EphemeralMessage, Json, PostedMessage, User

BY = "U0ADMIN"
"""The person who invites, removes and archives."""


class Interactions(WorkspaceState):
    """Each change tells the bot by Slack's event. Without a `bot_url` only the state changes."""

    def add_user(
        self,
        user_id: str,
        name: str | None = None,
        *,
        is_admin: bool = False,
        is_deactivated: bool = False,
        team_id: str | None = None,
    ) -> User:
        user = User(
            id=user_id,
            name=name or user_id.lower(),
            is_admin=is_admin,
            is_deactivated=is_deactivated,
            team_id=team_id,
        )
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

    async def rename(self, channel_id: str, name: str, bot_url: str | None = None) -> list[Answer]:
        """Event: `channel_rename` or `group_rename`."""
        channel = self.channels[channel_id]
        channel.name = name
        about = {"id": channel_id, "name": name, "created": int(channel.created_at.timestamp())}
        return await self._tell_bot(bot_url, {"type": f"{_kind(channel)}_rename", "channel": about})

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

    async def write_to_bot(self, user_id: str, text: str, bot_url: str, thread_ts: str | None = None) -> Answer:
        """Event: `message.im`, which needs the scope im:history."""
        said = self.say(self.direct_message(user_id).id, user_id, text, thread_ts)
        event = {"type": "message", "channel": said.channel, "channel_type": "im", "user": user_id}
        in_thread = {"thread_ts": thread_ts} if thread_ts else {}
        return await self.event(bot_url, event | {"text": text, "ts": said.ts} | in_thread)

    async def open_home(self, user_id: str, bot_url: str) -> Answer:
        """Event: `app_home_opened`."""
        event = {"type": "app_home_opened", "user": user_id, "channel": self.direct_message(user_id).id, "tab": "home"}
        view = self.views.get(f"VHOME{user_id}")
        return await self.event(bot_url, event | ({"view": view} if view else {}))

    def say(self, channel_id: str, user_id: str, text: str, thread_ts: str | None = None) -> PostedMessage:
        """A person's message; with `thread_ts` a reply in a thread."""
        return self.put(
            PostedMessage(
                ts=self.timestamps.issue(),
                channel=channel_id,
                text=text,
                user=user_id,
                received_at=self.clock(),
                thread_ts=thread_ts,
            )
        )

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
        if bot_url is None:
            return []
        return [await self.event(bot_url, event) for event in events]

    async def event(
        self, bot_url: str, event: Json, *, event_id: str | None = None, retry_num: int | None = None
    ) -> Answer:
        """`retry_num` marks an event as sent again."""
        envelope = payloads.event_envelope(self, event, event_id)
        return await bot_requests.send_event(self, bot_url, envelope, retry_num)

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Raises TimeoutError."""
        await self.changes.wait_for(predicate, timeout_s)

    async def command(self, bot_url: str, name: str, text: str = "", *, channel: str, user: str) -> Answer:
        url = self.response_urls.issue(channel, user)
        fields = payloads.command_fields(
            self, name, text, channel=self.channels[channel], user=self.users[user], url=url
        )
        return bot_requests.with_body_taken(self, await bot_requests.send_form(self, bot_url, fields, url))

    async def action(
        self, bot_url: str, action_id: str, value: str, *, message: PostedMessage | EphemeralMessage, user: str
    ) -> Answer:
        """The answer to a pressed button or a chosen option."""
        url = self.response_urls.issue(message.channel, user, message.ts)
        fields = payloads.action_fields(self, action_id, value, message=message, user=self.users[user], url=url)
        return await bot_requests.send_form(self, bot_url, fields, url)

    async def view_action(self, bot_url: str, action_id: str, value: str, *, view_id: str, user: str) -> Answer:
        """The answer to a pressed button or a chosen option in a modal or the App Home."""
        view = self.views[view_id]
        fields = payloads.view_action_fields(self, action_id, value, view=view, user=self.users[user])
        return await bot_requests.send_form(self, bot_url, fields, None)

    async def view_submission(self, bot_url: str, view_id: str, values: Json, *, user: str) -> Answer:
        fields = payloads.view_fields(self, self.views[view_id], values, self.users[user])
        return modals.carry_out(self, view_id, await bot_requests.send_form(self, bot_url, fields, None))


def _kind(channel: Channel) -> str:
    return "group" if channel.is_private else "channel"

"""What Slack sends to the bot, with the bot's answers."""

from collections.abc import Callable

from sandbox.slack import bot_requests, modals, payloads
from sandbox.slack.answers import Answer
from sandbox.slack.changes import PATIENCE_S
from sandbox.slack.membership import Membership
from sandbox.slack.values import EphemeralMessage, Json, PostedMessage


class Interactions(Membership):
    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Raises TimeoutError."""
        await self.changes.wait_for(predicate, timeout_s)

    async def command(self, bot_url: str, name: str, text: str = "", *, channel: str, user: str) -> Answer:
        url = self.response_urls.issue(channel, user)
        fields = payloads.command_fields(
            self, name, text, channel=self.channels[channel], user=self.users[user], url=url
        )
        return bot_requests.with_body_taken(self, await bot_requests.send_form(self, bot_url, fields, url))

    async def url_verification(self, bot_url: str, challenge: str = "sandbox-challenge") -> Answer:
        """Slack's check of the bot's address."""
        body: Json = {"token": self.verification_token, "challenge": challenge, "type": "url_verification"}
        return bot_requests.with_challenge_checked(await bot_requests.send_json(self, bot_url, body), challenge)

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

"""Slash commands, buttons, direct messages and forms: each runs a command as the person who typed or pressed."""

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_bolt.response import BoltResponse
from sqlmodel import Session

from bot.channels.conditions.choices import ESCALATE_GROUPS_FIELD
from bot.channels.conditions.event_conditions import COURSES_FIELD, GROUPS_FIELD, NOT_COURSES_FIELD, REGIONS_FIELD
from bot.db.engine import database_now
from bot.db.tables import MessageKind
from bot.errors import CommandError, FieldsWrong, SlackError
from bot.logs import get_logger
from bot.outbox import message_store, told_once
from bot.outbox.message_store import NewPost, Priority
from bot.slack.commands.button_commands import course_options, group_options
from bot.slack.commands.invocation import COMMIT_S, Command, Invocation, says, team_of
from bot.slack.commands.subscribe import FORM_SUBMITTED
from bot.slack.commands.table import BUTTON_COMMANDS, RACING_COMMANDS, SLASH_COMMANDS, find_command
from bot.slack.listeners.command_runner import CommandRunner, Committed, explain, not_in_time
from bot.slack.messages.answers.filter_words import in_markup
from bot.slack.messages.kit.blocks import RUN_COMMAND, RUN_IN_PLACE, section
from bot.slack.messages.kit.layout import sentence
from bot.slack.subscribe_form import SUBSCRIBE_FORM, channel_words, outdated, read_form, saved
from bot.slack.web_client import Reply

log = get_logger(__name__)

DIRECT_MESSAGE_EVENT = "message"
"""The manifest's name is `message.im`, with the scope im:history."""

_LINK = re.compile(r"<(?:https?|mailto):[^|>]*\|([^>]*)>")
"""As Slack sends a typed "racing.com": an address with the typed text."""

OUTDATED = "This button is from another version of the bot, so nothing was done. /racing help shows what I understand."

FIELD_ERROR_MAX = 1_500

UNDER_WAY_FOR = timedelta(seconds=COMMIT_S + max(one.answer_s for one in RACING_COMMANDS.values()) + 5)
"""A command that has no answer after this time has died."""

OUTDATED_BUTTON = Command("outdated", says(lambda _done: sentence(OUTDATED)))


@dataclass(frozen=True)
class CommandListener:
    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        """Also takes buttons of messages that another version has posted."""
        for name in SLASH_COMMANDS:
            bolt.command(name)(self.on_command)
        bolt.action(re.compile(""))(self.on_action)
        bolt.event(DIRECT_MESSAGE_EVENT)(self.on_message)

    async def on_command(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        command, invocation = read_invocation(body, self.runner.new_reference())
        reference = invocation.reference
        log.info("command", reference=reference, command=body.get("command"), channel_id=invocation.channel_id)
        await self.runner.run(command, invocation, Reply(str(body.get("response_url") or ""), reference), ack)

    async def on_action(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        name, text = str(action.get("action_id")).partition(":")[0], str(action.get("value") or "")
        command: Command | None = BUTTON_COMMANDS.get(name, OUTDATED_BUTTON)
        if name in {RUN_COMMAND, RUN_IN_PLACE}:
            command, text = find_command(text)
        invocation = invocation_of(body, text, self.runner.new_reference())
        reference = invocation.reference
        log.info("action", reference=reference, action=name, channel_id=invocation.channel_id)
        # A channel's message is never replaced, because others read the message.
        in_place = name == RUN_IN_PLACE and not invocation.from_message
        await self.runner.run(command, invocation, Reply(str(body.get("response_url") or ""), reference, in_place), ack)

    async def on_message(self, event: dict[str, Any], body: dict[str, Any]) -> BoltResponse | None:
        """A text is a command line, and the answer a post in the outbox: Slack gives no `response_url`."""
        user_id = event.get("user")
        is_text = user_id and "subtype" not in event and not event.get("bot_id")
        if event.get("channel_type") != "im" or not is_text:
            return None
        command, text = find_command(unescaped(str(event.get("text") or "")))
        channel_id, reference = str(event.get("channel")), self.runner.new_reference()
        # Slack sends an event again under the same id.
        key = f"said:{body.get('event_id') or event.get('ts')}@{channel_id}"
        if (status := await self.runner.desk.database.write(partial(self._status, key=key))) is not None:
            log.info("direct_message_again", channel_id=channel_id, status=status)
            return BoltResponse(status=status)
        team_id = team_of({"team_id": event.get("user_team") or event.get("team") or body.get("team_id")})
        invocation = Invocation(text, channel_id, str(user_id), reference, team_id=team_id)
        log.info("direct_message", reference=reference, channel_id=channel_id)
        committed = await self.runner.commit(command, invocation)
        self.runner.tasks.start(self._answer(committed, key), f"answer {reference}")
        return None

    def _status(self, session: Session, key: str) -> int | None:
        """The answer to an event sent again; None if the command is to run: then no other replica runs the command.

        With a 503 Slack sends the event again a minute later: the command that is under way may have died.
        """
        if message_store.ids_of(session, [key]):
            return HTTPStatus.OK
        now = database_now(session, self.runner.desk.clock)
        is_ours = told_once.claim(session, key, now, again_after=UNDER_WAY_FOR)
        return None if is_ours else HTTPStatus.SERVICE_UNAVAILABLE

    async def _answer(self, committed: Committed, key: str) -> None:
        desk, said = self.runner.desk, await self.runner.said(committed)
        if said is None:
            return
        channel_id, now = committed.invocation.channel_id, desk.clock()
        post = NewPost(channel_id, key, MessageKind.ANSWER, Priority.ADMIN, now, content=said.as_json())

        def store(session: Session) -> None:
            message_store.add(session, [post])
            told_once.free(session, [key])

        await desk.database.write(store)
        desk.wake.set()


def read_invocation(body: dict[str, Any], reference: str) -> tuple[Command | None, Invocation]:
    """The command and invocation of a slash command's body. The command is None for an unknown word after /racing."""
    text, alone = unescaped(str(body.get("text") or "")), SLASH_COMMANDS.get(str(body.get("command")))
    command, text = find_command(f"{alone.name} {text}" if alone else text)
    return command, invocation_of(body, text, reference)


def invocation_of(body: dict[str, Any], text: str, reference: str) -> Invocation:
    """The invocation by a slash command or a click."""
    channel, container, user = (body.get(part) or {} for part in ("channel", "container", "user"))
    return Invocation(
        text=text,
        channel_id=str(body.get("channel_id") or channel.get("id") or container.get("channel_id") or ""),
        user_id=str(body.get("user_id") or user.get("id") or ""),
        reference=reference,
        trigger_id=body.get("trigger_id"),
        team_id=team_of(body),
        from_message="command" not in body and not container.get("is_ephemeral"),
    )


def unescaped(text: str) -> str:
    """Slack escapes three characters, and leaves its own mentions unescaped.

    Source: docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    return _LINK.sub(r"\1", text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# Forms


@dataclass(frozen=True)
class FormListener:
    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        bolt.view(SUBSCRIBE_FORM)(self.on_submit)
        bolt.view(re.compile(""))(self.on_other)
        bolt.options(re.compile(f"^(?:{COURSES_FIELD}|{NOT_COURSES_FIELD})$"))(self.on_courses)
        bolt.options(re.compile(f"^(?:{GROUPS_FIELD}|{ESCALATE_GROUPS_FIELD})$"))(self.on_groups)

    async def on_submit(self, ack: AsyncAck, body: dict[str, Any], view: dict[str, Any]) -> None:
        reference = self.runner.new_reference()
        try:
            form, submitted = read_form(view)
        except CommandError as error:
            await ack(response_action="errors", errors=_errors(error, view, reference))
            return
        sent = replace(invocation_of(body, "", reference), channel_id=form.channel_id, from_message=False)
        invocation = replace(sent, from_home=form.from_home, form=(form, submitted))
        log.info("form", reference=reference, channel_id=form.channel_id)
        committed = await self.runner.commit(FORM_SUBMITTED, invocation)
        if committed.error is not None:
            await ack(response_action="errors", errors=_errors(committed.error, view, reference))
            return
        shown = section(f"Saved: {channel_words(form.channel_id)} receives {in_markup(*committed.result.filters)}.")
        await ack(response_action="update", view=saved([shown] if shown else []))
        self.runner.tasks.start(self._complete(committed, str(view.get("id"))), f"answer {reference}")

    async def on_other(self, ack: AsyncAck, view: dict[str, Any]) -> None:
        log.info("form_outdated", callback_id=str(view.get("callback_id"))[:100])
        await ack(response_action="update", view=outdated())

    async def _complete(self, committed: Committed, view_id: str) -> None:
        desk = self.runner.desk
        try:
            message = await FORM_SUBMITTED.say(desk, committed.invocation, committed.result)
            if message is not None:
                view = saved(message.blocks)
                await desk.slack.call("views.update", lambda: desk.slack.web.views_update(view_id=view_id, view=view))
        except SlackError as error:
            # The person has probably closed the form, which said "Saved" before.
            log.info("form_not_completed", reference=committed.invocation.reference, reason=str(error))

    async def on_courses(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        await ack(options=await course_options(self.runner.desk, str(body.get("value") or "")))

    async def on_groups(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        await ack(options=await group_options(self.runner.desk, str(body.get("value") or "")))


def _errors(error: Exception, view: dict[str, Any], reference: str) -> dict[str, str]:
    """Slack would drop an error for a field that the form does not have."""
    if isinstance(error, FieldsWrong):
        said = error.errors
    else:
        late = isinstance(error, TimeoutError)
        said = {REGIONS_FIELD: not_in_time(reference) if late else explain(error, reference).text}
    fields = {block.get("block_id") for block in view.get("blocks") or ()}
    return {name if name in fields else REGIONS_FIELD: words[:FIELD_ERROR_MAX] for name, words in said.items()}

"""Forms: what was submitted is committed before Slack gets its ack; and what their menus offer while people type."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.errors import FieldsWrong, SlackError
from bot.logs import get_logger
from bot.slack.commands import subscribe
from bot.slack.commands.error_answers import explain
from bot.slack.commands.form_submission import submit
from bot.slack.commands.invocation import COMMIT_S, Invocation
from bot.slack.commands.menu_options import course_options, group_options
from bot.slack.commands.subscribe import Subscribed
from bot.slack.forms.subscribe_form import (
    COURSES,
    GROUPS,
    NOT_COURSES,
    REGIONS,
    SUBSCRIBE_FORM,
    channel_words,
    outdated,
    read_form,
    saved,
)
from bot.slack.listeners.command_runner import CommandRunner, new_reference, not_in_time
from bot.slack.messages.answers.filter_words import in_markup
from bot.slack.messages.kit.blocks import section

log = get_logger(__name__)

FIELD_ERROR_MAX = 1_500


@dataclass(frozen=True)
class FormListener:
    """Answers the form of `/racing subscribe`, and says of any other that it is of another version."""

    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        """Make Bolt call us."""
        bolt.view(SUBSCRIBE_FORM)(self.on_submit)
        bolt.view(re.compile(""))(self.on_other)
        bolt.options(re.compile(f"^(?:{COURSES}|{NOT_COURSES})$"))(self.on_courses)
        bolt.options(GROUPS)(self.on_groups)

    async def on_submit(self, ack: AsyncAck, body: dict[str, Any], view: dict[str, Any]) -> None:
        """Commit, and let the form say what the channel receives, or what is wrong with which field."""
        reference = new_reference()
        try:
            form, submitted = read_form(view)
            invocation = Invocation("", form.channel_id, str((body.get("user") or {}).get("id") or ""), reference)
            log.info("form", reference=reference, channel_id=form.channel_id)
            async with asyncio.timeout(COMMIT_S):
                committed = await submit(self.runner.desk, invocation, form, submitted)
        except Exception as error:  # noqa: BLE001  explained to the person, and logged there
            await ack(response_action="errors", errors=_errors(error, view, reference))
            return
        self.runner.desk.wake.set()
        shown = section(f"Saved: {channel_words(form.channel_id)} receives {in_markup(*committed.shown)}.")
        await ack(response_action="update", view=saved([shown] if shown else []))
        self.runner.tasks.start(self._complete(invocation, committed, str(view.get("id"))), f"answer {reference}")

    async def on_other(self, ack: AsyncAck, view: dict[str, Any]) -> None:
        """Nobody shall take for saved what was not."""
        log.info("form_outdated", callback_id=str(view.get("callback_id"))[:100])
        await ack(response_action="update", view=outdated())

    async def _complete(self, invocation: Invocation, committed: Subscribed, view_id: str) -> None:
        """Say in the form what the answer to a typed subscription would say."""
        desk = self.runner.desk
        try:
            message = await subscribe.answer(desk, invocation, committed)
            if message is not None:
                view = saved(message.blocks)
                await desk.slack.call("views.update", lambda: desk.slack.web.views_update(view_id=view_id, view=view))
        except SlackError as error:
            # Closed by then, most likely. What was saved is saved, and the form has said so.
            log.info("form_not_completed", reference=invocation.reference, reason=str(error))

    async def on_courses(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        """The courses that what was typed may mean."""
        await ack(options=await course_options(self.runner.desk, str(body.get("value") or "")))

    async def on_groups(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        """@here, and the user groups that what was typed may mean."""
        await ack(options=await group_options(self.runner.desk, str(body.get("value") or "")))


def _errors(error: Exception, view: dict[str, Any], reference: str) -> dict[str, str]:
    """What is wrong, beside its field. An error for a field that the form does not have would be lost."""
    match error:
        case FieldsWrong():
            said = error.errors
        case TimeoutError():
            said = {REGIONS: not_in_time(reference)}
        case _:
            said = {REGIONS: explain(error, reference).text}
    fields = {block.get("block_id") for block in view.get("blocks") or ()}
    return {name if name in fields else REGIONS: words[:FIELD_ERROR_MAX] for name, words in said.items()}

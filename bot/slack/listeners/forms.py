"""Forms: a submission is committed before the ack."""

import re
from dataclasses import dataclass, replace
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.channels.conditions.choices import ESCALATE_GROUPS_FIELD
from bot.channels.conditions.course_condition import COURSES_FIELD, NOT_COURSES_FIELD
from bot.channels.conditions.event_conditions import GROUPS_FIELD, REGIONS_FIELD
from bot.errors import CommandError, FieldsWrong, SlackError
from bot.logs import get_logger
from bot.slack.commands.error_answers import explain
from bot.slack.commands.form_button import course_options, group_options
from bot.slack.commands.subscribe import FORM_SUBMITTED
from bot.slack.forms.subscribe_form import SUBSCRIBE_FORM, channel_words, outdated, read_form, saved
from bot.slack.listeners.command_runner import CommandRunner, Committed, not_in_time
from bot.slack.listeners.ways_in import invocation_of
from bot.slack.messages.answers.filter_words import in_markup
from bot.slack.messages.kit.blocks import section

log = get_logger(__name__)

FIELD_ERROR_MAX = 1_500


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

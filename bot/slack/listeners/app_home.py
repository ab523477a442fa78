"""App Home: published when a person opens Home, and again after each press."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp
from sqlalchemy import select
from sqlmodel import Session, col

from bot.channels import mutes, pauses, subscriptions, watches
from bot.channels.subscriptions import read_filter
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, SubscriptionState, WatchRow
from bot.errors import SlackError
from bot.logs import get_logger
from bot.operations.status_figures import FIGURES_COVER, read_status
from bot.outbox import acknowledgements, dead_letters
from bot.slack.commands.filter_view import as_shown
from bot.slack.commands.invocation import Command, Desk, Invocation, team_of
from bot.slack.commands.message_buttons import DEAD_LETTER_BUTTON
from bot.slack.commands.table import BUTTON_COMMANDS, find_command
from bot.slack.forms.home_view import (
    ABANDONMENTS_MAX,
    CHANNELS_MAX,
    DEAD_LETTERS_MAX,
    HOME,
    HomeChannel,
    HomePage,
    home_view,
    said_of,
)
from bot.slack.listeners.command_runner import CommandRunner, Committed
from bot.slack.listeners.ways_in import invocation_of
from bot.slack.messages.answers.status_answer import status_answer
from bot.slack.messages.answers.subscription_answers import EDIT, STATE_WORDS

log = get_logger(__name__)

HOME_EVENT = "app_home_opened"
PUBLISH_S = 3.0


@dataclass(frozen=True)
class HomeListener:
    """Each view comes from the database alone."""

    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        bolt.event(HOME_EVENT)(self.on_opened)
        bolt.action(re.compile(f"^{HOME}:"))(self.on_action)

    async def on_opened(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        if event.get("tab") in (None, "home"):
            user_id = str(event.get("user"))
            opening = Invocation("", user_id, user_id, self.runner.new_reference(), team_id=team_of(body))
            self.runner.tasks.start(self.publish(opening), f"home {user_id}")

    async def on_action(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        channel_id, _, words = str(action.get("value") or "").partition(" ")
        command, text = _command(words)
        pressed = invocation_of(body, text, self.runner.new_reference())
        invocation = replace(pressed, channel_id=channel_id, from_message=False, from_home=True)
        log.info("home_action", reference=invocation.reference, channel_id=channel_id)
        committed = await self.runner.commit(command, invocation)
        await ack()
        self.runner.tasks.start(self._answer(committed), f"home {invocation.reference}")

    async def _answer(self, committed: Committed) -> None:
        message = await self.runner.said(committed)
        if message is not None:
            await self.publish(committed.invocation, said_of(committed.invocation.channel_id, message.text))

    async def publish(self, invocation: Invocation, said: str | None = None) -> None:
        desk, user_id = self.runner.desk, invocation.user_id
        is_admin = bool(await desk.people.is_admin(invocation))
        page = await desk.database.read(partial(_page, desk=desk, user_id=user_id, is_admin=is_admin, said=said))
        try:
            await desk.slack.call(
                "views.publish",
                lambda: desk.slack.web.views_publish(user_id=user_id, view=home_view(page)),
                timeout_s=PUBLISH_S,
            )
        except SlackError as error:
            log.warning("home_not_published", reason=str(error))


_BUTTONS = {DEAD_LETTER_BUTTON.name: DEAD_LETTER_BUTTON, EDIT: BUTTON_COMMANDS[EDIT]}
"""Changes by the first word. Other first words are names of commands."""


def _command(words: str) -> tuple[Command | None, str]:
    name, _, text = words.partition(" ")
    button = _BUTTONS.get(name)
    return (button, text) if button else find_command(words)


def _page(session: Session, *, desk: Desk, user_id: str, is_admin: bool, said: str | None) -> HomePage:
    channel_ids = _channel_ids(session, None if is_admin else user_id)
    now = desk.clock()
    return HomePage(
        channels=[_channel(session, channel_id, now) for channel_id in channel_ids[:CHANNELS_MAX]],
        total=len(channel_ids),
        is_admin=is_admin,
        watches=watches.of_person(session, user_id),
        abandonments=acknowledgements.of_person(session, user_id, now - FIGURES_COVER, ABANDONMENTS_MAX),
        status=status_answer(read_status(session, desk.clock, desk.jobs), desk.degraded()) if is_admin else None,
        dead_letters=dead_letters.newest(session, DEAD_LETTERS_MAX, now) if is_admin else (),
        said=said,
        at=now,
    )


def _channel_ids(session: Session, user_id: str | None) -> list[str]:
    """The channels with a subscription or a watch. Of a person: the channels that the person subscribed or changed."""
    row, watch = ChannelSubscriptionRow, WatchRow
    subscribed = select(col(row.updated_at), col(row.channel_id), col(row.created_by))
    watching = select(col(watch.created_at), col(watch.channel_id), col(watch.created_by))
    changed = select(col(AuditEntry.channel_id)).where(col(AuditEntry.user_id) == user_id)
    own = set(session.execute(changed).scalars()) if user_id else set()
    each = sorted(
        (moment, channel_id)
        for statement in (subscribed, watching.where(col(watch.person_id).is_(None)))
        for moment, channel_id, created_by in session.execute(statement)
        if user_id in {None, created_by} or channel_id in own
    )
    return list(dict.fromkeys(channel_id for _, channel_id in reversed(each)))


def _channel(session: Session, channel_id: str, now: datetime) -> HomeChannel:
    rows = subscriptions.of_channel(session, channel_id)
    watched = watches.of_channel(session, channel_id)
    is_paused = pauses.last_end(session, channel_id) is not None
    of_watches = SubscriptionState.PAUSED if is_paused else SubscriptionState.LIVE
    states = dict.fromkeys(STATE_WORDS[SubscriptionState(row.state)] for row in rows)
    return HomeChannel(
        channel_id=channel_id,
        filters=as_shown(session, map(read_filter, rows)),
        state=", ".join(states) or STATE_WORDS[of_watches],
        is_paused=is_paused,
        last_post_at=subscriptions.last_post_at(session, channel_id),
        muted=len(mutes.of_channel(session, channel_id, now)),
        watched=len(watched),
    )

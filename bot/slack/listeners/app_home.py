"""App Home: published when a person opens Home, and again after each press. A view of at most 100 blocks."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from slack_bolt.async_app import AsyncAck, AsyncApp
from sqlalchemy import select
from sqlmodel import Session, col

from bot.channels import mutes, pauses, subscriptions, watches
from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.event_conditions import region_named
from bot.channels.filters import ChannelFilter
from bot.channels.subscriptions import read_filter
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, SubscriptionState, WatchRow
from bot.errors import SlackError
from bot.events.sentences import counted
from bot.logs import get_logger
from bot.operations.status_figures import FIGURES_COVER, read_status
from bot.outbox import acknowledgements, said_anew
from bot.outbox.acknowledgements import PersonsAbandonment
from bot.outbox.message import Block, Message
from bot.outbox.said_anew import DeadLetter
from bot.slack.commands.button_commands import DEAD_LETTER_BUTTON, POST_AGAIN
from bot.slack.commands.invocation import Desk, Invocation, team_of
from bot.slack.commands.subscription_changes import as_shown
from bot.slack.commands.table import BUTTON_COMMANDS, find_command
from bot.slack.listeners.command_runner import CommandRunner, Committed
from bot.slack.listeners.ways_in import invocation_of
from bot.slack.messages.answers.filter_words import in_markup
from bot.slack.messages.answers.listings import status_answer
from bot.slack.messages.answers.subscription_answers import EDIT, STATE_WORDS, last_post
from bot.slack.messages.answers.watch_answer import end_line
from bot.slack.messages.kit.blocks import action_button, actions, confirmed_by, context_block, header, section
from bot.slack.messages.kit.marks import ABANDONED
from bot.slack.messages.kit.names import HORSE_MAX, course_name, doubtful_name, present_state, race_name, reason
from bot.slack.messages.kit.text import clip, given, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers

log = get_logger(__name__)

HOME_EVENT = "app_home_opened"
PUBLISH_S = 3.0

HOME = "home"
"""Begins the action_id of each button. The value is the channel's id, a space, and the words of the command."""

CHANNELS_MAX = 20
CHANGES_MAX = 5
DEAD_LETTERS_MAX = 5
HOME_WATCHES_MAX = 10
ABANDONMENTS_MAX = 10
CHANNEL_WORDS_MAX = 1_000
DETAIL_MAX = 150
STATUS_BLOCKS_MAX = 20

NOTHING_YET = (
    "You have not subscribed a channel yet. Invite me to a channel and type `/racing subscribe GB` there, with your "
    "region. `/racing help` shows what else I understand."
)


@dataclass(frozen=True)
class HomeChannel:
    """`state` in words; `is_paused`: the button resumes. `muted` counts meetings, `watched` names."""

    channel_id: str
    filters: Sequence[ChannelFilter]
    state: str
    is_paused: bool
    last_post_at: datetime | None
    muted: int = 0
    watched: int = 0


@dataclass(frozen=True)
class HomePage:
    """`said` answers the last press. `watches` and `abandonments`: the person's own.

    `status` and `dead_letters` are for admins.
    """

    channels: Sequence[HomeChannel]
    total: int
    is_admin: bool
    watches: Sequence[WatchRow] = ()
    abandonments: Sequence[PersonsAbandonment] = ()
    status: Message | None = None
    dead_letters: Sequence[DeadLetter] = ()
    said: str | None = None
    at: datetime | None = None


def home_view(page: HomePage) -> dict[str, Any]:
    blocks = [
        section(page.said),
        *_abandonments(page.abandonments),
        *_channels(page),
        *_watches(page.watches),
        *_dead_letters(page.dead_letters),
        *(page.status.blocks[:STATUS_BLOCKS_MAX] if page.status else ()),
        context_block(
            given("As of {}. Open Home again for newer figures.", moment_for_readers(page.at) if page.at else None)
        ),
    ]
    return {"type": "home", "blocks": [block for block in blocks if block]}


def said_of(channel_id: str, answer: str) -> str:
    """The answer speaks of "this channel", and Home shows several channels."""
    return f"{named(channel_id)}: {answer}" if is_channel(channel_id) else answer


def _part(title: str, blocks: Sequence[Block | None]) -> list[Block]:
    """Nothing without a block."""
    shown = [block for block in blocks if block]
    return [header(title), *shown] if shown else []


def _abandonments(abandonments: Sequence[PersonsAbandonment]) -> list[Block]:
    lines = [
        f"• {doubtful_name(one.event, one.partly_run)} in {named(one.channel_id)}: {_taken(one)}"
        for one in abandonments
    ]
    return _part("Your abandonments of the last 24 hours", [section("\n".join(lines))])


def _taken(one: PersonsAbandonment) -> str:
    if one.taken_at is None:
        return f"{ABANDONED} you were told, and *nobody has taken it*"
    return f"you have it since {moment_for_readers(one.taken_at)}"


def _channels(page: HomePage) -> list[Block]:
    if not page.channels:
        return _part("racing-bot", [section(NOTHING_YET)])
    left = page.total - len(page.channels)
    more = section(f"and {counted(left, 'more channel')}: type `/racing list` there" if left else "")
    blocks = [block for one in page.channels for block in (section(_words(one)), actions(_buttons(one)))]
    return _part("All channels" if page.is_admin else "Channels that you subscribed or changed", [*blocks, more])


def _words(one: HomeChannel) -> str:
    muted = f"{counted(one.muted, 'meeting')} muted" if one.muted else None
    watched = f"{counted(one.watched, 'name')} watched: `/racing watching` lists them there" if one.watched else None
    state = joined([safe(one.state), muted, last_post(one.last_post_at)])
    lines = [f"*{named(one.channel_id)}*", in_markup(*one.filters), watched, state]
    left = len(one.filters) - CHANGES_MAX
    more = f"{counted(left, 'subscription')} without a button: type `/racing list` there"
    return joined([clip(joined(lines, "\n"), CHANNEL_WORDS_MAX), more if left > 0 else None], "\n")


def _buttons(one: HomeChannel) -> list[Block]:
    pause = ("Resume", "resume") if one.is_paused else ("Pause", "pause")
    regions = {chosen.region: f" {region_named(chosen.region)}" for chosen in one.filters}
    change = [
        _button(one.channel_id, f"Change{name if len(regions) > 1 else ''}", f"{EDIT} {region}")
        for region, name in [*regions.items()][:CHANGES_MAX]
    ]
    watched = [_button(one.channel_id, "What is watched", "watching")] if one.watched else []
    return [_button(one.channel_id, *pause), *change, _button(one.channel_id, "Add", "subscribe"), *watched]


def _watches(rows: Sequence[WatchRow]) -> list[Block]:
    shown = [
        section(f"{safe(row.name, HORSE_MAX)} ({row.kind})", _button(row.channel_id, "End", end_line(row)))
        for row in rows[:HOME_WATCHES_MAX]
    ]
    left = len(rows) - len(shown)
    more = section(f"and {counted(left, 'more name')}: type `/racing watching`" if left else "")
    return _part("What you watch", [*shown, more])


def _dead_letters(letters: Sequence[DeadLetter]) -> list[Block]:
    blocks: list[Block | None] = []
    for one in letters:
        name = joined([race_name(one.event.race) or course_name(one.event.race), reason(one.event)])
        name = " ".join(present_state(one.event, name)) if one.event.is_abandonment else name
        words = f"{name}, for {named(one.channel_id)}, {moment_for_readers(one.given_up_at)}"
        blocks += [
            section(f"{words}\n{safe(one.reason, DETAIL_MAX) or ''}"),
            actions([_button(one.channel_id, "Post it after all", f"{POST_AGAIN} {one.message_id}")]),
        ]
    return _part("Given up", blocks)


def _button(channel_id: str, label: str, words: str) -> Block:
    return action_button(label, HOME, f"{channel_id} {words}", confirm=confirmed_by(words))


@dataclass(frozen=True)
class HomeListener:
    """Each view comes from the database alone, read anew where another replica has published meanwhile."""

    runner: CommandRunner
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, compare=False)
    """By person: a view that is published later also shows later."""

    def register(self, bolt: AsyncApp) -> None:
        bolt.event(HOME_EVENT)(self.on_opened)
        bolt.action(re.compile(f"^{HOME}:"))(self.on_action)

    async def on_opened(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        if event.get("tab") in (None, "home"):
            user_id = str(event.get("user"))
            opening = Invocation("", user_id, user_id, self.runner.new_reference(), team_id=team_of(body))
            self.runner.tasks.start(self.publish(opening, seen=_hash_of(event)), f"home {user_id}")

    async def on_action(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        channel_id, _, words = str(action.get("value") or "").partition(" ")
        name, _, text = words.partition(" ")
        command, text = (_BUTTONS[name], text) if name in _BUTTONS else find_command(words)
        pressed = invocation_of(body, text, self.runner.new_reference())
        invocation = replace(pressed, channel_id=channel_id, from_message=False, from_home=True)
        log.info("home_action", reference=invocation.reference, channel_id=channel_id)
        committed = await self.runner.commit(command, invocation)
        await ack()
        self.runner.tasks.start(self._answer(committed, _hash_of(body)), f"home {invocation.reference}")

    async def _answer(self, committed: Committed, seen: str | None) -> None:
        message = await self.runner.said(committed)
        if message is not None:
            said = said_of(committed.invocation.channel_id, message.text)
            await self.publish(committed.invocation, said, seen=seen)

    async def publish(self, invocation: Invocation, said: str | None = None, *, seen: str | None = None) -> None:
        """`seen`: the hash of the view that the person had."""
        desk, user_id = self.runner.desk, invocation.user_id
        is_admin = bool(await desk.people.is_admin(invocation))
        async with self._turns.setdefault(user_id, asyncio.Lock()):
            for before in (seen, None):
                page = await desk.database.read(
                    partial(_page, desk=desk, user_id=user_id, is_admin=is_admin, said=said)
                )
                view = home_view(page)
                try:
                    await desk.slack.call(
                        "views.publish",
                        partial(desk.slack.web.views_publish, user_id=user_id, view=view, hash=before),
                        timeout_s=PUBLISH_S,
                    )
                except SlackError as error:
                    if before and error.code == "hash_conflict":
                        continue
                    log.warning("home_not_published", reason=str(error))
                return


def _hash_of(body: Mapping[str, Any]) -> str | None:
    """The hash of the view in an event or a click; None before the first view."""
    view = body.get("view")
    return view.get("hash") if isinstance(view, dict) else None


_BUTTONS = {DEAD_LETTER_BUTTON.name: DEAD_LETTER_BUTTON, EDIT: BUTTON_COMMANDS[EDIT]}
"""Changes by the first word. Other first words are names of commands."""


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
        dead_letters=said_anew.newest(session, DEAD_LETTERS_MAX, now) if is_admin else (),
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

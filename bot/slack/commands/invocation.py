"""A typed command, and the parts for answering the command."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session

from bot.channels import channel_lock
from bot.channels.conditions.event_conditions import is_direct_message
from bot.clock import Clock, Token
from bot.db.engine import Database
from bot.errors import CommandError
from bot.events.days import utc_today
from bot.operations.drill_run import Drills
from bot.operations.jobs.job import Job
from bot.outbox.channel_move import move_person
from bot.outbox.held_channels import Reopening
from bot.outbox.message import Message
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack.language.tokens import read_list_words
from bot.slack.language.words import COURTESY, words_in
from bot.slack.messages.answers.failure_words import AnswerReader
from bot.slack.subscribe_form import FormOf, Submitted
from bot.slack.web_client import SlackClient
from bot.slack.workspace import BotIdentity, People, is_member, members

COMMIT_S = 2.2
"""Slack waits three seconds for the ack."""

COMMAND_ANSWER_S = 25.0
"""A longer answer is given up, and the person is told."""

LIST_S = 20.0
"""For reading a list of the data service anew, after the ack."""

MEMBERSHIP_S = 0.8
"""Part of COMMIT_S, for a question to Slack about channels and people."""

SAYING_NOTHING = frozenset({*COURTESY, *words_in("nothing")})

_NUMBER = re.compile("[0-9]{1,18}")
"""A row's number has at most 18 digits."""

STORING_S = 0.3
"""Part of COMMIT_S, left for storing after all questions to Slack."""


@dataclass
class Progress:
    """The progress of a long command. `say`, once set, gives words at any moment."""

    say: Callable[[], Awaitable[str]] | None = None


@dataclass(frozen=True)
class Invocation:
    """`text`: the words after the command. `reference`: finds the invocation in the log."""

    text: str
    channel_id: str
    user_id: str
    reference: str
    trigger_id: str | None = None
    team_id: str | None = None
    """The person's own workspace, as Slack's body says."""
    from_message: bool = False
    """By a button of a message that everybody in the channel sees."""
    from_home: bool = False
    """By a button of App Home, which people press in any channel's name."""
    form: tuple[FormOf, Submitted] | None = field(default=None, compare=False)
    """The subject and the choices of a submitted form."""
    progress: Progress = field(default_factory=Progress, compare=False)
    began_s: float = math.inf
    """When the commit began, by the loop's clock."""

    @property
    def is_direct(self) -> bool:
        """Typed in direct messages: with the bot, or between other people."""
        return is_direct_message(self.channel_id)

    def left_s(self, at_most_s: float) -> float:
        return min(at_most_s, max(0.05, self.began_s + COMMIT_S - STORING_S - asyncio.get_running_loop().time()))


def team_of(body: Mapping[str, Any]) -> str | None:
    """The person's own workspace.

    A click in a shared channel has the bot's workspace as `team`: github.com/slackapi/java-slack-sdk/issues/1041.
    """
    user, team = body.get("user"), body.get("team")
    own = (user.get("team_id") if isinstance(user, dict) else None) or (
        team.get("id") if isinstance(team, dict) else body.get("team_id")
    )
    return own if own and isinstance(own, str) else None


@dataclass(frozen=True)
class Desk:
    """The parts for commands, built once in bot.app.

    `wake` wakes the poster. `degraded`: the faults, as in `/readyz`.
    """

    settings: Settings
    database: Database
    slack: SlackClient
    identity: BotIdentity
    reference: ReferenceBook
    races: RaceBook
    quota: QuotaBook
    reopening: Reopening
    drills: Drills
    jobs: Sequence[Job]
    people: People
    clock: Clock
    token: Token
    wake: asyncio.Event
    degraded: Callable[[], Mapping[str, str]]


CommandRights = Callable[[Desk, Invocation], Awaitable[None]]
"""Raises CommandError for people who may not run the command. Asked before any word is read."""

CommandPlan = Callable[[Desk, Invocation], Awaitable[Any]]
"""Reads the words, and changes nothing. Raises CommandError for wrong words: a line is offered only after its plan."""


CommandAnswer = Callable[[Desk, Invocation, Any], Awaitable[Message | None]]
"""Runs after the ack, with the result of the step before: `store`, else `apply`, else `plan`.

The answer is ephemeral. None after a form was opened.
"""


async def anybody(_desk: Desk, _invocation: Invocation) -> None:
    """Everybody may run the command."""


async def may_change(desk: Desk, invocation: Invocation) -> None:
    await desk.people.check_may_change(invocation, invocation.channel_id)


def admins_only(otherwise: str) -> CommandRights:
    """`otherwise`: what other people are told."""

    async def is_admin(desk: Desk, invocation: Invocation) -> None:
        await desk.people.check_is_admin(invocation, otherwise)

    return is_admin


async def as_typed(_desk: Desk, _invocation: Invocation) -> None:
    """The plan of a button: the value is read where the button is carried out."""


@dataclass(frozen=True)
class Command:
    """The steps of a command. `answer_s`: the seconds after which an answer is given up."""

    name: str
    answer: CommandAnswer
    plan: CommandPlan = as_typed
    apply: Callable[[Desk, Invocation, Any], Awaitable[Any]] | None = None
    """Before the ack: asks Slack, or opens a form. None leaves nothing to store. Raises CommandError."""
    rights: CommandRights = anybody
    changes: Callable[[Session, Invocation, Any], bool] | None = None
    """Whether a plan would change what is stored; no other line is offered.

    Raises CommandError where nothing can change.
    """
    store: Callable[[Session, Desk, Invocation, Any], Any] | None = None
    """Stores the change in one transaction, under the channel's lock, before the ack. Raises CommandError."""
    moves_person: bool = False
    """Whether the person's stored rows first move from the person's id to the direct message with the bot.

    Under the person's id a pause or a mute would hold nothing back, and each alert would come a second time.
    """
    answer_s: float = COMMAND_ANSWER_S

    @property
    def is_a_change(self) -> bool:
        return self.apply is not None or self.store is not None

    async def commit(self, desk: Desk, invocation: Invocation) -> Any:
        """Carry the command out, as far as something changes. Raises CommandError."""
        if not self.is_a_change:
            return None
        await self.rights(desk, invocation)
        done, store = await self.plan(desk, invocation), self.store
        if self.apply is not None:
            done = await self.apply(desk, invocation, done)
        if store is None or (self.apply and done is None):
            return done
        is_moved = self.moves_person and invocation.is_direct and await _is_own_direct(desk, invocation)

        def alone(session: Session) -> Any:
            channel_lock.take(session, invocation.channel_id)
            if is_moved:
                move_person(session, invocation.user_id, invocation.channel_id)
            return store(session, desk, invocation, done)

        return await desk.database.write(alone)

    async def would_change(self, desk: Desk, invocation: Invocation) -> bool:
        """Raises CommandError where the line is refused."""
        planned, changes = await self.plan(desk, invocation), self.changes
        return changes is None or await desk.database.read(lambda session: changes(session, invocation, planned))

    async def say(self, desk: Desk, invocation: Invocation, committed: Any = None) -> Message | None:
        """The answer; of a command that changes nothing, with its plan. Raises CommandError."""
        if not self.is_a_change:
            await self.rights(desk, invocation)
            committed = await self.plan(desk, invocation)
        return await self.answer(desk, invocation, committed)


async def _is_own_direct(desk: Desk, invocation: Invocation) -> bool:
    """Whether a direct message is between the person and the bot, as far as Slack says in time.

    At Home an admin presses buttons for the direct messages of other people too.
    """
    channel_id, left_s = invocation.channel_id, invocation.left_s(MEMBERSHIP_S)
    if not invocation.from_home:
        return await is_member(desk.slack, channel_id, left_s) is not False
    return invocation.user_id in (await members(desk.slack, channel_id, left_s) or ())


def says(words: Callable[[Any], Message]) -> CommandAnswer:
    """The answer made from the result of the step before, and nothing else."""

    async def answer(_desk: Desk, _invocation: Invocation, done: Any) -> Message:
        return words(done)

    return answer


async def by_row(_desk: Desk, invocation: Invocation) -> int:
    """The plan of a button that carries the number of a row. Other words give 0: no row has this number."""
    return int(invocation.text) if _NUMBER.fullmatch(invocation.text) else 0


def no_words(command: str, told: str = "") -> CommandPlan:
    """The plan of a command without words. Raises CommandError, with a button for the command alone."""

    async def plan(_desk: Desk, invocation: Invocation) -> int:
        """The page."""
        words, page = read_list_words(invocation.text)
        if not SAYING_NOTHING.issuperset(words.casefold().split()):
            raise CommandError(
                f"Type /racing {command} without further words. {told}".strip(), lines={command: command}
            )
        return page

    return plan


async def reader_of(desk: Desk, invocation: Invocation) -> AnswerReader:
    """Without Slack's answer the person is no admin."""
    is_admin = await desk.people.is_admin(invocation)
    return AnswerReader(is_admin is True, tuple(sorted(desk.people.admin_users)), utc_today(desk.clock()))

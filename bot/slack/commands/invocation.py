"""A typed command, and the parts for answering the command."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.clock import Clock, Token
from bot.db.engine import Database
from bot.events.days import utc_today
from bot.operations.drill_run import Drills
from bot.operations.jobs.job import Job
from bot.outbox.message import Message
from bot.outbox.resume import Reopening
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack.bot_identity import BotIdentity
from bot.slack.messages.answers.failure_words import AnswerReader
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.permissions import People
from bot.slack.web_client import SlackClient

COMMIT_S = 2.2
"""Slack waits three seconds for the ack."""

COMMAND_ANSWER_S = 25.0
"""A longer answer is given up, and the person is told."""

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
    progress: Progress = field(default_factory=Progress, compare=False)
    began_s: float = math.inf
    """When the commit began, by the loop's clock."""

    def left_s(self, at_most_s: float) -> float:
        return min(at_most_s, max(0.05, self.began_s + COMMIT_S - STORING_S - asyncio.get_running_loop().time()))


def begun(invocation: Invocation) -> Invocation:
    return replace(invocation, began_s=asyncio.get_running_loop().time())


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


CommandCommit = Callable[[Desk, Invocation], Awaitable[Any]]
"""Runs before the ack and changes stored data. Raises CommandError for wrong words."""

CommandCheck = Callable[[Desk, Invocation], Awaitable[None]]
"""Raises CommandError for wrong words, and changes nothing. A line is offered only after its check."""

CommandChanges = Callable[[Desk, Invocation], Awaitable[bool]]
"""True if a line would change stored data: other lines are never offered. Raises CommandError as CommandCheck does."""

CommandAnswer = Callable[[Desk, Invocation, Any], Awaitable[Message | None]]
"""Runs after the ack with CommandCommit's result, or None. The answer is ephemeral.

None after a form was opened.
"""


@dataclass(frozen=True)
class Command:
    """A line of the table: source of registration, help and manifest.

    `examples`: lines after /racing. `details`: a line of help on each of the harder words. `mistakes`: frequent
    mistakes, for the help. `answer_s`: a longer answer is given up. `group`: None for buttons, left out by the help.
    """

    name: str
    usage: str
    summary: str
    answer: CommandAnswer
    commit: CommandCommit | None = None
    check: CommandCheck | None = None
    changes: CommandChanges | None = None
    examples: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    mistakes: str = ""
    answer_s: float = COMMAND_ANSWER_S
    group: HelpGroup | None = None


async def reader_of(desk: Desk, invocation: Invocation) -> AnswerReader:
    """Without Slack's answer the person is no admin."""
    is_admin = await desk.people.is_admin(invocation)
    return AnswerReader(is_admin is True, tuple(sorted(desk.people.admin_users)), utc_today(desk.clock()))

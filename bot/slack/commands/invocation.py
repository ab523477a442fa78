"""What a person typed, and what a command needs to answer it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.clock import Clock
from bot.db.engine import Database
from bot.operations.drill_run import Drills
from bot.outbox.message import Message
from bot.outbox.resume import Reopening
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack.bot_identity import Identity
from bot.slack.permissions import People
from bot.slack.web_client import SlackClient

COMMIT_S = 2.2
"""Of the three seconds that Slack waits for the ack."""

ANSWER_S = 25.0
"""An answer that takes longer is given up, with a word to whoever waits for the answer."""

STORING_S = 0.3
"""Of these, what is left for storing when Slack has been asked all there is to ask."""


@dataclass
class Progress:
    """How far a command is that takes long: `say`, once the command has set it, gives words for it at any moment."""

    say: Callable[[], Awaitable[str]] | None = None


@dataclass(frozen=True)
class Invocation:
    """A slash command as it was typed. `text` is what follows the command; `reference` finds it in the log."""

    text: str
    channel_id: str
    user_id: str
    reference: str
    trigger_id: str | None = None
    progress: Progress = field(default_factory=Progress, compare=False)
    began_s: float = field(default_factory=time.monotonic, compare=False)

    def left_s(self, at_most_s: float) -> float:
        """How long a call of Slack's may take before the ack: what takes longer is known to be Slack's doing."""
        return min(at_most_s, max(0.05, self.began_s + COMMIT_S - STORING_S - time.monotonic()))


@dataclass(frozen=True)
class Desk:
    """What commands work with. Built once, in bot.app.

    `wake` tells the poster that there may be something to post. `degraded` says what is wrong, as `/readyz` does.
    """

    settings: Settings
    database: Database
    slack: SlackClient
    identity: Identity
    reference: ReferenceBook
    races: RaceBook
    quota: QuotaBook
    reopening: Reopening
    drills: Drills
    people: People
    clock: Clock
    wake: asyncio.Event
    degraded: Callable[[], Mapping[str, str]]


Commit = Callable[[Desk, Invocation], Awaitable[Any]]
"""Runs before the ack and changes what is stored; raises CommandError where the text can't be understood."""

Check = Callable[[Desk, Invocation], Awaitable[None]]
"""Raises CommandError where the command would because of its words, and changes nothing. What passes may be offered."""

Changes = Callable[[Desk, Invocation], Awaitable[bool]]
"""Whether a line would change what is stored: if not, the line is never offered. Raises CommandError as the Check."""

Answer = Callable[[Desk, Invocation, Any], Awaitable[Message | None]]
"""Runs after the ack, with what Commit returned (None without one), and gives the answer, shown to its reader only.

None where there is nothing to say, because a form was opened.
"""


@dataclass(frozen=True)
class Command:
    """One command, as a line of the table: registered, documented and listed in the manifest from here.

    `examples` are lines as they are typed after /racing, and `mistakes` is what people often get wrong: for its help.
    `answer_s`: an answer that takes longer is given up.
    """

    name: str
    usage: str
    summary: str
    answer: Answer
    commit: Commit | None = None
    check: Check | None = None
    changes: Changes | None = None
    examples: tuple[str, ...] = ()
    mistakes: str = ""
    answer_s: float = ANSWER_S

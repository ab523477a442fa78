"""Checks that warnings reach admins: ADMIN_CHANNEL takes posts, and ADMIN_USERS are people.

A refused post tells the same in between (bot.outbox.claim_outcomes).
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.channels.conditions.event_conditions import is_direct_message, is_person
from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import SlackError, StorageError
from bot.logs import get_logger
from bot.outbox import held_queues
from bot.outbox.held_channels import Reopening, close_channel
from bot.outbox.notices import Notices
from bot.slack.web_client import SlackClient
from bot.slack.workspace import problem_of_channel, problem_of_person

log = get_logger(__name__)

ADMIN_CHECK_EVERY_S = 300.0

ADMIN_RECHECK_S = 10.0
"""The interval while Slack or the database does not answer."""


@dataclass(frozen=True)
class AdminCheck:
    database: Database
    slack: SlackClient
    notices: Notices
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def run(self) -> None:
        while True:
            is_said = await self.check()
            await asyncio.sleep(ADMIN_CHECK_EVERY_S if is_said else ADMIN_RECHECK_S)

    async def check(self) -> bool:
        """True if Slack answered and the outcome is stored. Without an answer nothing changes."""
        try:
            await self._check_people()
            await self._check_channel()
        except (SlackError, StorageError) as error:
            log.info("admins_not_checked", reason=str(error))
            return False
        return True

    async def _check_people(self) -> None:
        places = (self.notices.admin_channel, *self.notices.admin_users)
        for user_id in (place for place in places if place and is_person(place)):
            try:
                problem = await problem_of_person(self.slack, user_id)
            except SlackError as error:
                log.info("admin_not_looked_up", user_id=user_id, reason=str(error))
                # The last reason stays.
                problem = self.notices.unreached.get(user_id)
            if self.notices.looked_up(user_id, problem):
                log.warning("admin_not_reached", user_id=user_id, reason=problem)

    async def _check_channel(self) -> None:
        channel_id = self.notices.admin_channel
        # conversations.info would need another scope. The first post finds out.
        if channel_id is None or is_person(channel_id) or is_direct_message(channel_id):
            return
        problem = await problem_of_channel(self.slack, channel_id)
        closing = await self.database.read(partial(held_queues.closing_of, channel_id=channel_id))
        if problem is None and closing is None:
            return
        if await self.database.write(partial(self._note, channel_id=channel_id, problem=problem)):
            self.wake.set()

    def _note(self, session: Session, channel_id: str, problem: str | None) -> bool:
        """True if the stored state of the channel changed, or the channel is on trial."""
        closing, now = held_queues.closing_of(session, channel_id), self.clock()
        is_closed = closing is not None and not closing.on_trial
        if problem is not None:
            if not is_closed:
                close_channel(session, self.notices, channel_id, problem, now)
            return not is_closed
        if is_closed:
            self.reopening.try_again(session, channel_id, now)
        if closing is not None:
            self.notices.is_back(session, closing.since)
        return closing is not None

"""What the service notices about itself and tells admins, once. None of it may fail what noticed it."""

import asyncio
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.errors import StorageError
from bot.logs import get_logger
from bot.outbox.notices import Notices, Urgency
from bot.racedata.client.calls import AccountState
from bot.racedata.client.service_errors import UNLATCH, ServiceFailure
from bot.racedata.month_quota import month_after
from bot.racedata.plans import PLANS

log = get_logger(__name__)

ACCOUNT = "account"
"""Under this name the plan and window last seen are kept."""


@dataclass(frozen=True)
class Telling:
    """Tells admins through the durable queue. What can't be stored is logged, and no more."""

    database: Database
    notices: Notices
    max_body_bytes: int
    clock: Clock
    wake: asyncio.Event

    async def mismatches(self, count: int) -> bool:
        """Whether a run of signatures that no secret matches could be told."""
        return await self._tell(
            f"signature-mismatch:{self._today()}",
            f"{count} deliveries in a row carried a signature that none of my signing secrets matches: they were "
            "refused with 401, and the data service will try each again for about a day. Most likely the secret in "
            "RACING_WEBHOOK_SECRETS is not the one that this subscription was given.",
        )

    async def too_large(self) -> None:
        """A body over the cap."""
        await self._tell(
            f"too-large:{self._today()}",
            f"A delivery of more than {self.max_body_bytes} bytes was refused with 413. If it was the data service's, "
            "raise MAX_BODY_BYTES: it will send it again for about a day.",
        )

    async def circuit_open(self, error: ServiceFailure) -> None:
        """A refusal after which the client asks no more."""
        period = self.clock().strftime("%Y-%m") if error.code == "quota_exceeded" else self._today()
        which = "quota" if error.code == "quota_exceeded" else "key"
        await self._tell(
            f"refused:{error.code}:{period}",
            f"{error.told} Alerts are not affected. {self._until_words(which)} run: {UNLATCH} {which}",
            Urgency.CRITICAL,
        )

    def _until_words(self, which: str) -> str:
        """Until when nothing new is read, and the beginning of what an admin can do."""
        if which == "key":
            return "/racecard and /results can read nothing new until the key is changed. If the key is right,"
        turns = month_after(self.clock().strftime("%Y-%m"))
        until = f"{turns.day} {turns:%B}"
        return f"/racecard and /results can read nothing new before {until}. If the allowance was raised,"

    async def account(self, _before: AccountState, now: AccountState) -> bool:
        """Whether it could be noted that plan or window are not what this process saw last.

        Admins hear of a change once, restart or not; what could not be noted is tried again with the next answer.
        """
        try:
            await self.database.write(partial(self._note_account, now=now))
        except StorageError as error:
            log.warning("account_not_noted", plan=now.plan, window=now.window, reason=str(error))
            return False
        self.wake.set()
        return True

    async def last_account(self) -> AccountState:
        """What was noted last; empty before the first answer, or where it can't be read."""
        try:
            kept = await self.database.read(partial(named_values.get, name=ACCOUNT))
        except StorageError as error:
            log.warning("account_not_read", reason=str(error))
            return AccountState()
        return AccountState(plan=kept[0].get("plan"), window=kept[0].get("window")) if kept else AccountState()

    def _note_account(self, session: Session, now: AccountState) -> None:
        account = {"plan": now.plan, "window": now.window}
        kept = named_values.get(session, ACCOUNT)
        if kept is not None and kept[0] == account:
            return
        named_values.put(session, ACCOUNT, account, self.clock())
        log.info("account", plan=now.plan, window=now.window)
        if kept is not None:
            before, since = kept
            allowances = _allowances(before.get("plan"), now.plan)
            self.notices.tell(
                session,
                f"account:{now.plan}:{now.window}:after:{since.isoformat()}",
                f"The data service now serves us under the plan {now.plan} (window {now.window}); "
                f"before it was {before.get('plan')} ({before.get('window')}).{allowances}",
                urgency=Urgency.NOTE,
            )

    async def _tell(self, key: str, words: str, urgency: Urgency | None = None) -> bool:
        """Whether it could be stored."""
        try:
            if await self.database.write(partial(self.notices.tell, key=key, words=words, urgency=urgency)):
                self.wake.set()
        except StorageError as error:
            log.warning("admins_not_told", key=key, words=words, reason=str(error))
            return False
        return True

    def _today(self) -> str:
        return self.clock().date().isoformat()


def _allowances(before: str | None, now: str | None) -> str:
    """What another plan allows, in a sentence; nothing where the plan is the same, or not known."""
    if before == now or before not in PLANS or now not in PLANS:
        return ""
    allowed, was = PLANS[now].requests_per_month, PLANS[before].requests_per_month
    return f" The plan allows {allowed:,} requests a month; before, {was:,}."

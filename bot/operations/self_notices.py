"""Notices about the service itself, for admins, each once. A failed notice never fails its caller."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.errors import StorageError
from bot.events.word_rows import sentence_rows
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency
from bot.racedata.client.calls import AccountState
from bot.racedata.client.circuit_breakers import RATE, UNAUTHORIZED
from bot.racedata.client.service_errors import BREAKER_WORDS, ServiceFailure
from bot.racedata.month_quota import PLANS, month_after, month_key

log = get_logger(__name__)

notice_rows = partial(sentence_rows, "bot.operations", "notices.ini")


def notice_words(name: str, /, **facts: object) -> str:
    """The words of a notice to admins, from `notices.ini`."""
    return notice_rows()[name]["words"].format(**facts)


def key_of_refusal(cause: str, month: str) -> str:
    """The key of a refusal's notice. Admins hear of a cause once a month, from whichever part of the bot."""
    return f"refused:{cause}:{month}"


@dataclass(frozen=True)
class SelfNotices:
    """An unstorable notice is logged."""

    database: Database
    notices: Notices
    clock: Clock
    wake: asyncio.Event

    async def circuit_open(self, error: ServiceFailure) -> None:
        """Each refusal of a key is news, because the key is another. The quota's job may have told of a spent quota."""
        month = month_key(self.clock())
        if error.cause not in BREAKER_WORDS:
            until = self.clock() + timedelta(seconds=error.rate_wait_s)
            await self._tell(key_of_refusal(RATE, month), notice_words("rate-limited", until=until), Urgency.WARNING)
            return
        is_of_key, which = error.cause == UNAUTHORIZED, BREAKER_WORDS[error.cause]
        name = "key-refused" if is_of_key else "quota-refused"
        words = notice_words(name, told=error.told, which=which, turns=month_after(month))
        await self._tell(key_of_refusal(error.cause, month), words, Urgency.CRITICAL, is_news=is_of_key)

    async def job_undone(self, job: Job, reason: str, done_at: datetime | None) -> None:
        """`done_at`: of the last good run by any replica, if there was one."""
        since = f"since {done_at:%Y-%m-%d %H:%M} UTC" if done_at else "since I was started"
        key = f"job-undone:{job.id}:{done_at.isoformat() if done_at else 'never'}"
        await self._tell(key, notice_words("job-undone", since=since, job=job, reason=reason), Urgency.WARNING)

    async def account(self, now: AccountState) -> bool:
        """True if the present plan and window were told; otherwise the next answer tells.

        Admins hear of one change a day, across restarts: answers may take turns in their plan.
        """
        try:
            is_told = await self.database.write(partial(self._note_account, now=now))
        except StorageError as error:
            log.warning("account_not_noted", plan=now.plan, window=now.window, reason=str(error))
            return False
        self.wake.set()
        return is_told

    def _note_account(self, session: Session, now: AccountState) -> bool:
        before = named_values.load(session, Mark.ACCOUNT, AccountState)
        # The first answer since the start may lack one of the two.
        now = before.model_copy(update=now.model_dump(exclude_none=True)) if before else now
        if before == now:
            return True
        if before is not None:
            allowances = _allowances(before.plan, now.plan)
            words = notice_words("account", now=now, before=before, allowances=allowances)
            if not self.notices.tell(session, f"account:{self._today()}", words, urgency=Urgency.NOTE):
                return False
        named_values.put(session, Mark.ACCOUNT, now.model_dump(), self.clock())
        log.info("account", plan=now.plan, window=now.window)
        return True

    async def tell_today(self, name: str, /, **facts: object) -> bool:
        urgency = Urgency(notice_rows()[name]["urgency"])
        return await self._tell(f"{name}:{self._today()}", notice_words(name, **facts), urgency)

    async def _tell(self, key: str, words: str, urgency: Urgency, *, is_news: bool = False) -> bool:
        def tell(session: Session) -> bool:
            if is_news:
                told_once.free(session, [key])
            return self.notices.tell(session, key, words, urgency=urgency)

        try:
            if await self.database.write(tell):
                self.wake.set()
        except StorageError as error:
            log.warning("admins_not_told", key=key, words=words, reason=str(error))
            return False
        return True

    def _today(self) -> str:
        return self.clock().date().isoformat()


def _allowances(before: str | None, now: str | None) -> str:
    if before == now or before not in PLANS or now not in PLANS:
        return ""
    allowed, was = PLANS[now].requests_per_month, PLANS[before].requests_per_month
    return f" The plan allows {allowed:,} requests a month; before, {was:,}."

"""Reads the quota and gives each warning once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import ServiceError
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.quota_warnings import QuotaWarning, find_warnings, most_used, what_helps
from bot.operations.self_notices import KEY_REFUSED
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency
from bot.racedata import quota_book
from bot.racedata.client.service_errors import CircuitOpen, Unauthorized, UpgradeRequired
from bot.racedata.month_quota import QuotaReading, UsageRow
from bot.racedata.quota_book import QuotaBook
from bot.settings import Settings

log = get_logger(__name__)

UNREAD_AFTER = timedelta(days=1)
"""After a day without a reading, admins hear of missing warnings."""

REFUSED_WITHIN = timedelta(days=30)
"""An older refusal is no news: notices are kept for ever, also of versions without an all clear."""


@dataclass(frozen=True)
class QuotaCheck:
    quota_book: QuotaBook
    notices: Notices
    database: Database
    settings: Settings
    clock: Clock

    @property
    def job(self) -> Job:
        return Job("check_quota", "Quota read", self.settings.quota_check_s, self.run)

    async def run(self) -> None:
        try:
            reading = await self.quota_book.read()
        except ServiceError as error:
            if not isinstance(error, CircuitOpen | Unauthorized):
                await self.database.write(partial(self._tell_unread, error=error))
            if isinstance(error, UpgradeRequired):
                # No run of this job can be good before the plan changes.
                return
            raise
        if refused := await self.database.read(self._key_refusals):
            await self.database.write(partial(self._tell_taken, refused=refused))
        news = await self.database.read(partial(self._news, reading=reading))
        if news:
            rows = await self._by_endpoint() if any(warning.names_use for warning in news) else ()
            await self.database.write(partial(self._tell, news=news, reading=reading, rows=rows))

    def _news(self, session: Session, reading: QuotaReading) -> list[QuotaWarning]:
        found = find_warnings(session, reading, self.settings.quota_warn_at)
        news = [warning for warning in found if not told_once.is_noted(session, warning.key)]
        covered = {key for warning in news for key in warning.covers}
        return [warning for warning in news if warning.key not in covered]

    async def _by_endpoint(self) -> Sequence[UsageRow]:
        """Use by endpoint; empty if unknown, because no warning waits for an answer."""
        try:
            return await self.quota_book.by_endpoint()
        except ServiceError as error:
            log.info("usage_by_endpoint_not_read", reason=str(error))
            return ()

    def _tell(
        self, session: Session, news: Sequence[QuotaWarning], reading: QuotaReading, rows: Sequence[UsageRow]
    ) -> None:
        for warning in news:
            use = most_used(rows, quota_book.spent(session, reading.month).requests) if warning.names_use else ""
            helps = what_helps(reading, self.settings) if warning.needs_help else ""
            words = " ".join(filter(None, (warning.words, use, helps)))
            if self.notices.tell(session, warning.key, words, urgency=warning.urgency):
                told_once.note(session, warning.covers, self.clock())

    def _tell_taken(self, session: Session, refused: Sequence[str]) -> None:
        words = "The data service takes the key again. /racecard and /results read what is new."
        if withdrawn := told_once.withdraw(session, refused, self.clock()):
            self.notices.tell(session, f"taken-after:{withdrawn[-1]}", words, urgency=Urgency.ALL_CLEAR)

    def _tell_unread(self, session: Session, error: ServiceError) -> None:
        read_at = quota_book.last_read_at(session)
        is_overdue = read_at is not None and self.clock() - read_at > UNREAD_AFTER
        if is_overdue or (read_at is None and isinstance(error, UpgradeRequired)):
            was_read = f"was last read on {read_at:%Y-%m-%d %H:%M} UTC" if read_at else "can't be read"
            words = (
                f"The quota {was_read}, because /account/usage gives no answer that I can use ({error}). I can't warn "
                "of a quota that runs out. Alerts go on."
            )
            key = f"quota-unread:{read_at.isoformat() if read_at else 'never'}"
            self.notices.tell(session, key, words, urgency=Urgency.WARNING)

    def _key_refusals(self, session: Session) -> list[str]:
        """Notices of a refused key without an all clear."""
        since = f"{KEY_REFUSED}{(self.clock() - REFUSED_WITHIN).date().isoformat()}"
        return [key for key in told_once.standing(session, KEY_REFUSED) if key >= since]

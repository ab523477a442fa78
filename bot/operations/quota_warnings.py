"""The job that reads the quota, and its warnings. Each warning has a key, and is told once by the key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import ServiceError
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.jobs.scheduler import UNDONE_FOR
from bot.operations.self_notices import key_of_refusal, notice_words
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency
from bot.racedata import quota_book
from bot.racedata.client.circuit_breakers import QUOTA, RATE, UNAUTHORIZED
from bot.racedata.client.service_errors import Spared, UpgradeRequired
from bot.racedata.month_quota import (
    PLANS,
    QuotaReading,
    UsageRow,
    in_figures,
    month_after,
    month_before,
    month_key,
)
from bot.racedata.quota_book import Figure, QuotaBook, days_of, samples
from bot.settings import Settings

log = get_logger(__name__)

LOW_PERCENT = 25
"""Percent of the allowance. Below, no forecast is told.

Source: kubernetes-mixin, storage_alerts.libsonnet: a volume is low *and* predicted to fill up.
"""

ENDPOINTS_NAMED = 3
ENDPOINT_NAME_MAX = 60

TURNED = "turned"

URGENCIES = (
    (100, Urgency.CRITICAL, "Used up."),
    (95, Urgency.WARNING, "Almost used up."),
    (80, Urgency.WARNING, "Running low."),
    (0, Urgency.NOTE, ""),
)


@dataclass(frozen=True)
class QuotaWarning:
    """`covers`: keys of warnings included in the words. `needs_help`: advice follows.

    `of_use`: of the month's use, so the busiest endpoints follow. The most severe of these stands for the milder.
    """

    key: str
    urgency: Urgency
    words: str
    of_use: bool = False
    covers: tuple[str, ...] = ()
    needs_help: bool = False


def most_used(rows: Sequence[UsageRow], own: int) -> str:
    """`own`: requests counted by this bot."""
    most = sorted((row for row in rows if row.requests), key=lambda row: -(row.requests or 0))[:ENDPOINTS_NAMED]
    named = ", ".join(f"{row.label[:ENDPOINT_NAME_MAX]} ({row.requests:,})" for row in most)
    counted = f"Requests for races that this bot counted this month: {own:,}." if own else ""
    return _said(f"Most requests went to {named}." if most else "", counted)


def what_helps(reading: QuotaReading, settings: Settings) -> str:
    allowances = sorted((plan.requests_per_month, name) for name, plan in PLANS.items())
    named = ", ".join(f"{name} ({allowed:,})" for allowed, name in allowances if allowed > (reading.limit or 0))
    return _said(
        reading.tier.words,
        "" if settings.racing_day_path else "RACING_DAY_PATH, where you know that path, reads a day by one request.",
        f"COMMAND_QUOTA_SHARE is {settings.command_quota_share}: with less, commands spend less.",
        f"Plans with more requests a month: {named}." if named and reading.plan in PLANS else "",
    )


def _said(*sentences: str | None) -> str:
    return " ".join(filter(None, sentences))


def _turn(session: Session, reading: QuotaReading) -> Iterator[QuotaWarning]:
    before = month_before(reading.month)
    warned = {*told_once.standing(session, _notice_key(before, ""))} - {_notice_key(before, TURNED)}
    if reading.limit is not None and (warned or told_once.is_noted(session, key_of_refusal(QUOTA, before))):
        words = f"A new month has begun: {_used(reading)}. Everything is read as usual."
        yield QuotaWarning(_notice_key(reading.month, TURNED), Urgency.ALL_CLEAR, words)


def _of_use(reading: QuotaReading, thresholds: Sequence[int]) -> Iterator[QuotaWarning]:
    """By forecast, then the highest reached threshold: the mildest first."""
    expected = reading.expected
    state = _said(f"The data service's quota for {reading.month}: {_used(reading)}.", _to_come(reading))
    needs_help = expected is None or expected.may_run_out_on is not None or reading.is_spent
    make = partial(QuotaWarning, of_use=True, needs_help=needs_help)
    percent = reading.percent or 0
    if expected and expected.may_run_out_on and percent >= LOW_PERCENT:
        yield make(_key(reading, "may-run-out"), Urgency.NOTE, f"May not last. {state}")
        if expected.runs_out_on:
            yield make(_key(reading, "runs-out"), Urgency.WARNING, f"Not expected to last. {state}")
    reached = [_key(reading, one) for one in sorted(set(thresholds)) if percent >= one]
    if not reached:
        return
    urgency, lead = next((urgency, lead) for least, urgency, lead in URGENCIES if percent >= least)
    key = key_of_refusal(QUOTA, reading.month) if reading.is_spent else reached.pop()
    # From the last tier on, a warning that needs help says that nothing is asked for.
    if needs_help and not reading.tier.purposes:
        reached.append(key_of_refusal(Spared.__name__, reading.month))
    yield make(key, urgency, _said(lead, state), covers=tuple(reached))


def _jumps(session: Session, reading: QuotaReading) -> Iterator[QuotaWarning]:
    names: tuple[Figure, ...] = ("errors", "refusals")
    kept = samples(session)
    for name in names:
        if (jump := days_of(kept, name).jump) is None:
            continue
        most = reading.published.refusal_kinds[:ENDPOINTS_NAMED] if name == "refusals" else ()
        kinds = ", ".join(f"{count:,} {kind[:40]}" for kind, count in most)
        words = _said(
            notice_words("jump", name=name, jump=jump),
            f"By kind, this month: {kinds}." if kinds else "",
            "/usage shows each day.",
        )
        yield QuotaWarning(f"quota-jump:{name}:{reading.taken_at.date().isoformat()}", Urgency.WARNING, words)


def _key(reading: QuotaReading, what: str | int) -> str:
    """Another limit, such as a new plan's, makes another key."""
    return _notice_key(reading.month, f"{what}:{reading.limit}")


def _to_come(reading: QuotaReading) -> str:
    expected = reading.expected
    if reading.is_spent:
        return notice_words("quota-spent", turns=month_after(reading.month))
    if expected is None:
        return ""
    has_room = expected.may_run_out_on is None
    return f"Forecast: {in_figures(expected)}.{' The month has room for that.' if has_room else ''}"


def _used(reading: QuotaReading) -> str:
    return f"{reading.shown} of {reading.limit:,} requests are used ({reading.percent}%)"


def _ask_for_limit(reading: QuotaReading) -> str:
    unknown = f'The data service names a plan that I don\'t know ("{reading.plan}")'
    return notice_words("limit-unknown", plan=unknown if reading.plan else "No plan is known")


def _notice_key(month: str, what: str | int) -> str:
    """For example "quota:2026-11:80"."""
    return f"quota:{month}:{what}"


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
        except UpgradeRequired as error:
            # This job can't succeed before the plan changes.
            await self.database.write(partial(self._tell_beyond_plan, error=error))
            return
        is_refused = await self.quota_book.is_refused()
        has_room = bool(reading.tier.purposes) and not is_refused
        await self.database.write(partial(self._tell_over, month=reading.month, has_room=has_room))
        news = await self.database.read(partial(self._news, reading=reading, is_refused=is_refused))
        if news:
            rows = await self._by_endpoint() if any(warning.of_use for warning in news) else ()
            await self.database.write(partial(self._tell, news=news, reading=reading, rows=rows))

    def _news(self, session: Session, reading: QuotaReading, *, is_refused: bool) -> list[QuotaWarning]:
        """`is_refused`: the service takes no requests for the quota's sake, perhaps until its own month turns."""
        found = [*(() if is_refused else _turn(session, reading)), *_jumps(session, reading)]
        if not reading.is_readable:
            key = f"quota:not-readable:{reading.month}"
            found.append(QuotaWarning(key, Urgency.WARNING, notice_words("usage-unread")))
        if reading.limit is None:
            found.append(QuotaWarning("quota:limit-unknown", Urgency.NOTE, _ask_for_limit(reading)))
        else:
            found += _of_use(reading, self.settings.quota_warn_at)
        news = [warning for warning in found if not told_once.is_noted(session, warning.key)]
        of_use = [warning for warning in news if warning.of_use]
        milder = tuple(warning.key for warning in of_use[:-1])
        return [
            *(warning for warning in news if not warning.of_use),
            *(replace(warning, covers=warning.covers + milder) for warning in of_use[-1:]),
        ]

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
            use = most_used(rows, quota_book.spent(session, reading.month).requests) if warning.of_use else ""
            helps = what_helps(reading, self.settings) if warning.needs_help else ""
            words = _said(warning.words, use, helps)
            if self.notices.tell(session, warning.key, words, urgency=warning.urgency):
                told_once.note(session, warning.covers, self.clock())

    def _tell_over(self, session: Session, *, month: str, has_room: bool) -> None:
        """The all clear of refusals that are over. The service has answered, so the key and requests are taken.

        The quota's is told once a day: answers may take turns in their plan, and so in their allowance.
        """
        now, both = self.clock(), (month_before(month), month)
        for cause, months, what, once_in in (
            (UNAUTHORIZED, both, "takes the key again", now.isoformat()),
            (RATE, both, "takes requests again", now.isoformat()),
            (QUOTA, (month,) if has_room else (), "has requests left for this month again", now.date().isoformat()),
        ):
            key = f"over:{cause}:{once_in}"
            refusals = [key_of_refusal(cause, one) for one in months]
            if not told_once.is_noted(session, key) and told_once.free(session, refusals):
                self.notices.tell(session, key, notice_words("over", what=what), urgency=Urgency.ALL_CLEAR)

    def _tell_beyond_plan(self, session: Session, error: UpgradeRequired) -> None:
        self._tell_over(session, month=month_key(self.clock()), has_room=False)
        read_at = quota_book.last_read_at(session)
        # Answers of the service may alternate between two plans.
        if read_at is None or self.clock() - read_at > UNDONE_FOR:
            key = f"quota-unread:{read_at.isoformat() if read_at else 'never'}"
            words = notice_words("usage-beyond-plan", told=error.told)
            self.notices.tell(session, key, words, urgency=Urgency.WARNING)

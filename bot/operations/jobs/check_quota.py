"""Reads the quota and tells admins, once a month for each threshold, before somebody else finds out for them."""

from collections.abc import Sequence

from sqlmodel import Session

from bot.book.quota import QuotaBook
from bot.domain.clock import Clock
from bot.domain.quota import QuotaReading, forecast, month_before, thresholds_reached
from bot.logs import get_logger
from bot.outbox.notices import Notices
from bot.storage import quota, state
from bot.storage.engine import Database

log = get_logger(__name__)

_LIMIT_SEEN = "quota.limit_seen"


async def check_quota(
    quota_book: QuotaBook, notices: Notices, database: Database, thresholds: Sequence[int], clock: Clock
) -> None:
    """Read the quota once, and tell what is news. Raises ServiceError and StorageError: the scheduler says so."""
    reading = await quota_book.read()
    await database.write(lambda session: _tell(session, notices, reading, thresholds, clock))


def _tell(session: Session, notices: Notices, reading: QuotaReading, thresholds: Sequence[int], clock: Clock) -> None:
    if reading.limit is None:
        notices.tell(session, "quota:limit-unknown", _ask_for_limit(reading))
        return
    _tell_of_turn(session, notices, reading)
    reached = thresholds_reached(reading.used, reading.limit, thresholds)
    if not reached:
        return
    keys = [_key(session, reading, threshold, clock) for threshold in reached]
    if notices.tell(session, keys[-1], _warning(reading, clock)):
        # The highest says it all: the lower ones would only repeat it.
        quota.mark_told(session, keys[:-1], clock())


def _tell_of_turn(session: Session, notices: Notices, reading: QuotaReading) -> None:
    """Where admins were warned last month, say that a new one has begun."""
    if quota.warned(session, month_before(reading.month)):
        key = quota.notice_key(reading.month, "turned")
        notices.tell(session, key, f"A new month has begun: {_used(reading)}.")


def _key(session: Session, reading: QuotaReading, threshold: int, clock: Clock) -> str:
    """The warning's name. Under a limit that changed within the month, as with a new plan, it is another warning."""
    kept = state.get(session, _LIMIT_SEEN)
    if kept is None or kept[0]["month"] != reading.month:
        state.put(session, _LIMIT_SEEN, {"month": reading.month, "limit": reading.limit}, clock())
        return quota.notice_key(reading.month, threshold)
    changed = f":{reading.limit}" if kept[0]["limit"] != reading.limit else ""
    return quota.notice_key(reading.month, f"{threshold}{changed}")


def _warning(reading: QuotaReading, clock: Clock) -> str:
    said = [f"The data service's quota for {reading.month}: {_used(reading)}."]
    expected = forecast(reading.used, reading.limit, clock())
    if reading.left == 0:
        said.append("It is used up: requests are refused until the first of next month. Alerts go on.")
    elif expected is not None and expected.runs_out_on is not None:
        said.append(f"At this pace it runs out on {expected.runs_out_on.isoformat()}.")
    elif expected is not None:
        said.append(f"At this pace the month comes to {expected.month_total:,}, which it has room for.")
    return " ".join(said)


def _used(reading: QuotaReading) -> str:
    """Used, limit and percent, with how sure that is."""
    at_least = "" if reading.certain else "at least "
    return f"{at_least}{reading.used:,} of {reading.limit:,} requests are used ({reading.percent}%)"


def _ask_for_limit(reading: QuotaReading) -> str:
    plan = (
        f'The data service names a plan that I don\'t know ("{reading.plan}")' if reading.plan else "No plan is known"
    )
    return (
        f"{plan}, so I can't say how much of the month's quota is used, nor warn before it is gone. Set MONTHLY_QUOTA "
        "to the requests that you may make in a month."
    )

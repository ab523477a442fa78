"""`racing-bot status`: the database's figures, in the shell. The bot is not asked: `/readyz` has its faults."""

import json
from typing import Any

from bot.cli.parts import opened
from bot.clock import utc_now
from bot.deliveries.intake import place_in, unread_letters
from bot.operations.status_figures import Status, read_status
from bot.ports import Ports


async def run_status(url: str, *, as_json: bool) -> str:
    """Raises StorageError."""
    async with opened(url, reads_only=True) as database:
        # The place is of the same transaction as the figures: no delivery is counted twice.
        found, place = await database.read(lambda session: (read_status(session, utc_now, ()), place_in(session)))
        waits = await unread_letters(database, place, Ports().monotonic)
    said = as_data(found, waits[0] if waits else 0)
    if as_json:
        return json.dumps(said, ensure_ascii=False, indent=2)
    return "\n".join(f"{name.replace('_', ' ')}: {_words(value)}" for name, value in said.items())


def as_data(found: Status, in_journal: int) -> dict[str, Any]:
    """Moments are ISO 8601; deliveries and posts are of the last 24 hours. `in_journal`: unread letters."""
    return {
        "version": found.version,
        "schema": found.schema,
        "replicas": found.replicas,
        "deliveries": found.deliveries,
        "posts": found.sent.posts,
        "posts_within_s": {"p50": found.sent.p50_s, "p95": found.sent.p95_s},
        "waiting_deliveries": found.waiting_deliveries + in_journal,
        "waiting_posts": {one.channel_id: one.count for one in found.waiting_channels},
        "waiting_posts_of_all_channels": found.waiting_posts,
        "meetings_without_outcomes": found.missing,
        "races_without_a_result": found.without_result,
        "abandonments_not_taken": found.untaken.count,
        "requests_this_month": found.reading.used if found.reading else None,
        "jobs_last_done": {job: at.isoformat(timespec="seconds") for job, at in sorted(found.done.items())},
    }


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name or 'without an event'} {_words(one)}" for name, one in value.items()) or "none"
    if isinstance(value, float):
        return f"{value:.2f}"
    return "unknown" if value is None else str(value)

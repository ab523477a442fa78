"""`racing-bot restored`, after an operator put back an older database: no message is posted twice."""

from contextlib import closing
from math import ceil

from bot.cli.opened import opened
from bot.cli.parts import make_fanout, make_notices
from bot.clock import Clock, utc_now
from bot.db import replicas
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal
from bot.errors import StorageUnavailable
from bot.outbox.notices import Notices
from bot.outbox.restored import PutInDoubt, put_in_doubt
from bot.outbox.resume import Reopening
from bot.ports import Ports
from bot.settings import Settings
from bot.slack.messages.alerts.backlog_summary import waited


async def run_restored(settings: Settings) -> str:
    """Raises StorageError; the command can then be repeated."""
    async with opened(settings.database_url.get_secret_value()) as database:
        if left := await database.read(lambda session: replicas.counts_for(session, database_now(session, utc_now))):
            raise StorageUnavailable(
                "a bot runs on this database: stop the bot first. If the bot was killed, the bot "
                f"counts as running for {ceil(left.total_seconds())} more seconds. Then type the command again."
            )
        return _told(await restored(database, make_notices(settings, utc_now), utc_now))


async def restored(database: Database, notices: Notices, clock: Clock) -> PutInDoubt:
    """Read the journal, fan out, summarise messages that waited for an hour, then mark unsent messages as in doubt.

    The journal may have deliveries that the copy of the database lacks. The bot finds their posts in the channels.
    """
    with closing(Journal(database.address, Ports().monotonic)) as journal:
        intake = Intake(database, journal, clock)
        while await intake.take():
            continue
    fanout = make_fanout(database, notices, clock)
    while await fanout.run_once():
        continue
    # The same messages make a summary of the same key.
    reopening = Reopening(waited)
    while await database.write(lambda session: reopening.tell_due(session, clock)):
        continue
    return await database.write(lambda session: put_in_doubt(session, database_now(session, clock)))


def _told(doubted: PutInDoubt) -> str:
    if doubted.oldest is None:
        return "Nothing waited in this copy. Start the bot."
    return (
        f"Messages that waited in this copy: {doubted.messages}, the oldest from {doubted.oldest:%Y-%m-%d %H:%M} UTC. "
        "Start the bot: it looks for each of them in its channel, and posts those that are not there."
    )

"""`/racing unsubscribe`: regions, topics, or all; what is left is said back."""

from dataclasses import dataclass

from sqlmodel import Session

from bot.domain.filters import ChannelFilter
from bot.domain.message import Message
from bot.errors import CommandError
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.subscribe import check_may_subscribe
from bot.slack.commands.wanted import Wanted, read_wanted
from bot.slack.messages.subscriptions import region_words, unsubscribed
from bot.storage import subscriptions
from bot.storage.tables import ChannelSubscriptionRow, SubscriptionState


@dataclass(frozen=True)
class Unsubscribed:
    """How many subscriptions changed, and the filters that are left."""

    changed: int
    left: tuple[ChannelFilter, ...]


async def commit(desk: Desk, invocation: Invocation) -> Unsubscribed:
    """Remove what was named. Raises CommandError where nothing was, or where it is not there."""
    wanted = read_wanted(invocation.text)
    await check_may_subscribe(desk, invocation)
    return await desk.database.write(lambda session: _remove(session, desk, invocation.channel_id, wanted))


async def answer(_desk: Desk, _invocation: Invocation, committed: Unsubscribed) -> Message:
    """What is left."""
    return unsubscribed(committed.changed, committed.left)


def _remove(session: Session, desk: Desk, channel_id: str, wanted: Wanted) -> Unsubscribed:
    rows = subscriptions.of_channel(session, channel_id)
    if not rows:
        raise CommandError("This channel has no subscriptions. /racing subscribe GB would make one.")
    there = ", ".join(region_words(row.region) for row in rows)
    if wanted.is_bare:
        raise CommandError(
            f"Say what to end: this channel has subscriptions to {there}. For example /racing unsubscribe "
            f"{region_words(rows[0].region)}, or /racing unsubscribe all for every one of them."
        )
    unknown = [typed for typed in wanted.regions if typed not in {row.region for row in rows}]
    if unknown:
        raise CommandError(f"This channel has no subscription to {', '.join(unknown)}. It has: {there}.")
    chosen = [row for row in rows if not wanted.regions or row.region in wanted.regions]
    for row in chosen:
        _end(session, desk, row, wanted)
    left = subscriptions.of_channel(session, channel_id)
    return Unsubscribed(len(chosen), tuple(subscriptions.read_filter(row) for row in left))


def _end(session: Session, desk: Desk, row: ChannelSubscriptionRow, wanted: Wanted) -> None:
    """Take the topics out of a subscription; without topics, or with none left, remove it."""
    before = subscriptions.read_filter(row)
    topics = before.topics - wanted.topics if wanted.topics else frozenset()
    if not topics:
        subscriptions.remove(session, row.channel_id, [row.region])
        return
    subscriptions.save(
        session,
        row.channel_id,
        before.model_copy(update={"topics": topics}),
        state=SubscriptionState(row.state),
        user_id=row.created_by,
        now=desk.clock(),
    )

"""Moves a channel to another id, with the channel's subscriptions, lane, messages and history."""

from sqlalchemy import delete, select, update
from sqlmodel import Session, col

from bot.channels import channel_lock
from bot.db.engine import affected
from bot.db.tables import AuditEntry, ChannelQueue, ChannelSubscriptionRow, MutedMeetingRow, OutboxMessage
from bot.deliveries import inbox
from bot.errors import LockTaken
from bot.outbox.message_store import ALWAYS


def move_channel(session: Session, old_id: str, new_id: str) -> int:
    """How many subscriptions go on under the new id; 0 where the channel was moved before.

    Where both ids have a subscription to a region, the new id's subscription is kept: somebody chose that one last.
    A worker that is posting under the old id loses the lease, and the message is looked for under the new id. Fan-out
    does not run beside the move: its messages would be left under the old id. Raises LockTaken while it does.
    """
    if inbox.take_turn(session, lambda: ALWAYS) is None:
        raise LockTaken("another replica fans out")
    channel_lock.take(session, old_id, new_id)
    subscription, lane = col(ChannelSubscriptionRow.channel_id), col(ChannelQueue.channel_id)
    has_lane = set(session.execute(select(lane).where(lane.in_([old_id, new_id])).with_for_update()).scalars())
    if old_id in has_lane:
        # The old lane has the queue's state, with the reason.
        session.execute(delete(ChannelQueue).where(lane == new_id))
        session.execute(update(ChannelQueue).where(lane == old_id).values(channel_id=new_id))
    # Sent messages too: Slack edits and links messages under the new id only.
    session.execute(update(OutboxMessage).where(col(OutboxMessage.channel_id) == old_id).values(channel_id=new_id))
    for table in (MutedMeetingRow, AuditEntry):
        session.execute(update(table).where(col(table.channel_id) == old_id).values(channel_id=new_id))
    known = set(session.execute(select(col(ChannelSubscriptionRow.region)).where(subscription == new_id)).scalars())
    session.execute(
        delete(ChannelSubscriptionRow).where(subscription == old_id, col(ChannelSubscriptionRow.region).in_(known))
    )
    return affected(session, update(ChannelSubscriptionRow).where(subscription == old_id).values(channel_id=new_id))

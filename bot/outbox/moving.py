"""A channel that goes on under another id: its subscriptions, its lane, its posts and its history go with it."""

from sqlalchemy import delete, select, update
from sqlmodel import Session, col

from bot.storage.engine import affected
from bot.storage.tables import AuditEntry, ChannelQueue, ChannelSubscriptionRow, MutedMeetingRow, OutboxMessage


def move_channel(session: Session, old_id: str, new_id: str) -> int:
    """How many subscriptions go on under the new id; none where it is done already.

    Of a region that the new id has too, the new id's is kept: it is what somebody said last. A worker that is posting
    to the old id just now loses its lease with it, and its post is looked for under the new one.
    """
    subscription, lane = col(ChannelSubscriptionRow.channel_id), col(ChannelQueue.channel_id)
    has_lane = set(session.execute(select(lane).where(lane.in_([old_id, new_id])).with_for_update()).scalars())
    if old_id in has_lane:
        # The old lane has what waits, and why it is held.
        session.execute(delete(ChannelQueue).where(lane == new_id))
        session.execute(update(ChannelQueue).where(lane == old_id).values(channel_id=new_id))
    # Also those that were sent: they can be edited and linked to under the new id only.
    session.execute(update(OutboxMessage).where(col(OutboxMessage.channel_id) == old_id).values(channel_id=new_id))
    for table in (MutedMeetingRow, AuditEntry):
        session.execute(update(table).where(col(table.channel_id) == old_id).values(channel_id=new_id))
    known = set(session.execute(select(col(ChannelSubscriptionRow.region)).where(subscription == new_id)).scalars())
    session.execute(
        delete(ChannelSubscriptionRow).where(subscription == old_id, col(ChannelSubscriptionRow.region).in_(known))
    )
    return affected(session, update(ChannelSubscriptionRow).where(subscription == old_id).values(channel_id=new_id))

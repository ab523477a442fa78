"""Moves a channel, or a person's direct message, to another id, with queue, messages, watches and history."""

import json

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels import channel_lock, watches
from bot.db.engine import affected, table_of
from bot.db.tables import (
    Acknowledgement,
    AuditEntry,
    ChannelQueue,
    ChannelSubscriptionRow,
    MessageKind,
    MessageState,
    MutedMeetingRow,
    OutboxMessage,
    SaidRow,
)
from bot.deliveries import inbox
from bot.errors import LockTaken
from bot.events import event_store
from bot.outbox import acknowledgements
from bot.outbox.message_store import ALWAYS
from bot.outbox.states import Happened, in_order, move, write
from bot.outbox.telling_store import Bump, Bumps


def move_channel(session: Session, old_id: str, new_id: str) -> int:
    """Returns how many subscriptions go on; 0 after an earlier move.

    If both ids subscribe to a region, the new id's subscription stays, as the later choice. What both ids were told
    stays, and what waits under one id and was told under the other is not told again. A worker posting under the
    old id loses the lease, and the message is looked for under the new id. Raises LockTaken while another replica fans
    out: new messages would stay under the old id.
    """
    if inbox.take_turn(session, lambda: ALWAYS) is None:
        raise LockTaken("another replica fans out")
    channel_lock.take(session, old_id, new_id)
    subscription, queue = col(ChannelSubscriptionRow.channel_id), col(ChannelQueue.channel_id)
    has_queue = set(session.execute(select(queue).where(queue.in_([old_id, new_id])).with_for_update()).scalars())
    if old_id in has_queue:
        # The old queue has the channel's state.
        session.execute(delete(ChannelQueue).where(queue == new_id))
        session.execute(update(ChannelQueue).where(queue == old_id).values(channel_id=new_id))
    # A press locks an acknowledgement before messages too.
    _rename_told(session, old_id, new_id)
    _move_messages(session, old_id, new_id)
    for table in (MutedMeetingRow, AuditEntry):
        session.execute(update(table).where(col(table.channel_id) == old_id).values(channel_id=new_id))
    watches.move_channel(session, old_id, new_id)
    known = set(session.execute(select(col(ChannelSubscriptionRow.region)).where(subscription == new_id)).scalars())
    session.execute(
        delete(ChannelSubscriptionRow).where(subscription == old_id, col(ChannelSubscriptionRow.region).in_(known))
    )
    return affected(session, update(ChannelSubscriptionRow).where(subscription == old_id).values(channel_id=new_id))


def move_person(session: Session, person_id: str, channel_id: str) -> None:
    """A person who watches or got an escalation, from the person's id to the direct message, which is known late.

    Two ids would be two channels: every alert would come twice, and the second would tell what the first has told.
    Raises LockTaken while another replica fans out, and while a message to the person is sent.
    """
    of_person = (col(OutboxMessage.channel_id) == person_id, col(OutboxMessage.kind) == MessageKind.ESCALATION)
    has_escalation = session.execute(select(exists().where(*of_person))).scalar_one()
    if not (has_escalation or watches.has_any(session, person_id)):
        return
    queue = col(ChannelQueue.channel_id)
    queues = session.execute(select(ChannelQueue).where(queue.in_([person_id, channel_id])).with_for_update())
    found = {row.channel_id: row for row in queues.scalars()}
    if inbox.take_turn(session, lambda: ALWAYS) is None:
        raise LockTaken("another replica fans out")
    if person_id in found and found[person_id].lease_token is not None:
        raise LockTaken("a message to the person is sent")
    channel_lock.take(session, person_id, channel_id)
    if channel_id in found:
        session.execute(delete(ChannelQueue).where(queue == person_id))
    else:
        session.execute(update(ChannelQueue).where(queue == person_id).values(channel_id=channel_id))
    _move_messages(session, person_id, channel_id)
    watches.move_person(session, person_id, channel_id)


def _rename_told(session: Session, old_id: str, new_id: str) -> None:
    """Escalations of other channels go on to the new id."""
    before, after = json.dumps(old_id), json.dumps(new_id)
    for table, number, column in (
        (ChannelSubscriptionRow, ChannelSubscriptionRow.id, "filter"),
        (Acknowledgement, Acknowledgement.message_id, "asked"),
    ):
        told = table_of(table).c[column]
        named = update(table).where(in_order(told.contains(before, autoescape=True), number=col(number)))
        session.execute(named.values({column: func.replace(told, before, after)}))


def _move_messages(session: Session, old_id: str, new_id: str) -> None:
    """Slack edits and links sent messages under the new id only."""
    event_store.rename_watching(session, old_id, new_id)
    _drop_repeated_escalations(session, old_id, new_id)
    _fold_repeats(session, old_id, new_id)
    write(session, col(OutboxMessage.channel_id) == old_id, channel_id=new_id)


def _fold_repeats(session: Session, old_id: str, new_id: str) -> None:
    """Where a version has two messages, fold a waiting message into the other, unless the former alone asks."""
    without_message = {MessageState.DEAD_LETTER, MessageState.MUTED, MessageState.FOLDED}
    found = _pairs(session, old_id, new_id, "event_id")
    pairs = [pair for pair in found if without_message.isdisjoint(each.state for each in pair)]
    asking = acknowledgements.of_messages(session, [each.id for pair in pairs for each in pair])
    for pair in pairs:
        waiting = [each for each in pair if each.state == MessageState.QUEUED]
        if not waiting:
            continue
        # A message for an hour goes before a message that is due, and a message that asks stays.
        folded = min(waiting, key=lambda each: (each.id in asking, each.not_before is None))
        (bearer,) = (each for each in pair if each is not folded)
        if folded.id in asking and bearer.id not in asking:
            continue
        move(session, Happened.SUMMARISED, col(OutboxMessage.id) == folded.id, folded_into=bearer.id, detail=None)
        write(session, col(OutboxMessage.folded_into) == folded.id, folded_into=bearer.id)
        _show_instead(session, folded, bearer)


def _show_instead(session: Session, folded: OutboxMessage, bearer: OutboxMessage) -> None:
    """Moves the events that the folded message was to show beside its own."""
    number, bump = bearer.id, Bump(folded.wanted_at or folded.received_at)
    bumps = Bumps(session)
    if folded.wanted_rev:
        bumps.messages[number] = bump
    rows = session.execute(select(SaidRow).where(col(SaidRow.message_id) == folded.id)).scalars().all()
    bumps.show({(number, said.event_id): bump if said.rev else None for said in rows})
    for said in rows:
        session.delete(said)
    session.flush()
    bumps.write()


def _drop_repeated_escalations(session: Session, old_id: str, new_id: str) -> None:
    """Where an abandonment has two escalations, drop a waiting escalation."""
    pairs = _pairs(session, old_id, new_id, "follows_id")
    waiting = [[each.id for each in pair if each.state == MessageState.QUEUED] for pair in pairs]
    dropped = [ids[0] for ids in waiting if ids]
    of_dropped = delete(OutboxMessage).where(col(OutboxMessage.id).in_(dropped))
    session.execute(of_dropped.execution_options(synchronize_session=False))


def _pairs(session: Session, old_id: str, new_id: str, same: str) -> list[tuple[OutboxMessage, OutboxMessage]]:
    """A message of each channel, with the same value in a column."""
    one, other = aliased(OutboxMessage), aliased(OutboxMessage)
    pairs = (
        select(one, other)
        .join(other, getattr(other, same) == getattr(one, same))
        .where(col(one.channel_id) == old_id, col(other.channel_id) == new_id)
        .order_by(col(one.id))
    )
    return [(former, latter) for former, latter in session.execute(pairs)]

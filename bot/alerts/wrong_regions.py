"""Subscriptions to a region that is none: taken as typed while the regions were not known, looked at once they are."""

from datetime import datetime

from sqlmodel import Session

from bot.alerts.notices import Notices
from bot.racing.values import suggest
from bot.storage import audit, reference, subscriptions
from bot.storage.subscriptions import UnreadFilter
from bot.storage.tables import ChannelSubscriptionRow

BOT = "the bot"
"""Who the audit says changed it."""


def look_at_regions(session: Session, notices: Notices, now: datetime) -> None:
    """Mend what differs from a known code by letter case only; of the others the channel and admins are told, once.

    Nothing while no regions are known. Subscriptions that wait for the bot are left until they are live: nobody can be
    told there.
    """
    kept = reference.regions(session)
    if kept is None:
        return
    regions, _ = kept
    for row in subscriptions.of_other_regions(session, regions):
        _look_at(session, notices, row, regions, now)


def _look_at(
    session: Session, notices: Notices, row: ChannelSubscriptionRow, regions: tuple[str, ...], now: datetime
) -> None:
    typed = row.region
    same = [region for region in regions if region.casefold() == typed.casefold()]
    taken = {other.region for other in subscriptions.of_channel(session, row.channel_id)}
    # What can't be read is told by itself, and would be written over.
    is_read = not isinstance(subscriptions.read_filter(row), UnreadFilter)
    if len(same) == 1 and not taken.intersection(same) and is_read:
        _mend(session, row, same[0], now)
        told = (
            f"This channel was subscribed to {typed} while I could not check that. The data service calls the region "
            f"{same[0]}, so the subscription is to {same[0]} now. What came from there until now was not posted here: "
            "/results abandonments lists what is abandoned today."
        )
    else:
        meant = suggest(typed, regions)
        question = f" Did you mean {' or '.join(meant)}?" if meant else ""
        told = (
            f"This channel is subscribed to {typed}, but the data service publishes no such region, so nothing from it "
            f"arrives.{question} Edit and Remove in /racing list change it."
        )
    notices.tell_channel(session, f"region:{row.id}:{typed}", row.channel_id, told)


def _mend(session: Session, row: ChannelSubscriptionRow, region: str, now: datetime) -> None:
    before = row.region
    subscriptions.move_to_region(session, row, region, now)
    audit.add(
        session,
        at=now,
        user_id=BOT,
        channel_id=row.channel_id,
        action="mend region",
        before=f"the region {before}",
        after=f"the region {region}",
        reference=f"subscription-{row.id}",
    )

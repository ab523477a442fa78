"""A channel's filters in words for people: courses of the same name are told apart, and overridden parts are named."""

from collections.abc import Iterable
from datetime import datetime

from sqlmodel import Session

from bot.channels import pauses, subscriptions
from bot.channels.filters import Abandonments, ChannelFilter, Meeting, Overridden, abandonments_taken, overridden
from bot.racedata.lexicon import kept, told_apart


def as_shown(session: Session, filters: Iterable[ChannelFilter]) -> tuple[ChannelFilter, ...]:
    """The filters for a message alone: an ambiguous course's name is completed by the region, the country or the id."""
    return tuple(
        one.model_copy(
            update={
                "courses": told_apart(session, one.courses),
                "not_courses": told_apart(session, one.not_courses),
            }
        )
        for one in filters
    )


def abandonments_here(session: Session, channel_id: str, meeting: Meeting, now: datetime) -> Abandonments:
    rows = subscriptions.of_channel(session, channel_id)
    region = meeting.region or kept(session).region_of_course(meeting.course)
    taken = abandonments_taken(map(subscriptions.read_filter, rows), meeting.model_copy(update={"region": region}))
    if not taken:
        return Abandonments.NOT_ASKED_FOR if taken is False else Abandonments.DEPENDS_ON_REGION
    if any(row.state in subscriptions.CLOSED_STATES for row in rows):
        return Abandonments.ONCE_OPEN
    is_paused = pauses.until(session, channel_id, now) is not None
    return Abandonments.AFTER_THE_PAUSE if is_paused else Abandonments.POSTED


def overridden_in(session: Session, pairs: Iterable[tuple[ChannelFilter, ChannelFilter]]) -> tuple[Overridden, ...]:
    """For pairs of a channel's filters, the parts of the first filter that the second overrides; for messages alone."""
    lists = kept(session)
    found = [overridden(chosen, by, lists.region_of_course) for chosen, by in pairs]
    return tuple(_shown(session, one) for one in found if one)


def _shown(session: Session, found: Overridden) -> Overridden:
    (by,) = as_shown(session, [found.by])
    return found.model_copy(update={"by": by, "courses": told_apart(session, found.courses)})

"""A channel's filters for words to people: courses of the same name are told apart, and overriding filters found."""

from collections.abc import Iterable
from datetime import datetime

from sqlmodel import Session

from bot.channels import pauses, subscriptions
from bot.channels.conditions.course_condition import COURSE_FIELDS
from bot.channels.filters import Abandonments, ChannelFilter, Meeting, abandonments_taken, overrides
from bot.racedata.lexicon import kept, told_apart
from bot.slack.messages.answers.filter_words import Overriding


def as_shown(session: Session, filters: Iterable[ChannelFilter]) -> tuple[ChannelFilter, ...]:
    """The filters for a message alone: an ambiguous course's name is completed by the region, the country or the id."""
    each = [(one, {name: told_apart(session, getattr(one, name)) for name in COURSE_FIELDS}) for one in filters]
    return tuple(one.model_copy(update=courses) for one, courses in each)


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


def overriding_in(session: Session, pairs: Iterable[tuple[ChannelFilter, ChannelFilter]]) -> Overriding:
    """The second filter of each pair that brings events left out by the first. For messages alone."""
    region_of = kept(session).region_of_course
    found: dict[ChannelFilter, list[str]] = {}
    for chosen, by in pairs:
        if overrides(by, chosen, region_of):
            found.setdefault(by, []).append(chosen.region)
    return tuple(zip(as_shown(session, found), found.values(), strict=True))

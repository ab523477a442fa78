"""Finds a channel's messages of other subjects that change after news.

A meeting's message changes after a result of the meeting. Messages on races and racecards link the meeting's message.
"""

from collections.abc import Iterable, Sequence

from bot.desk.decide import Because, Release, Show, Telling, standing
from bot.desk.news import News
from bot.events.event import EventKind


def meetings_without_race(
    news: News,
    meetings: Iterable[Sequence[Telling]],
    naming: Iterable[Sequence[Telling]] = (),
    lost: Sequence[Telling] = (),
) -> list[Show]:
    """A race with a result is taken out of messages on abandoned meetings. The messages then say "rest of the meeting".

    Of the channel: `meetings` of the race, meetings `naming` the race, and the race as `lost`.
    """
    if news.event.kind is not EventKind.RESULT_RECEIVED:
        return []
    chains = [*(meetings if news.is_first else ()), *(naming if news.remarks.contradicts else ())]
    found = {one.id for chain in chains if (one := standing(chain))}
    if news.remarks.contradicts:
        found |= {one.by for one in lost if one.tells and one.withheld is Because.MEETING and one.by is not None}
    return [Show(number) for number in sorted(found)]


def hurried(news: News, waiting: Iterable[Telling]) -> list[Release]:
    """Messages of the race wait no longer, because urgent news follows."""
    return [Release(one.id) for one in waiting if one.waits] if news.is_urgent and not news.is_late else []


def linked(meeting: Telling | None, part: Sequence[Telling], *, asks: bool) -> Show | None:
    """The message on an abandoned race, or on a racecard, links the message of its abandoned meeting.

    `meeting`: the channel's message. `part`: of a race without a result, or of a card. `asks`: the channel wants
    abandonments acknowledged; the meeting's message then asks for earlier messages.
    """
    one = standing(part)
    # A race's message is edited only beside the meeting's message.
    if one is None or (meeting is None and one.kind is not EventKind.RACECARD_PUBLISHED):
        return None
    is_earlier = meeting is not None and one.kind is EventKind.RACE_ABANDONED and one.id < meeting.id
    return Show(one.id, asks_no_longer=asks and is_earlier)

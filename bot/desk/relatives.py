"""Finds messages of other subjects in a channel that show something else after news.

A meeting's message changes after a result of one of its races. Messages on its races and racecards link it.
"""

from collections.abc import Iterable

from bot.desk.decide import Because, Release, Show, Telling
from bot.desk.news import News
from bot.events.event import EventKind


def meetings_without_race(
    news: News, meetings: Iterable[Telling], naming: Iterable[Telling] = (), lost: Iterable[Telling] = ()
) -> list[Show]:
    """A race with a result is taken out of messages on abandoned meetings, which then say "rest of the meeting".

    Of the channel: `meetings` of the race, meetings `naming` the race, and the race as `lost`.
    """
    if news.event.kind is not EventKind.RESULT_RECEIVED:
        return []
    found = {one.id for one in meetings if one.stands and news.is_first}
    if news.remarks.contradicts:
        found |= {one.id for one in naming if one.stands}
        found |= {one.by for one in lost if one.tells and one.withheld is Because.MEETING and one.by is not None}
    return [Show(number) for number in sorted(found)]


def hurried(news: News, waiting: Iterable[Telling]) -> list[Release]:
    """Messages of the race wait no longer: news follows that may not wait."""
    return [Release(one.id) for one in waiting if one.waits] if news.is_urgent and not news.is_late else []


def linked(meeting: Telling | None, parts: Iterable[Telling], *, asks: bool) -> list[Show]:
    """Messages on abandoned races and on racecards link the message of their abandoned meeting.

    `meeting`: the channel's message. `parts`: the channel's tellings of races without a result and of cards. `asks`:
    the channel wants abandonments acknowledged; the meeting's message then asks for earlier messages.
    """
    standing = [one for one in parts if one.stands]
    cards = [Show(one.id) for one in standing if one.kind is EventKind.RACECARD_PUBLISHED]
    if meeting is None:
        # A race's message is edited only beside the meeting's message.
        return cards
    races = [one for one in standing if one.kind is EventKind.RACE_ABANDONED]
    return [*(Show(one.id, asks_no_longer=asks and one.id < meeting.id) for one in races), *cards]

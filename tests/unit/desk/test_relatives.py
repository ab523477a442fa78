"""Messages of other subjects that change by news."""

from datetime import timedelta

import pytest

from bot.desk.decide import Because, Release, Show
from bot.desk.news import News
from bot.desk.relatives import hurried, linked, meetings_without_race
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from tests.clock import START
from tests.unit.desk.tellings import told

RESULT, LOST, MEETING, CARD = (
    EventKind.RESULT_RECEIVED,
    EventKind.RACE_ABANDONED,
    EventKind.MEETING_ABANDONED,
    EventKind.RACECARD_PUBLISHED,
)
OF_MEETING, GIVEN_UP = told(7, MEETING), told(8, MEETING, is_dead=True)
EARLIER, LATER, ITS_CARD = told(3, LOST), told(9, LOST), told(1, CARD)


def news(kind, *, is_first=True, contradicts=None, is_late=False):
    event = RacingEvent(key=f"{kind}:rc_1", kind=kind)
    remarks = VersionRemarks(contradicts=contradicts)
    return News(event, remarks, rings=True, is_first=is_first, is_late=is_late)


@pytest.mark.parametrize(
    ("said", "meetings", "naming", "shown"),
    [
        (news(RESULT), [OF_MEETING], [], [Show(7)]),
        (news(RESULT), [GIVEN_UP], [], []),
        (news(RESULT, is_first=False), [OF_MEETING], [OF_MEETING], []),
        (news(RESULT, is_first=False, contradicts=LOST), [], [OF_MEETING], [Show(7)]),
        (news(RESULT, contradicts=MEETING), [OF_MEETING], [OF_MEETING], [Show(7)]),
        (news(LOST), [OF_MEETING], [OF_MEETING], []),
    ],
)
def test_result_is_taken_out_of_messages_on_its_abandoned_meeting(said, meetings, naming, shown):
    assert meetings_without_race(said, [meetings], [naming]) == shown


@pytest.mark.parametrize(
    ("contradicts", "is_dead", "because", "shown"),
    [
        (LOST, False, Because.MEETING, [Show(7)]),
        (LOST, True, Because.MEETING, []),
        (LOST, False, Because.SUMMARY, []),
        (None, False, Because.MEETING, []),
    ],
)
def test_result_is_taken_out_of_the_message_that_says_its_race_as_lost(contradicts, is_dead, because, shown):
    lost = told(7, LOST, is_dead=is_dead, withheld=because, by=7)
    assert meetings_without_race(news(RESULT, is_first=False, contradicts=contradicts), [], [], [lost]) == shown


def test_messages_of_the_race_wait_no_longer_for_urgent_news_alone():
    waiting = [told(1, RESULT, waits=START + timedelta(hours=1)), told(2, RESULT)]
    assert hurried(news(LOST), waiting) == [Release(1)]
    assert hurried(news(RESULT), waiting) == []
    assert hurried(news(LOST, is_late=True), waiting) == []


@pytest.mark.parametrize(
    ("meeting", "part", "asks", "shown"),
    [
        (OF_MEETING, [EARLIER], False, Show(3)),
        (OF_MEETING, [EARLIER], True, Show(3, asks_no_longer=True)),
        (OF_MEETING, [EARLIER, LATER], True, Show(9)),
        (OF_MEETING, [ITS_CARD], True, Show(1)),
        (OF_MEETING, [told(3, LOST, withheld=Because.MEETING, by=7)], True, None),
        (None, [ITS_CARD], True, Show(1)),
        (None, [EARLIER], True, None),
    ],
)
def test_message_on_a_part_of_an_abandoned_meeting_links_the_meetings_message(meeting, part, asks, shown):
    assert linked(meeting, part, asks=asks) == shown

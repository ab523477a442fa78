"""What a telling says of itself, and a loss that another event told before."""

import pytest

from bot.desk.decide import Because, Choices, Post, Show, decide
from bot.desk.news import News
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, VersionRemarks
from tests.unit.desk.tellings import told

CARD, LOST = EventKind.RACECARD_PUBLISHED, EventKind.RACE_ABANDONED
GOING = Change(field="race.going", before="Good", now="Soft")


@pytest.mark.parametrize(
    ("telling", "is_own", "unsent", "shown_by"),
    [
        (told(1, LOST), True, None, 1),
        (told(1, LOST, is_unsent=True), True, 1, 1),
        (told(1, LOST, is_dead=True), True, None, None),
        (told(1, LOST, is_link=True), False, None, 1),
        (told(1, LOST, withheld=Because.MEETING, by=7), False, None, 7),
        (told(1, LOST, withheld=Because.MEETING, by=7, is_unsent=True), False, 7, 7),
        (told(1, LOST, withheld=Because.SUMMARY, by=9), True, None, None),
        (told(1, LOST, withheld=Because.MUTED), True, None, None),
    ],
)
def test_telling_has_a_message_of_its_own_or_another_message(telling, is_own, unsent, shown_by):
    assert (telling.is_own, telling.unsent, telling.shown_by) == (is_own, unsent, shown_by)


@pytest.mark.parametrize(
    ("is_first", "is_rung", "chain", "steps"),
    [
        (True, False, [], [Show(5, edits=False)]),
        (True, True, [], [Post()]),
        (False, False, [told(1, CARD)], [Show(1)]),
        (False, True, [told(1, CARD)], [Post(), Show(1)]),
        (False, False, [told(6, CARD)], [Show(6)]),
        (False, True, [told(6, CARD)], [Post(), Show(6)]),
    ],
)
def test_loss_that_another_event_told_rings_for_a_watched_runner_alone(is_first, is_rung, chain, steps):
    remarks = VersionRemarks(changes=() if is_first else (GOING,))
    news = News(RacingEvent(key="c", kind=CARD), remarks, rings=is_first, is_first=is_first)
    assert decide(news, Choices(loss_told=5, rung=is_rung), chain) == steps


def test_ringing_change_after_the_telling_of_the_loss_is_a_message():
    remarks = VersionRemarks(changes=(GOING,))
    news = News(RacingEvent(key="c", kind=CARD), remarks, rings=True, is_first=False)
    assert decide(news, Choices(loss_told=5), [told(6, CARD)]) == [Post(), Show(6)]
    assert decide(news, Choices(loss_told=5), [told(4, CARD)]) == [Show(4)]

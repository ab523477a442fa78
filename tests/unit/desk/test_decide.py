"""A channel's messages: a row for each behaviour of docs/design/event.md, News, edit or new message."""

from datetime import timedelta

import pytest

from bot.channels.ack_request import AckRequest
from bot.desk.decide import Because, Choices, Live, Post, Release, Show, Withhold, decide
from bot.desk.news import News
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, VersionRemarks
from bot.events.races import Race, Runner
from tests.clock import START
from tests.unit.desk.tellings import told

RESULT, LOST, MEETING, CARD = (
    EventKind.RESULT_RECEIVED,
    EventKind.RACE_ABANDONED,
    EventKind.MEETING_ABANDONED,
    EventKind.RACECARD_PUBLISHED,
)
WINNER = Change(field="runner.position", of="Blue Moon", before="2", now="1", rings=True)
MOVED = Change(field="race.off", before="14:30", now="15:30", rings=True)
THIRD = Change(field="runner.position", of="Red Sky", before="3", now="2", rings=True)
GOING = Change(field="race.going", before="Good", now="Soft")
PRICE = Change(field="runner.starting_price", of="Blue Moon", now="9/4")
LATER, LATEST = START + timedelta(hours=2), START + timedelta(hours=4)
ASKED = AckRequest(minutes=10)
IS_LIVE = Live(takes=True, is_there=True, may_be_made=False)
TO_BE_LIVE = Live(takes=True, is_there=False, may_be_made=True)
NOBODY, ONCE_HERE = Choices(takes=False), Choices(takes=False, listens=False)


def event_of(kind, **said):
    runners = (Runner(horse="Blue Moon", position="1"),) if kind is RESULT else ()
    race = Race(race_id="rc_1" if kind is not MEETING else None, race_date="2026-11-20", runners=runners)
    return RacingEvent(key=f"{kind}:rc_1", kind=kind, race=race, **said)


def first(kind, contradicts=None, **said):
    return News(event_of(kind, **said), VersionRemarks(contradicts=contradicts), rings=True, is_first=True)


def later(kind, *changes, contradicts=None, again=None):
    remarks = VersionRemarks(changes=changes, contradicts=contradicts, again=again)
    rings = any(change.rings for change in changes) and not again
    return News(event_of(kind), remarks, rings=rings or contradicts is not None, is_first=False)


def late(kind, *, is_seen=True):
    return News(event_of(kind), VersionRemarks(), rings=False, is_first=False, is_late=True, is_seen=is_seen)


UNDATED = News(RacingEvent(key="r", kind=RESULT), VersionRemarks(), rings=True, is_first=True)


ABANDONED = event_of(MEETING, races=(Race(race_id="rc_1", title="Title", reason="Frost"),), reason="Frost")
OF_MEETING = ((ABANDONED, told(7, MEETING)),)
SUMMED, SUMMED_TOO = (told(number, RESULT, withheld=Because.SUMMARY, by=9) for number in (1, 2))
LOST_IN_SUMMARY = told(1, LOST, withheld=Because.SUMMARY, by=9)
MUTED = told(1, RESULT, withheld=Because.MUTED)
FOLDED = told(1, LOST, withheld=Because.MEETING, by=7)

ROWS = {
    "first version": (first(RESULT), Choices(), [], [Post()]),
    "first version, and no filter takes the event": (first(RESULT), NOBODY, [], []),
    "first version with a watched runner": (first(RESULT), Choices(takes=False, watches=True), [], [Post()]),
    "placing": (later(RESULT, WINNER), Choices(), [told(1, RESULT)], [Post(), Show(1)]),
    "placing, whatever the filters take now": (later(RESULT, WINNER), NOBODY, [told(1, RESULT)], [Post(), Show(1)]),
    "placing, in a channel that listens no more": (later(RESULT, WINNER), ONCE_HERE, [told(1, RESULT)], [Show(1)]),
    "placing, after two messages": (
        later(RESULT, WINNER),
        Choices(),
        [told(1, RESULT), told(2, RESULT)],
        [Post(), Show(2)],
    ),
    "placing, after a message that was given up": (
        later(RESULT, WINNER),
        Choices(),
        [told(1, RESULT), told(2, RESULT, is_dead=True)],
        [Post(), Show(1)],
    ),
    "placing, and the only message was given up": (later(RESULT, WINNER), NOBODY, [told(1, RESULT, is_dead=True)], []),
    "placing, where the result was muted": (later(RESULT, WINNER), NOBODY, [MUTED], []),
    "placing, in a channel that was not told": (later(RESULT, WINNER), NOBODY, [], []),
    "result after two abandonments of the race": (
        first(RESULT, contradicts=LOST),
        Choices(),
        [told(1, LOST), told(2, LOST)],
        [Post(), Show(2)],
    ),
    "result after an abandonment of the race": (
        first(RESULT, contradicts=LOST),
        Choices(),
        [told(1, LOST)],
        [Post(), Show(1)],
    ),
    "result after an abandonment, in a channel of abandonments": (
        first(RESULT, contradicts=LOST),
        NOBODY,
        [told(1, LOST)],
        [Post(), Show(1)],
    ),
    "abandonment after a result": (
        first(LOST, contradicts=RESULT),
        Choices(asked=ASKED),
        [told(1, RESULT)],
        [Post(asked=ASKED), Show(1, asks_no_longer=True)],
    ),
    "result that stood before and is stated again": (
        later(RESULT, WINNER, contradicts=LOST),
        Choices(),
        [told(1, RESULT), told(2, LOST)],
        [Post(), Show(1), Show(2)],
    ),
    "another difference": (later(RESULT, GOING), Choices(), [told(1, RESULT)], [Show(1)]),
    "another place of the race": (later(RESULT), Choices(), [told(1, RESULT)], [Show(1, edits=False)]),
    "another difference, where two summaries told the result": (
        later(RESULT, GOING),
        Choices(),
        [SUMMED, SUMMED_TOO],
        [Show(2, edits=False)],
    ),
    "another difference, in a channel without the message": (later(RESULT, GOING), Choices(), [], [Post()]),
    "another difference, in a channel that listens no more": (later(RESULT, GOING), ONCE_HERE, [told(1, RESULT)], []),
    "another difference, where a summary told the result": (
        later(RESULT, GOING),
        Choices(),
        [SUMMED],
        [Show(1, edits=False)],
    ),
    "another difference with a watched runner, where a summary told the result": (
        later(RESULT, GOING),
        Choices(noted=True),
        [SUMMED],
        [Post()],
    ),
    "addition, where a summary told the card": (
        later(CARD, PRICE),
        Choices(),
        [told(1, CARD, withheld=Because.SUMMARY, by=9)],
        [Show(1, edits=False)],
    ),
    "addition, and a watched runner is out, where a summary told the card": (
        later(CARD, PRICE),
        Choices(rung=True),
        [told(1, CARD, withheld=Because.SUMMARY, by=9)],
        [Post()],
    ),
    "another difference, where a summary told the card": (
        later(CARD, GOING),
        Choices(),
        [told(1, CARD, withheld=Because.SUMMARY, by=9)],
        [Post()],
    ),
    "placing, where a summary told the result": (later(RESULT, WINNER), Choices(), [SUMMED], [Post()]),
    "watched runner that is out": (
        later(CARD, GOING),
        Choices(rung=True, noted=True),
        [told(1, CARD)],
        [Post(), Show(1)],
    ),
    "superseded version again": (
        later(RESULT, WINNER, again=1),
        Choices(),
        [told(1, RESULT), told(2, RESULT)],
        [Show(2)],
    ),
    "muted": (first(RESULT), Choices(muted=True), [], [Withhold()]),
    "muted, after a message": (later(CARD, GOING), Choices(muted=True), [told(1, CARD)], [Show(1)]),
    "muted, a ringing change of a card": (later(CARD, MOVED), Choices(muted=True), [told(1, CARD)], [Show(1)]),
    "muted, and the winner that was told changes": (
        later(RESULT, WINNER),
        Choices(muted=True),
        [told(1, RESULT)],
        [Post(), Show(1)],
    ),
    "muted, and a watched runner is out": (
        later(RESULT, GOING),
        Choices(muted=True, rung=True),
        [told(1, RESULT)],
        [Show(1)],
    ),
    "muted, and the winner changes that was not told": (
        later(RESULT, WINNER),
        Choices(muted=True),
        [MUTED],
        [Withhold()],
    ),
    "muted, and contradicts an abandonment": (
        first(RESULT, contradicts=LOST),
        Choices(muted=True),
        [told(1, LOST)],
        [Post(), Show(1)],
    ),
    "muted before, and not now": (later(RESULT, WINNER), Choices(), [MUTED], [Post()]),
    "hours": (first(RESULT), Choices(until=LATER), [], [Post(until=LATER)]),
    "hours, and a watched runner": (first(RESULT), Choices(until=LATER, noted=True), [], [Post()]),
    "hours, and an abandonment": (first(LOST), Choices(until=LATER), [], [Post()]),
    "hours, and a change of what was told": (
        later(RESULT, WINNER),
        Choices(until=LATER),
        [told(1, RESULT)],
        [Post(), Show(1)],
    ),
    "hours, and a lesser change, not told before": (
        later(RESULT, GOING),
        Choices(until=LATER),
        [],
        [Post(until=LATER)],
    ),
    "hours, and a change of two that wait": (
        later(RESULT, WINNER),
        Choices(),
        [told(1, RESULT, waits=LATER), told(2, RESULT, waits=LATEST)],
        [Post(until=LATEST), Show(2)],
    ),
    "hours, and another winner before the live message is made": (
        later(RESULT, WINNER),
        Choices(until=LATER, live=TO_BE_LIVE),
        [told(1, RESULT, waits=LATER)],
        [Post(until=LATER), Show(1)],
    ),
    "hours, and the same winner as in the live message": (
        later(RESULT, THIRD),
        Choices(until=LATER, live=IS_LIVE),
        [told(1, RESULT, waits=LATER)],
        [Post(until=LATER), Show(1)],
    ),
    "hours, and a change of what waits": (
        later(RESULT, WINNER),
        Choices(until=LATEST),
        [told(1, RESULT, waits=LATER)],
        [Post(until=LATER), Show(1)],
    ),
    "hours, and a watched runner in what waits": (
        later(RESULT, GOING),
        Choices(until=LATER, noted=True),
        [told(1, RESULT, waits=LATER)],
        [Release(1), Show(1)],
    ),
    "hours, and an abandonment of a race whose result waits": (
        first(LOST, contradicts=RESULT),
        Choices(until=LATER),
        [told(1, RESULT, waits=LATER)],
        [Release(1), Post(), Show(1)],
    ),
    "hours, and another winner than the live message has shown": (
        later(RESULT, WINNER),
        Choices(until=LATER, live=IS_LIVE),
        [told(1, RESULT, waits=LATER)],
        [Release(1), Post(), Show(1)],
    ),
    "live": (first(RESULT), Choices(live=IS_LIVE), [], [Post(in_thread=True)]),
    "live message to be made": (first(RESULT), Choices(live=TO_BE_LIVE), [], [Post(in_thread=True)]),
    "live message to be made, and hours": (
        first(RESULT),
        Choices(live=TO_BE_LIVE, until=LATER),
        [],
        [Post(until=LATER)],
    ),
    "live, for other events": (first(RESULT), Choices(live=Live(False, True, False)), [], [Post()]),
    "live message that may not be made": (first(RESULT), Choices(live=Live(True, False, False)), [], [Post()]),
    "live, without a date": (UNDATED, Choices(live=IS_LIVE), [], [Post()]),
    "live, and a contradiction": (
        first(RESULT, contradicts=LOST),
        Choices(live=IS_LIVE),
        [told(1, LOST)],
        [Post(), Show(1)],
    ),
    "live, and another placing": (
        later(RESULT, THIRD),
        Choices(live=IS_LIVE),
        [told(1, RESULT, in_thread=True)],
        [Post(in_thread=True), Show(1)],
    ),
    "live, and another placing than outside of the thread": (
        later(RESULT, THIRD),
        Choices(live=IS_LIVE),
        [told(1, RESULT)],
        [Post(), Show(1)],
    ),
    "live, and a card's change in the thread": (
        later(CARD, MOVED),
        Choices(live=IS_LIVE),
        [told(1, CARD, in_thread=True)],
        [Post(), Show(1)],
    ),
    "live, and an abandonment": (first(LOST), Choices(live=IS_LIVE), [], [Post()]),
    "live, and a watched runner": (first(RESULT), Choices(live=IS_LIVE, noted=True), [], [Post()]),
    "live, and another winner": (
        later(RESULT, WINNER),
        Choices(live=IS_LIVE),
        [told(1, RESULT, in_thread=True)],
        [Post(), Show(1)],
    ),
    "later values": (late(RESULT), NOBODY, [told(1, RESULT)], [Show(1)]),
    "later values, after two messages": (late(RESULT), NOBODY, [told(1, RESULT), told(2, RESULT)], [Show(2)]),
    "later values of what waits": (late(RESULT), NOBODY, [told(1, RESULT, waits=LATER)], [Show(1)]),
    "later values with a watched runner": (late(RESULT), Choices(watches=True), [told(1, RESULT)], [Show(1)]),
    "later values of an abandonment in a summary": (late(LOST), NOBODY, [LOST_IN_SUMMARY], []),
    "later values of an abandonment, of which only the result was told": (
        late(LOST),
        Choices(),
        [told(1, RESULT)],
        [Post()],
    ),
    "later values of an abandonment that was given up after a result": (
        late(LOST),
        NOBODY,
        [told(1, RESULT), told(2, LOST, is_dead=True)],
        [Show(1)],
    ),
    "later values of an abandonment before a result": (
        late(LOST),
        NOBODY,
        [told(1, LOST), told(2, RESULT), told(3, LOST)],
        [Show(1), Show(3)],
    ),
    "later values of an abandonment after a result in a summary": (
        late(LOST),
        NOBODY,
        [SUMMED, told(2, LOST)],
        [Show(2)],
    ),
    "later values that no message shows": (late(RESULT, is_seen=False), NOBODY, [told(1, RESULT)], []),
    "later values, and a filter takes the event now": (late(RESULT), Choices(), [], [Post()]),
    "later values, where a summary told the result": (late(RESULT), Choices(), [SUMMED], []),
    "later values of a race in its meeting's message": (late(LOST), NOBODY, [FOLDED], [Show(7)]),
    "later values of an abandonment that contradicts a result": (
        late(LOST),
        NOBODY,
        [told(1, RESULT), told(2, LOST)],
        [Show(1), Show(2)],
    ),
    "later values with a watched runner in what waits": (
        late(RESULT, is_seen=False),
        Choices(watches=True),
        [told(1, RESULT, waits=LATER)],
        [Release(1), Show(1)],
    ),
}


@pytest.mark.parametrize(("news", "desk", "chain", "steps"), ROWS.values(), ids=ROWS)
def test_channel_is_told(news, desk, chain, steps):
    assert decide(news, desk, chain) == steps


OF_MEETINGS = {
    "race of an abandoned meeting": (first(LOST, reason="Frost"), [], OF_MEETING, [Withhold(7), Show(7, edits=False)]),
    "race with a reason of its own": (first(LOST, reason="Fog"), [], OF_MEETING, [Withhold(7), Show(7)]),
    "race that was told before its meeting": (later(LOST, GOING), [told(1, LOST)], OF_MEETING, [Show(1)]),
    "race that moves, in its meeting's message": (later(LOST, MOVED), [FOLDED], OF_MEETING, [Post()]),
    "race that a summary told, and a lesser change": (
        later(LOST, GOING),
        [LOST_IN_SUMMARY],
        OF_MEETING,
        [Withhold(7), Show(7, edits=False)],
    ),
    "result of a race that was run": (first(RESULT), [], OF_MEETING, [Post()]),
    "card": (first(CARD), [], OF_MEETING, [Post()]),
    "race whose meeting's message was given up": (
        first(LOST),
        [],
        ((ABANDONED, told(7, MEETING, is_dead=True)),),
        [Post()],
    ),
    "race that contradicts a result": (
        first(LOST, contradicts=RESULT),
        [told(1, RESULT)],
        OF_MEETING,
        [Post(), Show(1)],
    ),
}


@pytest.mark.parametrize(("news", "chain", "meetings", "steps"), OF_MEETINGS.values(), ids=OF_MEETINGS)
def test_channel_with_a_message_on_the_meeting_is_told(news, chain, meetings, steps):
    assert decide(news, Choices(), chain, meetings) == steps


def test_result_of_an_abandoned_meeting_is_told_to_whoever_was_told_of_the_meeting():
    news = first(RESULT, contradicts=MEETING)
    assert decide(news, NOBODY, [], OF_MEETING) == [Post()]
    assert decide(news, NOBODY, [], ()) == []
    assert decide(first(RESULT), NOBODY, [], OF_MEETING) == []

"""A channel's messages: a row for each behaviour of docs/design/event.md, News, edit or new message."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.channels.filters import AckRequest
from bot.desk.absorb import Known, News, Report, SilentRepeat, absorb
from bot.desk.decide import Because, Choices, Live, Post, Release, Show, Withhold, decide, linked, meetings_without_race
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, VersionRemarks
from bot.events.races import Race, Runner
from tests.clock import START
from tests.rows import over
from tests.unit.events.versions import three_versions, told

RESULT, LOST = EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED
MEETING, CARD = EventKind.MEETING_ABANDONED, EventKind.RACECARD_PUBLISHED
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
OF_MEETING, GIVEN_UP = ((ABANDONED, told(7, MEETING)),), told(7, MEETING, is_dead=True)
SUMMED, SUMMED_TOO = (told(number, RESULT, withheld=Because.SUMMARY, by=9) for number in (1, 2))
LOST_IN_SUMMARY = told(1, LOST, withheld=Because.SUMMARY, by=9)
MUTED = told(1, RESULT, withheld=Because.MUTED)
IN_PART = event_of(MEETING, races_run=0, last_lost=2), told(7, MEETING)
FOLDED = told(7, LOST, withheld=Because.MEETING)

WON, LESSER = later(RESULT, WINNER), later(RESULT, GOING)
CARD_LESSER, CARD_MOVED = later(CARD, GOING), later(CARD, MOVED)
AFTER_LOSS, LOST_AFTER = first(RESULT, contradicts=LOST), first(LOST, contradicts=RESULT)
ASKED_AFTER = [Post(asked=ASKED), Show(1, asks_no_longer=True)]
REINSTATED = RacingEvent(key="a", kind=LOST, race=Race(race_id="rc_1", status="Reinstated"))
BACK = News(REINSTATED, VersionRemarks(changes=(GOING,)), rings=True, is_first=False)
ENDED = Show(1, asks_no_longer=True)
UNSEEN = late(RESULT, is_seen=False)
TOLD, TOLD_LOST, TOLD_CARD = ([told(1, kind)] for kind in (RESULT, LOST, CARD))
TWICE = [told(1, RESULT), told(2, RESULT)]
TWO_WAIT = [told(1, RESULT, waits=LATER), told(2, RESULT, waits=LATEST)]
WAITS, IN_THREAD = [told(1, RESULT, waits=LATER)], [told(1, RESULT, in_thread=True)]
SUMMED_CARD = [told(1, CARD, withheld=Because.SUMMARY, by=9)]
EVERY, NIGHT, LIVE = Choices(), Choices(until=LATER), Choices(live=IS_LIVE)
MUTE = Choices(muted=True)
NOTED, RUNG, WATCHED = Choices(noted=True), Choices(rung=True), Choices(takes=False, watches=True)
LIVE_AT_NIGHT, TO_BE_LIVE_AT_NIGHT = Choices(until=LATER, live=IS_LIVE), Choices(until=LATER, live=TO_BE_LIVE)
NOTED_AT_NIGHT = Choices(until=LATER, noted=True)
TELL, BOTH, WAIT, WAIT_TOO = [Post()], [Post(), Show(1)], [Post(until=LATER)], [Post(until=LATER), Show(1)]
FREED, FREED_AND_TOLD = [Release(1), Show(1)], [Release(1), Post(), Show(1)]
QUIETLY, SILENT = Show(1, edits=False), [Withhold(7), Show(7, edits=False)]
THREAD = Post(in_thread=True)

ROWS = {
    "first version": (first(RESULT), EVERY, [], TELL),
    "first version, and no filter takes the event": (first(RESULT), NOBODY, [], []),
    "first version with a watched runner": (first(RESULT), WATCHED, [], TELL),
    "placing": (WON, EVERY, TOLD, BOTH),
    "placing, whatever the filters take now": (WON, NOBODY, TOLD, BOTH),
    "placing, in a channel that listens no more": (WON, ONCE_HERE, TOLD, [Show(1)]),
    "placing, after two messages": (WON, EVERY, TWICE, [Post(), Show(2)]),
    "placing, after a message that was given up": (WON, EVERY, [told(1, RESULT), told(2, RESULT, is_dead=True)], BOTH),
    "placing, and the only message was given up": (WON, NOBODY, [told(1, RESULT, is_dead=True)], []),
    "placing, where the result was muted": (WON, NOBODY, [MUTED], []),
    "placing, where a summary told the result": (WON, EVERY, [SUMMED], TELL),
    "result after two abandonments of the race": (AFTER_LOSS, EVERY, [told(1, LOST), told(2, LOST)], [Post(), Show(2)]),
    "result after an abandonment of the race": (AFTER_LOSS, EVERY, TOLD_LOST, BOTH),
    "result after an abandonment, in a channel of abandonments": (AFTER_LOSS, NOBODY, TOLD_LOST, BOTH),
    "abandonment after a result": (LOST_AFTER, Choices(asked=ASKED), TOLD, ASKED_AFTER),
    "loss taken back": (BACK, EVERY, TOLD_LOST, [Post(), ENDED]),
    "loss taken back, in a channel that listens no more": (BACK, ONCE_HERE, TOLD_LOST, [ENDED]),
    "loss taken back, and muted": (BACK, MUTE, TOLD_LOST, [ENDED]),
    "other value": (LESSER, EVERY, TOLD, [Show(1)]),
    "other value, in a channel that listens no more": (LESSER, ONCE_HERE, TOLD, []),
    "other value, in a summary": (LESSER, EVERY, [SUMMED], [QUIETLY]),
    "other value, in two summaries": (LESSER, EVERY, [SUMMED, SUMMED_TOO], [Show(2, edits=False)]),
    "other value with a watched runner, in a summary": (LESSER, NOTED, [SUMMED], TELL),
    "other value of a card in a summary": (CARD_LESSER, EVERY, SUMMED_CARD, TELL),
    "another place of the race": (later(RESULT), EVERY, TOLD, [QUIETLY]),
    "addition to a card in a summary": (later(CARD, PRICE), EVERY, SUMMED_CARD, [QUIETLY]),
    "addition to a card in a summary, and a watched runner is out": (later(CARD, PRICE), RUNG, SUMMED_CARD, TELL),
    "watched runner that is out": (CARD_LESSER, Choices(rung=True, noted=True), TOLD_CARD, BOTH),
    "superseded version again": (later(RESULT, WINNER, again=1), EVERY, TWICE, [Show(2)]),
    "muted": (first(RESULT), MUTE, [], [Withhold()]),
    "muted, a ringing change of a card": (CARD_MOVED, MUTE, TOLD_CARD, [Show(1)]),
    "muted, and the winner that was told changes": (WON, MUTE, TOLD, BOTH),
    "muted, and a watched runner is out": (LESSER, Choices(muted=True, rung=True), TOLD, [Show(1)]),
    "muted, and the winner changes that was not told": (WON, MUTE, [MUTED], [Withhold()]),
    "muted, and contradicts an abandonment": (AFTER_LOSS, MUTE, TOLD_LOST, BOTH),
    "muted before, and not now": (WON, EVERY, [MUTED], TELL),
    "hours": (first(RESULT), NIGHT, [], WAIT),
    "hours, and a watched runner": (first(RESULT), NOTED_AT_NIGHT, [], TELL),
    "hours, and an abandonment": (first(LOST), NIGHT, [], TELL),
    "hours, and a change of what was told": (WON, NIGHT, TOLD, BOTH),
    "hours, and a lesser change, not told before": (LESSER, NIGHT, [], WAIT),
    "hours, and a change of two that wait": (WON, EVERY, TWO_WAIT, [Post(until=LATEST), Show(2)]),
    "hours, and another winner before the live message": (WON, TO_BE_LIVE_AT_NIGHT, WAITS, WAIT_TOO),
    "hours, and the winner of the live message": (later(RESULT, THIRD), LIVE_AT_NIGHT, WAITS, WAIT_TOO),
    "hours, and a change of what waits": (WON, Choices(until=LATEST), WAITS, WAIT_TOO),
    "hours, and a watched runner in what waits": (LESSER, NOTED_AT_NIGHT, WAITS, FREED),
    "hours, and an abandonment of a race whose result waits": (LOST_AFTER, NIGHT, WAITS, FREED_AND_TOLD),
    "hours, and another winner than in the live message": (WON, LIVE_AT_NIGHT, WAITS, FREED_AND_TOLD),
    "live": (first(RESULT), LIVE, [], [THREAD]),
    "live message to be made": (first(RESULT), Choices(live=TO_BE_LIVE), [], [THREAD]),
    "live message to be made, and hours": (first(RESULT), TO_BE_LIVE_AT_NIGHT, [], WAIT),
    "live message that may not be made": (first(RESULT), Choices(live=Live(True, False, False)), [], TELL),
    "live, without a date": (UNDATED, LIVE, [], TELL),
    "live, and a contradiction": (AFTER_LOSS, LIVE, TOLD_LOST, BOTH),
    "live, and another placing": (later(RESULT, THIRD), LIVE, IN_THREAD, [THREAD, Show(1)]),
    "live, and another placing than outside of the thread": (later(RESULT, THIRD), LIVE, TOLD, BOTH),
    "live, and a card's change in the thread": (CARD_MOVED, LIVE, [told(1, CARD, in_thread=True)], BOTH),
    "live, and an abandonment": (first(LOST), LIVE, [], TELL),
    "live, and another winner": (WON, LIVE, IN_THREAD, BOTH),
    "late": (late(RESULT), NOBODY, TOLD, [Show(1)]),
    "late, after two messages": (late(RESULT), NOBODY, TWICE, [Show(2)]),
    "late, of what waits": (late(RESULT), NOBODY, WAITS, [Show(1)]),
    "late, with a watched runner": (late(RESULT), Choices(watches=True), TOLD, [Show(1)]),
    "late, with a watched runner in what waits": (UNSEEN, Choices(watches=True), WAITS, FREED),
    "late, seen in no message": (UNSEEN, NOBODY, TOLD, []),
    "late, and a filter takes the event now": (late(RESULT), EVERY, [], TELL),
    "late loss in a summary": (late(LOST), NOBODY, [LOST_IN_SUMMARY], []),
    "late loss, of which only the result was told": (late(LOST), EVERY, TOLD, TELL),
    "late loss given up after a result": (
        late(LOST),
        NOBODY,
        [told(1, RESULT), told(2, LOST, is_dead=True)],
        [Show(1)],
    ),
    "late loss before a result": (late(LOST), NOBODY, [*TOLD_LOST, told(2, RESULT), told(3, LOST)], [Show(1), Show(3)]),
    "late loss after a result in a summary": (late(LOST), NOBODY, [SUMMED, told(2, LOST)], [Show(2)]),
    "late loss of a race in its meeting's message": (late(LOST), NOBODY, [FOLDED], [Show(7)]),
    "late loss that contradicts a result": (late(LOST), NOBODY, [*TOLD, told(2, LOST)], [Show(1), Show(2)]),
}


@over(("news", "desk", "chain", "steps"), ROWS.values(), ids=ROWS)
def test_channel_is_told(news, desk, chain, steps):
    assert decide(news, desk, chain) == steps


OF_MEETINGS = {
    "race of an abandoned meeting": (first(LOST, reason="Frost"), [], OF_MEETING, SILENT),
    "race with a reason of its own": (first(LOST, reason="Fog"), [], OF_MEETING, [Withhold(7), Show(7)]),
    "race that a partly abandoned meeting may not lose": (first(LOST), [], [IN_PART], TELL),
    "race that one of two meetings loses": (first(LOST, reason="Frost"), [], [IN_PART, *OF_MEETING], SILENT),
    "race that moves, in its meeting's message": (later(LOST, MOVED), [FOLDED], OF_MEETING, TELL),
    "race that a summary told, and a lesser change": (later(LOST, GOING), [LOST_IN_SUMMARY], OF_MEETING, SILENT),
    "result of a race that was run": (first(RESULT), [], OF_MEETING, TELL),
    "card": (first(CARD), [], OF_MEETING, TELL),
    "race whose meeting's message was given up": (first(LOST), [], ((ABANDONED, GIVEN_UP),), TELL),
}


@over(("news", "chain", "meetings", "steps"), OF_MEETINGS.values(), ids=OF_MEETINGS)
def test_channel_with_a_message_on_the_meeting_is_told(news, chain, meetings, steps):
    assert decide(news, EVERY, chain, meetings) == steps


def test_result_of_an_abandoned_meeting_is_told_to_whoever_was_told_of_the_meeting():
    news = first(RESULT, contradicts=MEETING)
    assert decide(news, NOBODY, [], OF_MEETING) == TELL
    assert decide(news, NOBODY, [], ()) == []
    assert decide(first(RESULT), NOBODY, [], OF_MEETING) == []


# Earlier tellings: a telling's own words, messages of other subjects, and a second look


@over(
    ("telling", "is_own", "unsent", "shown_by"),
    [
        (told(1, LOST), True, None, 1),
        (told(1, LOST, is_unsent=True), True, 1, 1),
        (told(1, LOST, is_dead=True), True, None, None),
        (told(1, LOST, is_link=True), False, None, 1),
        (told(7, LOST, withheld=Because.MEETING), False, None, 7),
        (told(7, LOST, withheld=Because.MEETING, is_unsent=True), False, 7, 7),
        (told(1, LOST, withheld=Because.SUMMARY, by=9), True, None, None),
        (told(1, LOST, withheld=Because.MUTED), True, None, None),
    ],
)
def test_telling_has_a_message_of_its_own_or_another_message(telling, is_own, unsent, shown_by):
    assert (telling.is_own, telling.unsent, telling.shown_by) == (is_own, unsent, shown_by)


@over(
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


# Messages of other subjects that change by news


OF_ITS_MEETING, DEAD_MEETING = told(7, MEETING), told(8, MEETING, is_dead=True)
EARLIER, LOST_LATER, ITS_CARD = told(3, LOST), told(9, LOST), told(1, CARD)


@over(
    ("meetings", "lost", "shown"),
    [
        ([[OF_ITS_MEETING]], [], [Show(7)]),
        ([[DEAD_MEETING]], [], []),
        ([[OF_ITS_MEETING], [LOST_LATER]], [], [Show(7), Show(9)]),
        ([], [told(7, LOST, withheld=Because.MEETING)], [Show(7)]),
        ([], [told(7, LOST, withheld=Because.MEETING, is_dead=True)], []),
        ([], [told(7, LOST, withheld=Because.SUMMARY)], []),
        ([[OF_ITS_MEETING]], [told(7, LOST, withheld=Because.MEETING)], [Show(7)]),
    ],
)
def test_result_is_taken_out_of_messages_on_abandoned_meetings(meetings, lost, shown):
    assert meetings_without_race(meetings, lost) == shown


@over(
    ("meeting", "part", "asks", "shown"),
    [
        (OF_ITS_MEETING, [EARLIER], False, Show(3)),
        (OF_ITS_MEETING, [EARLIER], True, Show(3, asks_no_longer=True)),
        (OF_ITS_MEETING, [EARLIER, LOST_LATER], True, Show(9)),
        (OF_ITS_MEETING, [ITS_CARD], True, Show(1)),
        (OF_ITS_MEETING, [told(7, LOST, withheld=Because.MEETING)], True, None),
        (None, [ITS_CARD], True, Show(1)),
        (None, [told(1, RESULT)], True, Show(1)),
        (None, [EARLIER], True, None),
    ],
)
def test_message_on_a_part_of_an_abandoned_meeting_links_the_meetings_message(meeting, part, asks, shown):
    assert linked(meeting, part, asks=asks) == shown


# Deciding twice is deciding once, whatever came before


VERSIONS = st.randoms(use_true_random=False).map(three_versions)
DESKS = st.builds(
    Choices,
    takes=st.booleans(),
    watches=st.booleans(),
    noted=st.booleans(),
    rung=st.booleans(),
    muted=st.booleans(),
    until=st.none() | st.just(START + timedelta(hours=1)),
    live=st.none() | st.builds(Live, st.booleans(), st.booleans(), st.booleans()),
)


def as_stored(event, _stored):
    return event


def reported(versions, *, contradicts=None):
    """The news of deliveries without repeats."""
    reports: list[Report] = []
    for event in versions:
        other = Report(1, RacingEvent(key="other", kind=contradicts), VersionRemarks()) if contradicts else None
        news = absorb(event, Known(reports, other=other), as_stored, received_at=START)
        if isinstance(news, News):
            reports.append(Report(len(reports) + 1, news.event, news.remarks))
        yield event, news, reports


def after(chain, steps, kind):
    chain = [one._replace(waits=None) if Release(one.id) in steps else one for one in chain]
    for step in steps:
        number = len(chain) + 1
        if isinstance(step, Post):
            chain.append(told(number, kind, waits=step.until, in_thread=step.in_thread))
        elif isinstance(step, Withhold):
            chain.append(told(step.by or number, kind, withheld=Because.MEETING if step.by else Because.MUTED))
    return chain


def chains(versions, desks, contradicts=None):
    """A channel's history, news by news: the choices, the news, the chain before, the steps and the chain after."""
    chain = [told(1, contradicts)] if contradicts else []
    for (_, news, _), desk in zip(reported(versions, contradicts=contradicts), desks, strict=True):
        if isinstance(news, News):
            steps = decide(news, desk, chain)
            before, chain = chain, after(chain, steps, news.event.kind)
            yield desk, news, before, steps, chain


@given(VERSIONS)
def test_delivery_that_comes_twice_is_no_news(versions):
    for event, _, reports in reported(versions):
        again = absorb(event, Known(reports), as_stored, received_at=START)
        assert again is None or isinstance(again, SilentRepeat)


@given(VERSIONS, st.tuples(DESKS, DESKS, DESKS), st.sampled_from([None, *EventKind]))
def test_channel_that_was_told_is_told_nothing_by_a_second_look(versions, desks, contradicts):
    for _, news, _, _, chain in chains(versions, desks, contradicts):
        nothing = replace(news, remarks=VersionRemarks(), rings=False, is_first=False, is_late=True)
        steps = decide(nothing, EVERY, chain)
        assert steps == [] or not any(one.tells and one.kind is news.event.kind for one in chain)


@given(VERSIONS, st.tuples(DESKS, DESKS, DESKS), st.sampled_from([None, *EventKind]))
def test_edited_message_stands(versions, desks, contradicts):
    for _, _, before, steps, _ in chains(versions, desks, contradicts):
        standing = {one.id for one in before if one.stands}
        assert {step.telling for step in steps if isinstance(step, Show) and step.edits} <= standing


@given(VERSIONS, st.tuples(DESKS, DESKS, DESKS))
def test_channel_whose_filter_takes_the_event_is_told_of_the_event_or_muted_the_meeting(versions, desks):
    for desk, _, _, _, chain in chains(versions, desks):
        assert chain or not desk.takes


def of_status(status, winner="A", **more):
    race = Race(race_id="rc_1", runners=(Runner(horse=winner, position="1"),), status=status)
    return RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=race, **more)


PROVISIONAL, OFFICIAL = of_status("Provisional"), of_status("Official")
AMENDED = of_status("Amended result", winner="B")
SOON = START + timedelta(minutes=1)


@over(
    ("versions", "told"),
    [
        ([PROVISIONAL, OFFICIAL], [False, False]),
        ([of_status("Photo finish"), of_status("Weighed in")], [False, False]),
        ([PROVISIONAL, of_status(None)], [False, False]),
        ([PROVISIONAL, OFFICIAL, PROVISIONAL, PROVISIONAL], [False, False, None, None]),
        ([PROVISIONAL, OFFICIAL, of_status("Stewards inquiry")], [False, False, True]),
        ([OFFICIAL, PROVISIONAL], [False, True]),
        ([PROVISIONAL, of_status("Under review")], [False, True]),
        ([OFFICIAL, AMENDED], [False, False]),
        ([OFFICIAL, AMENDED, OFFICIAL, OFFICIAL], [False, False, True, None]),
        ([of_status(None), AMENDED, of_status(None), AMENDED], [False, False, True, None]),
        ([OFFICIAL, AMENDED, of_status("Official", winner="C"), AMENDED], [False, False, True, True]),
        ([PROVISIONAL, OFFICIAL, of_status("Stewards inquiry"), OFFICIAL], [False, False, True, True]),
        *(([OFFICIAL, of_status(doubt), OFFICIAL], [False, True, True]) for doubt in ("To be amended", "Uncorrected")),
        ([of_status("Void"), AMENDED], [False, True]),
        ([AMENDED, PROVISIONAL, OFFICIAL], [False, True, True]),
        ([OFFICIAL, of_status("Stewards inquiry"), of_status("Official", winner="B")], [False, True, False]),
        ([of_status("Photo", updated_at=START), of_status("Inquiry", updated_at=SOON)], [False, False]),
        ([of_status("Photo", updated_at=SOON), of_status("Inquiry", updated_at=START)], [False, None]),
        ([of_status("Official", sequence=2), of_status("Provisional", sequence=1)], [False, None]),
    ],
)
def test_order_of_two_results_by_rank_and_update(versions, told):
    """None: no news. True: the versions disagree."""
    news = [found for _, found, _ in reported(versions)]
    assert [one.remarks.order_unknown if isinstance(one, News) else None for one in news] == told

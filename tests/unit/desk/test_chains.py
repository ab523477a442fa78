"""Earlier tellings: a telling's own words, messages of other subjects, and a second look."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

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
GOING = Change(field="race.going", before="Good", now="Soft")


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


OF_MEETING, GIVEN_UP = told(7, MEETING), told(8, MEETING, is_dead=True)
EARLIER, LATER, ITS_CARD = told(3, LOST), told(9, LOST), told(1, CARD)


def news(kind, *, is_first=True, contradicts=None, is_late=False):
    event = RacingEvent(key=f"{kind}:rc_1", kind=kind)
    remarks = VersionRemarks(contradicts=contradicts)
    return News(event, remarks, rings=True, is_first=is_first, is_late=is_late)


@over(
    ("meetings", "lost", "shown"),
    [
        ([[OF_MEETING]], [], [Show(7)]),
        ([[GIVEN_UP]], [], []),
        ([[OF_MEETING], [LATER]], [], [Show(7), Show(9)]),
        ([], [told(7, LOST, withheld=Because.MEETING)], [Show(7)]),
        ([], [told(7, LOST, withheld=Because.MEETING, is_dead=True)], []),
        ([], [told(7, LOST, withheld=Because.SUMMARY)], []),
        ([[OF_MEETING]], [told(7, LOST, withheld=Because.MEETING)], [Show(7)]),
    ],
)
def test_result_is_taken_out_of_messages_on_abandoned_meetings(meetings, lost, shown):
    assert meetings_without_race(meetings, lost) == shown


@over(
    ("meeting", "part", "asks", "shown"),
    [
        (OF_MEETING, [EARLIER], False, Show(3)),
        (OF_MEETING, [EARLIER], True, Show(3, asks_no_longer=True)),
        (OF_MEETING, [EARLIER, LATER], True, Show(9)),
        (OF_MEETING, [ITS_CARD], True, Show(1)),
        (OF_MEETING, [told(7, LOST, withheld=Because.MEETING)], True, None),
        (None, [ITS_CARD], True, Show(1)),
        (None, [told(1, RESULT)], True, Show(1)),
        (None, [EARLIER], True, None),
    ],
)
def test_message_on_a_part_of_an_abandoned_meeting_links_the_meetings_message(meeting, part, asks, shown):
    assert linked(meeting, part, asks=asks) == shown


# Deciding twice is deciding once, whatever came before


VERSIONS = st.randoms(use_true_random=False).map(three_versions)
LIVES = st.builds(Live, st.booleans(), st.booleans(), st.booleans())
DESKS = st.builds(
    Choices,
    takes=st.booleans(),
    watches=st.booleans(),
    noted=st.booleans(),
    rung=st.booleans(),
    muted=st.booleans(),
    until=st.none() | st.just(START + timedelta(hours=1)),
    live=st.none() | LIVES,
)
TAKES = Choices()


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
        steps = decide(nothing, TAKES, chain)
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

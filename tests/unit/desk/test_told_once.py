"""Deciding twice is deciding once, whatever came before."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.desk.absorb import Known, Report, SilentRepeat, absorb
from bot.desk.decide import Because, Choices, Live, Post, Release, Show, Withhold, decide
from bot.desk.news import News
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.races import Race, Runner
from tests.clock import START
from tests.unit.desk.tellings import told
from tests.unit.events.versions import three_versions

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
            chain.append(told(number, kind, withheld=Because.MEETING if step.by else Because.MUTED, by=step.by))
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


PROVISIONAL, OFFICIAL, AMENDED = (
    of_status("Provisional"),
    of_status("Official"),
    of_status("Amended result", winner="B"),
)
SOON = START + timedelta(minutes=1)


@pytest.mark.parametrize(
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

"""Which changes a channel is told of, and in which words."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import col, select

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import OutboxMessage, SubscriptionState
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.subscription_changes import audited

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ASCOT, YORK = Course(course_id="cr_1", name="Ascot"), Course(course_id="cr_2", name="York")
WHO = "<@U1>"
IRE = "results and abandonments from IRE"


def takes(region="GB", topics=DEFAULT_TOPICS, **fields):
    return ChannelFilter(region=region, topics=frozenset(topics), **fields)


async def told(database, before, after, channel_id="C1", *, announce=True, state=SubscriptionState.LIVE):
    """What the channel is told where these filters take the place of those; nothing but that is posted."""
    desk: Any = SimpleNamespace(clock=lambda: NOW, settings=SimpleNamespace(announce_changes=announce))
    typed = Invocation("", channel_id, "U1", "cmd-1")

    def change(session):
        for chosen in before:
            subscriptions.save(session, channel_id, chosen, user_id="U1", now=NOW)
        subscriptions.set_state(session, channel_id, state, NOW)
        with audited(session, desk, typed, "edit"):
            subscriptions.remove(session, channel_id, [chosen.region for chosen in before])
            for chosen in after:
                subscriptions.save(session, channel_id, chosen, user_id="U1", now=NOW)
        return [
            post.content for post in session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        ]

    return "".join(await database.write(change))


LESS = [
    ([takes()], [], f"{WHO} ended results and abandonments from GB here. This channel receives nothing now."),
    (
        [takes(), takes("IRE")],
        [takes("IRE")],
        f"{WHO} ended results and abandonments from GB here. This channel still receives {IRE}.",
    ),
    ([takes()], [takes(topics=[Topic.RESULTS])], f"{WHO} ended abandonments from GB here. Still coming: results."),
    ([takes()], [takes(not_courses=(ASCOT,))], f"{WHO} left out Ascot from GB here."),
    ([takes()], [takes(courses=(ASCOT,))], f"{WHO} ended all courses but Ascot from GB here."),
    ([takes(courses=(ASCOT, YORK))], [takes(courses=(YORK,))], f"{WHO} ended Ascot from GB here."),
    (
        [takes(), takes("IRE")],
        [takes(topics=[Topic.RESULTS]), takes("IRE", topics=[Topic.RESULTS])],
        f"{WHO} ended abandonments from GB and IRE here. Still coming: results.",
    ),
    (
        [takes(topics=Topic, not_courses=(ASCOT,))],
        [takes(topics=[Topic.RESULTS], not_courses=(ASCOT, YORK))],
        f"{WHO} ended abandonments and racecards from GB and left out York from GB here. Still coming: results.",
    ),
    ([takes(mentions=("U7", "here"))], [takes()], f"{WHO} changed whom abandonments mention here."),
    ([takes(ALL_REGIONS)], [takes("GB")], f"{WHO} ended results and abandonments from all regions here."),
    (
        [takes(one) for one in ("AUS", "FR", "GB", "IRE")],
        [],
        f"{WHO} ended results and abandonments from AUS, FR, GB and IRE here.",
    ),
]


@pytest.mark.parametrize(("before", "after", "words"), LESS)
async def test_channel_that_gets_less_is_told_who_did_it_and_what_is_left(database, before, after, words):
    said = await told(database, before, after)
    assert words in said
    assert "<!here>" not in said
    assert "<@U7>" not in said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [takes()]),
        ([takes()], [takes()]),
        ([takes()], [takes(), takes("IRE")]),
        ([takes()], [takes(topics=Topic)]),
        ([takes()], [takes(mentions=("here",))]),
        ([takes()], [takes(ALL_REGIONS)]),
        ([takes(courses=(ASCOT,))], [takes(courses=(ASCOT, YORK))]),
        ([takes(courses=(ASCOT,))], [takes()]),
        ([takes(not_courses=(ASCOT, YORK))], [takes(not_courses=(YORK,))]),
        ([takes(courses=(Course(name="Ascot"),))], [takes(courses=(ASCOT,))]),
    ],
)
async def test_channel_that_gets_as_much_or_more_is_told_nothing(database, before, after):
    assert await told(database, before, after) == ""


async def test_nobody_is_told_in_direct_messages_by_setting_or_where_the_bot_never_was(database):
    assert await told(database, [takes()], [], channel_id="D1") == ""
    assert await told(database, [takes()], [], channel_id="C2", announce=False) == ""
    assert await told(database, [takes()], [], channel_id="C3", state=SubscriptionState.WAITING) == ""
    assert "U1" in await told(database, [takes()], [], channel_id="C4", state=SubscriptionState.SUSPENDED)

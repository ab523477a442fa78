"""Digests: a day's results in one message at an hour, and the cards of the next day on the eve."""

from datetime import timedelta

import pytest

from bot.channels import subscriptions, watches
from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.event import Topic
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.test_quiet_hours import LEFT, around, card, end_of


def hour(pipeline) -> str:
    """The time of day at which the wait is over, by UTC."""
    return f"{pipeline.clock() + LEFT:%H:%M}"


@pytest.fixture
async def daily(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(pipeline),))
    return pipeline


async def test_results_come_in_one_digest_at_the_hour_and_abandonments_at_once(daily):
    await tell(daily, result("rc_1"), abandonment("rc_2", course="Bath"), result("rc_3", course="York"), card())
    assert [text.split(":")[0] for text in daily.texts("CGB")] == ["ABANDONED", "Racecard"]
    assert await end_of(daily, clock=daily.clock) == 0
    assert await end_of(daily) == 1
    digest = daily.slack.messages("CGB")[-1]
    assert digest.text.startswith("Results together. 2 results. Ascot 14:30")
    assert "York 14:30" in shown(digest)
    # A result after the hour is in the next day's digest; a day without a result has none.
    await tell(daily, result("rc_4", course="Wells"))
    assert await end_of(daily, clock=daily.clock) == 0
    daily.clock.forward(timedelta(days=1).total_seconds())
    assert [await end_of(daily, clock=daily.clock) for _ in range(2)] == [1, 0]
    daily.clock.forward(timedelta(days=1).total_seconds())
    assert await end_of(daily, clock=daily.clock) == 0
    assert len(daily.texts("CGB")) == 4
    assert "1 result. Wells 14:30" in daily.texts("CGB")[-1]


async def test_result_received_before_the_hour_and_fanned_out_after_is_in_the_digest_of_that_hour(daily):
    await tell(daily, result("rc_1"))
    daily.clock.forward(LEFT.total_seconds() - 120)
    # Stored and answered. Then the process dies.
    await daily.deliver(result("rc_2", course="York"))
    daily.clock.forward(600)
    await daily.post_all()
    assert daily.texts("CGB") == []
    assert await end_of(daily, clock=daily.clock) == 1
    (text,) = daily.texts("CGB")
    assert text.startswith("Results together. 2 results. Ascot")


async def test_each_summary_says_the_choice_that_let_its_results_wait(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(pipeline),))
    await pipeline.subscribe("CGB", "IRE", frozenset(Topic), quiet=(around(pipeline.clock()),))
    for region in ("GB", "IRE"):
        await tell(pipeline, *(result(f"rc_{region}_{course}", region=region, course=course) for course in ("A", "B")))
    await end_of(pipeline)
    assert [text.split(". ")[0] for text in pipeline.texts("CGB")] == ["Results together", "The quiet hours are over"]


async def test_correction_of_a_result_in_a_digest_comes_at_once(daily):
    await tell(daily, result("rc_1"))
    await end_of(daily)
    await tell(daily, result("rc_1", placings=("Red Sky", "Blue Moon")))
    _, corrected = daily.texts("CGB")
    assert corrected.startswith("Two versions disagree: Ascot 14:30")


async def test_small_change_of_a_result_in_a_digest_is_silent_and_a_changed_winner_comes_at_once(daily):
    await daily.subscribe("CALL", "GB")
    await tell(daily, result("rc_1", going="Good"))
    await end_of(daily)
    await tell(daily, result("rc_1", going="Soft"), result("rc_1", going="Heavy"))
    assert [len(daily.texts(channel)) for channel in ("CGB", "CALL")] == [1, 1]
    assert "Heavy" in shown(daily.slack.messages("CALL")[0])
    await tell(daily, result("rc_1", going="Heavy", placings=("Red Sky", "Blue Moon")))
    _, corrected = daily.slack.messages("CGB")
    assert "Red Sky" in corrected.text
    assert "Heavy" in shown(corrected)
    await tell(daily, result("rc_1", going="Firm", placings=("Red Sky", "Blue Moon")))
    _, corrected = daily.slack.messages("CGB")
    assert "Firm" in shown(corrected)


async def test_change_that_names_a_watched_jockey_is_told_although_a_digest_told_the_result(daily):
    names = [WatchedName(WatchKind.JOCKEY, "Anna Best")]
    await daily.database.write(lambda session: watches.add(session, "CGB", names, user_id="UALICE", now=daily.clock()))

    def ridden(jockey):
        payload = result("rc_1")
        payload["race"]["runners"][0]["jockey"] = jockey
        return payload

    await tell(daily, ridden("Tom Else"))
    await end_of(daily)
    await tell(daily, ridden("Anna Best"))
    _, told = daily.slack.messages("CGB")
    assert "Anna Best" in shown(told)


async def test_winner_that_a_live_message_has_shown_is_corrected_at_once(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(pipeline),), show=(MEETINGS,))
    await tell(pipeline, abandonment("rc_2", off_time="15:05"), result("rc_1"), result("rc_3", course="York"))
    live = next(one for one in pipeline.slack.messages("CGB") if "Blue Moon" in shown(one))
    assert len(pipeline.texts("CGB")) == 2
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Grey Dawn")))
    assert len(pipeline.texts("CGB")) == 2
    await tell(pipeline, result("rc_1", placings=("Red Sky", "Blue Moon")))
    await tell(pipeline, result("rc_3", course="York", placings=("Red Sky", "Blue Moon")))
    corrected = pipeline.slack.messages("CGB")[-1]
    assert corrected.text.startswith("Two versions disagree: Ascot 14:30")
    assert corrected.thread_ts is None
    assert "Red Sky" in shown(next(one for one in pipeline.slack.messages("CGB") if one.ts == live.ts))
    await end_of(pipeline)
    assert pipeline.texts("CGB")[-1].startswith("Results together. 1 result. York 14:30")


async def test_digest_is_the_last_post_of_the_subscription_whose_results_it_tells(daily):
    await daily.subscribe("CGB", "IRE", frozenset(Topic), digest=(hour(daily),))

    def last(session):
        filters = [subscriptions.read_filter(row) for row in subscriptions.of_channel(session, "CGB")]
        return subscriptions.last_posts(session, "CGB", filters), subscriptions.last_post_at(session, "CGB")

    await tell(daily, result("rc_1"), result("rc_2", course="York"))
    assert await daily.database.read(last) == ([None, None], None)
    await end_of(daily)
    (digest,) = daily.slack.messages("CGB")
    (of_gb, of_ire), at = await daily.database.read(last)
    assert (of_gb.message_ts, of_gb.sent_at, of_ire) == (digest.ts, at, None)
    # A later small change is in no post.
    await tell(daily, result("rc_1", winning_time="1m 2s"), result("rc_1", winning_time="1m 3s"))
    (of_gb, _), _ = await daily.database.read(last)
    assert of_gb.message_ts == digest.ts


async def test_digest_says_the_status_of_a_race_that_was_not_run(daily):
    unusual = {"York": "Provisional", "Bath": "Delayed", "Wells": "Under review"}
    placings = {"placings": ()}
    await tell(
        daily,
        result("rc_1", status="Inquiry"),
        *(
            result(f"rc_{course}", course=course, status=status, **({} if course == "York" else placings))
            for course, status in unusual.items()
        ),
    )
    await end_of(daily)
    (digest,) = daily.slack.messages("CGB")
    lines = digest.text.split("; ")
    assert ["Status: " in line for line in lines] == [True] * 4
    assert "result in" not in shown(digest)


async def test_race_marked_abandoned_by_its_result_is_not_held_for_the_digest(daily):
    await tell(daily, result("rc_1", status="Abandoned", placings=()), result("rc_2", course="York"))
    (text,) = daily.texts("CGB")
    assert text.startswith("ABANDONED: Ascot 14:30")
    await tell(daily, result("rc_2", course="York", status="Abandoned"))
    assert daily.texts("CGB")[-1].startswith("CONFLICT: York 14:30")
    assert await end_of(daily) == 0


async def test_contradiction_brings_the_result_out_of_the_digest(daily):
    await tell(daily, result("rc_1"), result("rc_3", course="York"), abandonment("rc_1"))
    assert [text.startswith("ABANDONED") for text in daily.texts("CGB")] == [False, True]
    await end_of(daily)
    assert "1 result. York 14:30" in daily.texts("CGB")[-1]


async def test_cards_come_together_on_the_eve_with_the_abandonments_since(pipeline):
    now = pipeline.clock()
    eve = now + LEFT
    tomorrow, later = (f"{eve + timedelta(days=days):%Y-%m-%d}" for days in (1, 3))
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), cards=(hour(pipeline),))

    def of(meeting_id, course, date):
        races = [{"race_id": f"rc_{meeting_id}", "off_time": "14:30"}]
        card = {"meeting_id": meeting_id, "course": course, "date": date, "region": "GB", "races": races}
        return {"event": "racecard.published", "meeting": card}

    await tell(pipeline, of("mt_1", "Ascot", tomorrow), of("mt_2", "York", tomorrow), of("mt_3", "Bath", later))
    await tell(pipeline, result("rc_7"))
    assert [text.split(":")[0] for text in pipeline.texts("CGB")] == ["Result"]
    await tell(pipeline, meeting(meeting_id="mt_2", course="York", date=tomorrow))
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: York")
    await end_of(pipeline)
    cards = pipeline.slack.messages("CGB")[2]
    assert cards.text.startswith("Racecards together. 2 racecards. Ascot")
    lines = cards.text.split("; ")
    assert ["ABANDONED" in line for line in lines] == [False, True]
    assert "Bath" not in shown(cards)
    pipeline.clock.forward(timedelta(days=2).total_seconds())
    await end_of(pipeline, clock=pipeline.clock)
    assert pipeline.texts("CGB")[3].startswith("Racecard: Bath")

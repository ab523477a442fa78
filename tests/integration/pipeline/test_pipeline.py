"""Deliveries to channels, against the stand-in of Slack."""

import asyncio

import pytest

from bot.events.event import Topic
from bot.events.races import Course
from tests.notice_levels import URGENT


def result(race_id="rc_1", region="GB", *, time="14:30", course="Ascot", winner="Blue Moon", **envelope):
    race = {
        "race_id": race_id,
        "course": course,
        "date": "2026-11-20",
        "off_time": time,
        "runners": [{"position": 1, "horse": winner}, {"position": 2, "horse": "Red Sky"}],
    }
    if region:
        race["region"] = region
    return {"event": "result.received", "race": race, **envelope}


def abandonment(race_id="rc_1", region: str | None = "GB", **race):
    race = {"race_id": race_id, "course": "Ascot", "date": "2026-11-20", "off_time": "14:30", **race}
    return {"event": "race.abandoned", "race": race | ({"region": region} if region else {}), "reason": "Frost"}


async def test_event_goes_to_its_region_and_all_once(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await pipeline.subscribe("CALL", "*")
    await pipeline.subscribe("CALL", "GB")
    assert await pipeline.deliver(result()) is True
    assert await pipeline.deliver(result()) is False
    assert await pipeline.deliver(result(attempt=2)) is True
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
    assert len(pipeline.texts("CALL")) == 1
    assert pipeline.texts("CIRE") == []
    assert await pipeline.waiting() == {}


async def test_deliveries_that_arrive_together_are_stored_together(pipeline):
    stored = await asyncio.gather(*(pipeline.deliver(result(f"rc_{n % 50}")) for n in range(200)))
    assert sum(stored) == 50


async def test_changed_winner_is_a_new_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for winner in ("Blue Moon", "Green Field"):
        await pipeline.deliver(result(winner=winner))
        await pipeline.post_all()
    first, second = pipeline.texts("CGB")
    assert first.startswith("Superseded ")
    assert ". Result: " in first
    assert second.startswith("Two versions disagree: ")
    assert "Green Field" in second


async def test_older_version_overwrites_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result(winner="Green Field", version=2))
    await pipeline.deliver(result(winner="Blue Moon", version=1))
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_abandonments_go_first_and_never_past_their_own_race(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result("rc_other", course="Bath"))
    await pipeline.deliver(result("rc_1"))
    await pipeline.deliver(abandonment("rc_1"))
    await pipeline.post_all()
    kinds = [(text.split(" ")[0], "Bath" in text) for text in pipeline.texts("CGB")]
    assert kinds == [("Contradicted", False), ("ABANDONED:", False), ("Result:", True)]


async def test_abandonment_without_region_goes_everywhere(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE", frozenset({Topic.ABANDONMENTS}), not_courses=(Course(name="Ascot"),))
    await pipeline.subscribe("CALL", "*", frozenset({Topic.RESULTS}))
    await pipeline.deliver(abandonment(region=None, course=None))
    await pipeline.post_all()
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE", "CALL")] == [1, 1, 0]


@pytest.mark.parametrize(
    "body", [b"not json", b"\xff\xfe", b"[1,2]", b'{"event":"stewards.weather_balloon.sighted","race_id":"rc_3"}', b""]
)
async def test_unreadable_payload_is_posted_where_all_regions_are_taken_and_told_to_admins(pipeline, body):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    assert await pipeline.deliver(body) is True
    await pipeline.post_all()
    (line,) = pipeline.texts("CALL")
    assert "could not be read" in line
    (told,) = pipeline.texts("CADMIN")
    assert "inbox-1" in told
    assert pipeline.texts("CGB") == []


async def test_admins_hear_that_nobody_was_told_of_an_unreadable_payload_where_none_takes_all_regions(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(b"not json")
    await pipeline.post_all()
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{URGENT}A signed delivery could not be read")
    assert "nobody is told" in told


async def test_event_that_nobody_subscribed_to_is_done_all_the_same(pipeline):
    await pipeline.deliver(result(region="FR"))
    await pipeline.post_all()
    assert await pipeline.deliver(result(region="FR")) is False
    assert await pipeline.waiting() == {}


async def test_correction_says_what_changed_and_that_the_order_is_unknown(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result(winner="Blue Moon"))
    await pipeline.deliver(result(winner="Green Field"))
    await pipeline.post_all()
    text = pipeline.texts("CGB")[1]
    first = "Two versions disagree: Ascot 14:30 (GB): 1st is Blue Moon in one, Green Field in the other"
    assert text.startswith(first)


async def test_result_after_an_abandonment_of_the_race_says_so(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment("rc_1"))
    await pipeline.post_all()
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    first, second = pipeline.slack.messages("CGB")
    assert ". ABANDONED: Ascot" in first.text
    assert "abandon" in str(second.blocks).lower()


async def test_unknown_event_is_told_to_admins_once_for_its_name(pipeline):
    for number in range(3):
        await pipeline.deliver({"event": "stewards.weather_balloon.sighted", "race_id": f"rc_{number}"})
    await pipeline.post_all()
    assert len(pipeline.texts("CADMIN")) == 1

"""Which later versions ring in a channel, which edit its message, and which say nothing."""

from datetime import date

import pytest

from bot.events.event import Topic
from bot.slack.messages.kit.times import weekday_and_day
from tests.clock import DAY
from tests.integration.pipeline.racing_day import edits, result, tell

CARDS = frozenset({Topic.RACECARDS})
pytestmark = pytest.mark.asyncio


def card(*races, day=DAY, attempt=1):
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": day, "region": "GB"}
    return {"event": "racecard.published", "meeting": meeting, "races": list(races), "attempt": attempt}


def of_parts(*numbers):
    return [{"race_id": f"rc_{number}", "off_time": f"1{number}:00"} for number in numbers]


def texts(pipeline):
    return [message.text for message in pipeline.slack.messages("CGB")]


async def test_card_in_parts_that_are_delivered_again_is_one_message(pipeline):
    await pipeline.subscribe("CGB", "GB", CARDS)
    parts = of_parts(1, 2), of_parts(3, 4)
    await tell(pipeline, *(card(*part, attempt=attempt) for attempt in (1, 2, 3) for part in parts))
    day = weekday_and_day(date.fromisoformat(DAY))
    assert [text.partition(". ")[0] for text in texts(pipeline)] == [f"Racecard: Ascot, {day} (GB): 4 races declared"]
    assert len(edits(pipeline.slack)) == 1


async def test_half_of_a_dead_heat_says_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    shared = [{"horse": "Alpha", "position": "1="}, {"horse": "Bravo", "position": "1="}]
    await tell(pipeline, result(runners=shared, placings=()), result(winner="Alpha", placings=()))
    assert texts(pipeline) == ["Result: Ascot 14:30 (GB): 1= Alpha, 1= Bravo"]


async def test_winner_that_comes_after_the_others_rings(pipeline):
    await pipeline.subscribe("CGB", "GB")
    rest = [{"horse": "Bravo", "position": 2}, {"horse": "Cee", "position": 3}]
    await tell(
        pipeline,
        result(runners=rest, placings=()) | {"sequence": 1},
        result(runners=[{"horse": "Alpha", "position": 1}, *rest], placings=()) | {"sequence": 2},
    )
    assert texts(pipeline)[1] == "CORRECTION: Ascot 14:30 (GB): 1st is now Alpha. Now 1 Alpha, 2 Bravo, 3 Cee"


async def test_spellings_and_ids_edit_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    spelled = [{"horse": "Blue Moon (IRE)", "position": "1st"}, {"horse": "Red Sky", "position": "2nd"}]
    await tell(
        pipeline,
        result(status="Weighed In"),
        result(runners=spelled, placings=(), status="weighed_in", meeting_id="mt_1", race_number=3, field_size=2),
    )
    assert len(texts(pipeline)) == 1
    assert edits(pipeline.slack) == []


async def test_abandonment_that_a_card_takes_back_rings(pipeline):
    await pipeline.subscribe("CGB", "GB", CARDS)
    other = {"race_id": "rc_2", "off_time": "15:00"}
    await tell(
        pipeline,
        *(
            card({"race_id": "rc_1", "off_time": "11:30"} | more, other) | {"sequence": sequence}
            for sequence, more in enumerate(({}, {"abandoned": True}, {"abandoned": False}), start=1)
        ),
    )
    assert "Changed: 11:30 is now marked abandoned" in texts(pipeline)[1]
    assert "Changed: 11:30 is no longer marked abandoned" in texts(pipeline)[2]

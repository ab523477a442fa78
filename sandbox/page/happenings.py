"""Happenings of the day at a press: settle, correct, abandon, publish, forge, and a burst of results."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import islice, zip_longest

from bot.clock import utc_now
from sandbox.demo_stage import Stage
from sandbox.racing_day import Race

BURST = 50
LATER_S = 2
REASON = "Frozen track"

Happen = Callable[[Stage, str], Awaitable[str]]


async def settle(stage: Stage, race_id: str) -> str:
    """A race settles."""
    stage.service.settle(race_id)
    return "The result goes out."


async def correct(stage: Stage, race_id: str) -> str:
    """Winner and second change places."""
    await _next_second()
    stage.service.correct(race_id)
    return "The corrected result goes out."


async def abandon_race(stage: Stage, race_id: str) -> str:
    """A race is called off."""
    stage.service.abandon_race(race_id, REASON)
    return "The abandonment goes out."


async def abandon_meeting(stage: Stage, meeting_id: str) -> str:
    """The rest of a meeting is called off."""
    stage.service.abandon_meeting(meeting_id, REASON)
    return "The abandonment of the meeting goes out."


async def publish_cards(stage: Stage, _: str) -> str:
    """The declarations of tomorrow come out."""
    published = stage.service.publish_racecards(stage.service.racing.today + timedelta(days=1))
    return f"{len(published)} cards go out."


async def wrong_order(stage: Stage, race_id: str) -> str:
    """A race settles and is corrected, and the correction is delivered before the first result."""
    first = stage.service.settle(race_id)
    for delivery in first:
        delivery.next_at = None
    await _next_second()
    stage.service.correct(race_id)
    for delivery in first:
        delivery.next_at = utc_now() + timedelta(seconds=LATER_S)
    return f"The correction goes out now, and the first result {LATER_S} seconds later."


async def _next_second() -> None:
    """The service's moments are whole seconds: of two versions in one second, nobody could tell which is newer."""
    await asyncio.sleep(1 - utc_now().microsecond / 1_000_000)


async def burst(stage: Stage, _: str) -> str:
    """Races of all regions settle in the same moment."""
    racing = stage.service.racing
    by_region: dict[str, list[Race]] = defaultdict(list)
    for race in racing.races(racing.today):
        if racing.state(race).status == "declared":
            by_region[race.course.region].append(race)
    in_turn = (race for turn in zip_longest(*by_region.values()) for race in turn if race is not None)
    settled = [stage.service.settle(race.race_id) for race in islice(in_turn, BURST)]
    return f"{len(settled)} results go out at once."


async def forge(stage: Stage, race_id: str) -> str:
    """A stranger signs an abandonment with a secret of their own."""
    answer = await stage.forge(stage.service.racing.race(race_id))
    return f"The bot answered {answer.status_code} to the forged delivery, and posted nothing."


HAPPENINGS: dict[str, Happen] = {
    happen.__name__: happen
    for happen in (
        *(settle, correct, abandon_race, abandon_meeting, publish_cards),
        *(wrong_order, burst, forge),
    )
}

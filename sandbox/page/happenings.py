"""Happenings of the day, at a press or by themselves: race after race settles, and now and then a race is abandoned."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, zip_longest
from random import Random

from bot.clock import utc_now
from sandbox.demo_stage import Stage
from sandbox.racing_day import Race
from sandbox.racing_service.racing import reasons_at

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
    for happen in (settle, correct, abandon_race, abandon_meeting, publish_cards, wrong_order, burst, forge)
}


ABANDONED_SHARE = 0.1
FASTEST_S = 0.05
CALM_S = 15.0
FIRST_AFTER_S = 2.0
FIRST = ("GB", "IRE")
"""The day begins with a race in the first region, and goes on in both, whatever the clocks elsewhere say."""


@dataclass
class PlayingDay:
    """`every_s` is None while the day is paused, else the seconds from race to race."""

    stage: Stage
    random: Random
    every_s: float | None = None
    waits_for_eyes: bool = False
    _task: asyncio.Task[None] | None = None

    def play_once_seen(self) -> None:
        """The first race settles soon after the page is seen for the first time."""
        self.waits_for_eyes = True

    def seen(self) -> None:
        if self.waits_for_eyes:
            self.play(CALM_S, FIRST_AFTER_S)

    def play(self, every_s: float | None, after_s: float = 0.0) -> None:
        """Play from now on at this pace, or pause."""
        self.waits_for_eyes = False
        self.every_s = None if every_s is None else max(FASTEST_S, every_s)
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._play(after_s)) if self.every_s is not None else None

    async def stop(self) -> None:
        """Pause, and return once nothing happens any longer."""
        task, self._task, self.every_s = self._task, None, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _play(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        while self.every_s is not None and (race := self._next()) is not None:
            if self.random.random() < ABANDONED_SHARE:
                self.stage.service.abandon_race(race.race_id, self.random.choice(reasons_at(race.course)))
            else:
                self.stage.service.settle(race.race_id)
            await asyncio.sleep(self.every_s)
        self.every_s = None

    def _next(self) -> Race | None:
        racing = self.stage.service.racing
        today = racing.races(racing.today)
        left = [race for race in today if racing.state(race).status == "declared"]
        first = FIRST if len(left) < len(today) else FIRST[:1]
        return min(left, key=lambda race: (race.course.region not in first, race.off_at), default=None)

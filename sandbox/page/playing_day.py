"""The day plays by itself: race after race settles, and now and then a race is abandoned."""

import asyncio
from dataclasses import dataclass
from random import Random

from sandbox.demo_stage import Stage
from sandbox.racing_day import Race
from sandbox.racing_service.racing import reasons_at

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

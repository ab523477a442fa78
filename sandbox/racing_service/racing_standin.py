"""The stand-in of the data service for the demo and the tests."""

import asyncio
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Self

from starlette.types import ASGIApp

from sandbox.racing_day import Meeting, Race
from sandbox.racing_service.delivery_queue import Delivery, Subscription
from sandbox.racing_service.endpoints import build_app
from sandbox.racing_service.event_payloads import happening
from sandbox.racing_service.gate import DROP, HTML, SLOW
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.refusals import scripted
from sandbox.racing_service.service_state import KeyCounts, State, day_of, month_of

DELIVER_EVERY_S = 0.2


class RacingService(State):
    """A data service of one account. Use as `async with`.

    Only races changed through the methods are delivered, by `deliver_due` or `run_deliveries`.
    """

    @cached_property
    def app(self) -> ASGIApp:
        return build_app(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delivery_queue.client.aclose()

    @property
    def subscriptions(self) -> list[Subscription]:
        return self.delivery_queue.subscriptions

    @property
    def deliveries(self) -> list[Delivery]:
        """The last 30 days, oldest first."""
        return self.delivery_queue.deliveries(self.clock())

    @property
    def used(self) -> int:
        return self.counts.months[month_of(self.clock())]

    # Racing. Each method returns the queued deliveries.

    def publish(self, event: str, subject: Race | Meeting, reason: str | None = None) -> list[Delivery]:
        """Sends an event, whatever the state of its race or meeting."""
        now, shape = self.clock(), self.switches.payload
        return self.delivery_queue.add(happening(event, subject, self.racing, shape, now, reason=reason), now)

    def settle(self, race_id: str) -> list[Delivery]:
        race = self.racing.race(race_id)
        self.racing.settle(race)
        return self.publish("result.received", race)

    def correct(self, race_id: str) -> list[Delivery]:
        """Winner and second change places, and the result is sent again."""
        self.racing.swap_first_two(self.racing.race(race_id))
        return self.settle(race_id)

    def abandon_race(self, race_id: str, reason: str) -> list[Delivery]:
        race = self.racing.race(race_id)
        self.racing.abandon(race, reason)
        return self.publish("race.abandoned", race)

    def abandon_meeting(self, meeting_id: str, reason: str) -> list[Delivery]:
        """Abandons the races without a result: one event for the meeting."""
        meeting = self.racing.meeting(meeting_id)
        for race in meeting.races:
            if self.racing.state(race).status != "result":
                self.racing.abandon(race, reason)
        return self.publish("meeting.abandoned", meeting, reason)

    def publish_racecards(self, day: date, region: str | None = None) -> list[Delivery]:
        """One event a meeting. The races can be searched from now on."""
        meetings = self.racing.publish(day, region)
        return [delivery for meeting in meetings for delivery in self.publish("racecard.published", meeting)]

    # The account and its requests.

    def subscribe(self, url: str, events: frozenset[str], region: str | None = None) -> Subscription:
        return self.delivery_queue.subscribe(url, events, region)

    def spend_quota(self, requests: int, *, errors: int = 0) -> None:
        now = self.clock()
        self.counts.months[month_of(now)] += requests
        self.usage[day_of(now), "/races/search"].update(requests=requests, errors=errors)

    def set_used(self, requests: int) -> None:
        """Sets the month's requests, all of them today's; and those of a month that begins within a minute."""
        now = self.clock()
        for when in (now + timedelta(minutes=1), now):
            self.counts.months[month_of(when)] = requests
            for (day, _), counts in self.usage.items():
                if day.startswith(month_of(when)):
                    counts["requests"] = 0
            self.usage[day_of(when), "/races/search"]["requests"] = requests

    def rotate_key(self, new_key: str | None = None) -> str:
        """The old key stops at once and keeps its counts, because limits are per key."""
        self.api_key, self.counts = new_key or f"{self.api_key}-rotated", KeyCounts()
        return self.api_key

    def set_plan(self, plan: str) -> None:
        self.plan = PLANS[plan]

    def switch(self, **changes: object) -> None:
        self.switches = replace(self.switches, **changes)  # type: ignore[arg-type]  # replace checks the names

    def fail_next(self, endpoint: str, failure: str, times: int = 1) -> None:
        """The next requests of an endpoint ("/races/search", "*") fail: a code, "drop", "html" or "slow".

        Raises KeyError for an unknown failure.
        """
        if failure not in (DROP, HTML, SLOW):
            scripted(failure, endpoint, self.window)
        self.failures[endpoint].extend([failure] * times)

    def heal(self) -> None:
        self.failures.clear()

    async def deliver_due(self, now: datetime | None = None) -> int:
        """The number of deliveries attempted, once each."""
        return await self.delivery_queue.deliver_due(now or self.clock(), self.switches)

    async def run_deliveries(self) -> None:
        while True:
            await self.deliver_due()
            await asyncio.sleep(DELIVER_EVERY_S)

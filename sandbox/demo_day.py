"""The demo's day."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import httpx

from sandbox.demo_bot import DemoFailed
from sandbox.demo_stage import ADMIN, ADMINS, CHANNELS, PLAN, Stage
from sandbox.page.counts import count, subject_of
from sandbox.racing_day import Meeting, Race
from sandbox.racing_service.delivery_queue import Attempt, Delivery
from sandbox.racing_service.event_payloads import CARD, RACE_OFF
from sandbox.racing_service.plan_table import PLANS

READ_S = 1.4
QUOTA = PLANS[PLAN].per_month
USED = QUOTA * 81 // 100

SUBSCRIBED = {
    "C0GB": "GB results abandonments racecards",
    "C0IRE": "IRE results abandonments racecards",
    "C0ALL": "all abandonments",
}


async def begin_at_the_page(stage: Stage) -> None:
    """Channels subscribe, and tomorrow's cards come out. Raises DemoFailed."""
    for channel_id, words in SUBSCRIBED.items():
        if problem := await stage.say(channel_id, ADMIN, f"/racing subscribe {words}"):
            raise DemoFailed(problem)
    racing = stage.service.racing
    for region in ("GB", "IRE"):
        for meeting in racing.meetings(racing.today + timedelta(days=1), region):
            stage.service.publish(CARD, meeting)


@dataclass
class Day:
    """Waits after each event until the channels have the message."""

    stage: Stage

    async def play(self) -> None:
        """Raises DemoFailed if a message does not arrive."""
        await self._channels_subscribe()
        await self._cards_come_out()
        await self._races_are_run()
        await self._repeat_and_forgery()
        await self._people_ask()
        await self._quota_runs_down()
        self._sum_up()

    async def _channels_subscribe(self) -> None:
        self.stage.screen.title("Three channels say what they want (only the person who types sees the answer)")
        for channel_id, words in SUBSCRIBED.items():
            await self._type(channel_id, "U0ALICE", f"/racing subscribe {words}")

    async def _cards_come_out(self) -> None:
        self.stage.screen.title("Declarations come out")
        for region, days_ahead in (("GB", 0), ("IRE", 1), ("FR", 1)):
            await self._deliver(self.stage.service.publish(CARD, self._meeting(region, days_ahead=days_ahead)))

    async def _races_are_run(self) -> None:
        self.stage.screen.title("The racing begins")
        service, british, irish = self.stage.service, self._meeting("GB"), self._meeting("IRE")
        await self._deliver(service.settle(british.races[0].race_id))
        await self._deliver(service.settle(irish.races[0].race_id))
        await self._deliver(service.settle(self._meeting("FR").races[0].race_id))
        other = self._meeting("GB", number=1)
        await self._deliver(service.abandon_race(other.races[1].race_id, "High winds"))
        await self._deliver(service.correct(british.races[0].race_id))
        await self._deliver(service.abandon_meeting(irish.meeting_id, "Frozen track"))

    async def _repeat_and_forgery(self) -> None:
        self.stage.screen.title("What comes twice, and what is forged")
        service, races = self.stage.service, self._meeting("GB").races
        service.switch(repeat_every=1)
        (delivery,) = service.settle(races[1].race_id)
        await self._deliver([delivery])
        service.switch(repeat_every=0)
        self.stage.screen.note(f"webhook: the same once more: {_said(delivery.attempts[-1])}, not posted twice")
        await self._forge(races[2])

    async def _people_ask(self) -> None:
        self.stage.screen.title("People ask")
        await self._type("C0GB", "U0BOB", "/racecard GB")

    async def _quota_runs_down(self) -> None:
        self.stage.screen.title("The month's quota runs down")
        self.stage.service.set_used(USED)
        self.stage.screen.note(f"the account has used {USED:,} of its {QUOTA:,} requests")
        await self.stage.wait_for(lambda: bool(self.stage.slack.messages(ADMINS)), "a warning for the admins")
        await self.stage.pause(READ_S)
        await self._type(ADMINS, "U0ALICE", "/usage")

    def _meeting(self, region: str, number: int = 0, days_ahead: int = 0) -> Meeting:
        racing = self.stage.service.racing
        return racing.meetings(racing.today + timedelta(days=days_ahead), region)[number]

    async def _type(self, channel_id: str, user_id: str, line: str) -> None:
        self.stage.screen.typed(channel_id, user_id, line)
        problem = await self.stage.say(channel_id, user_id, line)
        if problem is not None:
            raise DemoFailed(problem)
        await self.stage.pause(READ_S)

    async def _deliver(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            takers = self.stage.choices.takers(delivery.happening, delivery.created_at)
            about = f"{subject_of(delivery)} ({delivery.happening.region})"
            self.stage.screen.note(f"webhook: {about}{'' if takers else ', which no channel asked for'}")
        await self.stage.service.deliver_due()
        for delivery in deliveries:
            if delivery.status != "delivered":
                raise DemoFailed(f"The bot did not take a delivery: {_said(delivery.attempts[-1])}.")
        await self.stage.wait_for(self._all_there, "a message in each channel that asked for it")
        await self.stage.pause(READ_S)

    def _all_there(self) -> bool:
        return not count(self.stage.service.deliveries, self.stage.slack, self.stage.choices).lost

    async def _forge(self, race: Race) -> None:
        """A delivery signed with a stranger's secret."""
        answer = await self.stage.forge(race)
        if answer.status_code != httpx.codes.UNAUTHORIZED:
            raise DemoFailed(f"The bot did not refuse a forged delivery: {answer.status_code}.")
        self.stage.screen.note(f"webhook: forged {RACE_OFF}, {_place(race)}: 401, refused")
        await self.stage.pause(READ_S)

    def _sum_up(self) -> None:
        attempts = [attempt for delivery in self.stage.service.deliveries for attempt in delivery.attempts]
        repeats = sum("duplicate" in attempt.answer for attempt in attempts)
        posts = (f"{len(self.stage.slack.messages(id_))} in #{name}" for id_, name in CHANNELS.items())
        self.stage.screen.title("What you saw")
        self.stage.screen.plain(
            f"{len(attempts)} deliveries came: {len(attempts) - repeats} taken, {repeats} known already and not posted "
            "twice. A forged delivery was refused."
        )
        self.stage.screen.plain(f"Messages: {', '.join(posts)}.")


def _place(race: Race) -> str:
    return f"{race.course.name} {race.off_time} ({race.course.region})"


def _said(attempt: Attempt) -> str:
    """For example "200 duplicate"."""
    try:
        word = json.loads(attempt.answer)["status"]
    except (ValueError, KeyError, TypeError):
        word = attempt.error or attempt.answer
    return f"{attempt.status} {word}"

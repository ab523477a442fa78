"""`python -m bench.racing_day`: 30 meetings, 210 races and 40 channels within Slack's limits, by a clock that is moved.

The day takes fifteen hours of that clock and some minutes of this one. The bot's own fan-out and poster run a step at
a time against the stand-in of Slack, which refuses every call above Slack's limits.
"""

import asyncio
import contextlib
import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from sqlalchemy import select
from sqlmodel import Session, col

from bench.common import AtMost, Measure, percentile, table
from bot.app import Service
from bot.channels import subscriptions
from bot.channels.conditions.show_condition import MEETINGS as MEETINGS_SHOWN
from bot.channels.filters import ChannelFilter
from bot.db import migrate
from bot.db.database_clock import database_now
from bot.db.tables import OutboxMessage
from bot.deliveries import inbox
from bot.deliveries.payload import identify
from bot.events.event import Topic
from bot.logs import configure_logging
from bot.operations.jobs.follow_off_times import FOLLOW_EVERY_S, follow_off_times
from bot.outbox import channel_queues
from bot.outbox.message_store import IS_UNSENT, Priority
from bot.ports import Ports
from bot.settings import load_settings
from sandbox.racing_day import Meeting
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.racing import REASONS
from sandbox.racing_service.racing_standin import RacingService
from sandbox.slack.limits import SlackLimits
from sandbox.slack.values import PostedMessage
from sandbox.slack.workspace import SlackWorkspace

MEETINGS, RACES, ABANDONED_WITHIN_S = 30, 210, 60.0
DAY = date(2026, 11, 21)
CARDS_AT = datetime(2026, 11, 20, 22, tzinfo=UTC)
SETTLED_AFTER = timedelta(minutes=8)
CORRECTED_AFTER = timedelta(minutes=12)
CALLED_OFF_BEFORE = timedelta(minutes=10)
STEP_S, OTHER_STEP_S = 0.2, 2.0
"""The clock moves at least so far: while an abandonment waits, and else."""

MODES: dict[str, tuple[str, ...]] = {"flat": (), "meetings": (MEETINGS_SHOWN,)}
"""What channels choose by `show:`."""

USUAL = frozenset({Topic.RESULTS, Topic.ABANDONMENTS})
EVERYTHING = USUAL | {Topic.RACECARDS}
ABANDONMENTS = frozenset({Topic.ABANDONMENTS})
EVENTS = frozenset({"result.received", "race.abandoned", "meeting.abandoned", "racecard.published"})


@dataclass
class MovedClock:
    """The clock of the bot and of both stand-ins."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, order=True)
class Happening:
    """`subject`: the id of a race or of a meeting."""

    at: datetime
    number: int
    what: str = field(compare=False)
    subject: str = field(compare=False)


@dataclass
class Figures:
    """`late_s`: of each abandonment in each channel, from the delivery to the message."""

    late_s: list[float] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    refused: int = 0
    deliveries: int = 0
    messages: int = 0


class Programme:
    """The day's meetings, of two made-up days, and what happens."""

    def __init__(self, clock: MovedClock) -> None:
        first = _service(1, clock)
        for seed in count(2):
            second = _service(seed, clock)
            courses = {meeting.course.name for meeting in first.racing.meetings(DAY)}
            others = [one for one in second.racing.meetings(DAY) if one.course.name not in courses]
            meetings = [*first.racing.meetings(DAY), *others][:MEETINGS]
            if len(meetings) == MEETINGS and sum(len(one.races) for one in meetings) == RACES:
                break
        self.meetings = meetings
        self._services = {one.meeting_id: first if one not in others else second for one in meetings}
        self._services |= {race.race_id: self._services[one.meeting_id] for one in meetings for race in one.races}
        self._meetings: dict[str, Meeting] = {one.meeting_id: one for one in meetings}

    @property
    def regions(self) -> list[str]:
        return sorted({one.course.region for one in self.meetings})

    def happenings(self) -> list[Happening]:
        """Three meetings are called off: one before its first race, two in the middle. So are twelve single races."""
        random = Random(1)
        lost = random.sample(self.meetings, 3)
        races = [race for one in self.meetings for race in one.races]
        raced = [race.race_id for race in races if race.meeting_id not in {one.meeting_id for one in lost}]
        single, corrected = set(random.sample(raced, 12)), set(random.sample(raced, 12))
        found = [(CARDS_AT, "card", one.meeting_id) for one in self.meetings]
        for early, one in zip((True, False, False), lost, strict=True):
            at = one.races[0].off_at - timedelta(hours=3) if early else one.races[3].off_at - CALLED_OFF_BEFORE
            found.append((at, "meeting", one.meeting_id))
            ran = [] if early else one.races[:3]
            found += [(race.off_at + SETTLED_AFTER, "result", race.race_id) for race in ran]
        for race in races:
            if race.race_id in single:
                found.append((race.off_at - CALLED_OFF_BEFORE, "race", race.race_id))
            elif race.race_id in raced:
                found.append((race.off_at + SETTLED_AFTER, "result", race.race_id))
                if race.race_id in corrected:
                    found.append((race.off_at + CORRECTED_AFTER, "correction", race.race_id))
        return sorted(Happening(at, number, what, subject) for number, (at, what, subject) in enumerate(found))

    def make(self, one: Happening) -> list[Delivery]:
        """The deliveries of a happening."""
        service = self._services[one.subject]
        match one.what:
            case "card":
                return service.publish("racecard.published", self._meetings[one.subject])
            case "meeting":
                return service.abandon_meeting(one.subject, REASONS[0])
            case "race":
                return service.abandon_race(one.subject, REASONS[1])
            case "correction":
                return service.correct(one.subject)
            case _:
                return service.settle(one.subject)


def _service(seed: int, clock: MovedClock) -> RacingService:
    service = RacingService(DAY, seed=seed, clock=clock, days_back=0, days_ahead=0)
    service.subscribe("https://bot.example/webhooks/racing", EVENTS)
    return service


def filters(regions: Sequence[str], show: tuple[str, ...]) -> dict[str, ChannelFilter]:
    """Two channels of each region; of all regions ten, five with racecards, and five of abandonments alone."""
    chosen = [ChannelFilter(region=region, topics=USUAL) for region in regions for _ in range(2)]
    chosen += [ChannelFilter(region="*", topics=USUAL) for _ in range(10)]
    chosen += [ChannelFilter(region="*", topics=EVERYTHING) for _ in range(5)]
    chosen += [ChannelFilter(region="*", topics=ABANDONMENTS) for _ in range(5)]
    return {f"C{number:03}": one.model_copy(update={"show": show}) for number, one in enumerate(chosen)}


class Day:
    """The bot, a step at a time."""

    def __init__(self, service: Service, slack: SlackWorkspace, clock: MovedClock) -> None:
        self._service, self._slack, self._clock = service, slack, clock
        self._off_times = follow_off_times(service.database, clock, service.queued)
        self._follow_at = clock()

    async def play(self, programme: Programme, chosen: dict[str, ChannelFilter]) -> Figures:
        await self._service.database.write(partial(_subscribe, chosen=chosen, now=self._clock()))
        figures = Figures()
        sent: list[tuple[Delivery, datetime]] = []
        for one in programme.happenings():
            await self._post_until(one.at)
            for delivery in programme.make(one):
                await self._deliver(delivery)
                sent.append((delivery, self._clock()))
        await self._post_until(None)
        self._count(figures, sent, chosen)
        return figures

    async def _deliver(self, delivery: Delivery) -> None:
        body = json.dumps(delivery.happening.payload).encode()
        key, name = identify(body)
        await self._service.ingest.store(
            inbox.Arrival(key, name, hashlib.sha256(body).hexdigest(), body, self._clock())
        )

    async def _post_until(self, end: datetime | None) -> None:
        """Moves the clock from one due message, or run of the job, to the next. Without an end: until nothing waits."""
        service = self._service
        while await service.fanout.run_once():
            continue
        while end is None or self._clock.now < end:
            if self._clock.now >= self._follow_at:
                await self._off_times.run()
                self._follow_at = self._clock.now + timedelta(seconds=FOLLOW_EVERY_S)
            if await service.database.read(self._next_due) is None:
                if end is None:
                    return
                self._clock.now = min(end, self._follow_at)
                continue
            wait_s = await service.poster.start_due()
            await service.poster.finish()
            urgent = await service.database.read(_abandonment_waits)
            self._clock.now += timedelta(seconds=max(wait_s, STEP_S if urgent else OTHER_STEP_S))

    def _next_due(self, session: Session) -> datetime | None:
        return channel_queues.next_due(session, database_now(session, self._clock))

    def _count(
        self, figures: Figures, sent: Sequence[tuple[Delivery, datetime]], chosen: dict[str, ChannelFilter]
    ) -> None:
        slack = self._slack
        figures.deliveries = len(sent)
        figures.calls = Counter(call.method for call in slack.calls)
        figures.refused = sum(call.error is not None for call in slack.calls)
        messages = {channel_id: slack.messages(channel_id) for channel_id in chosen}
        figures.messages = sum(map(len, messages.values()))
        for delivery, at in sent:
            if not delivery.happening.event.endswith("abandoned"):
                continue
            for channel_id, one in chosen.items():
                if one.region not in ("*", delivery.happening.region):
                    continue
                first = _first_about(delivery, messages[channel_id], at)
                if first is None:
                    figures.missing += 1
                else:
                    figures.late_s.append((first - at).total_seconds())


def _first_about(delivery: Delivery, messages: Sequence[PostedMessage], at: datetime) -> datetime | None:
    payload = delivery.happening.payload
    subject = payload.get("race") or payload["meeting"]
    words = (subject["course"]["name"], subject.get("off_time") or "meeting", "ABANDONED")
    return next(
        (one.received_at for one in messages if one.received_at >= at and all(word in one.text for word in words)),
        None,
    )


def _abandonment_waits(session: Session) -> bool:
    waiting = select(col(OutboxMessage.id)).where(IS_UNSENT, col(OutboxMessage.priority) == Priority.ABANDONMENT)
    return session.execute(waiting.limit(1)).first() is not None


def _subscribe(session: Session, *, chosen: dict[str, ChannelFilter], now: datetime) -> None:
    for channel_id, one in chosen.items():
        subscriptions.save(session, channel_id, one, user_id="UALICE", now=now)


async def run(folder: Path, show: tuple[str, ...]) -> Figures:
    """Raises SystemExit where the day has another size."""
    clock = MovedClock(CARDS_AT - timedelta(minutes=5))
    programme = Programme(clock)
    slack = SlackWorkspace(clock=clock, limits=SlackLimits())
    chosen = filters(programme.regions, show)
    for channel_id in chosen:
        slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    async with slack.running():
        settings = load_settings(
            env_file=None,
            database_url=f"sqlite:///{folder / 'day.db'}",
            slack_bot_token=slack.bot_token,
            slack_signing_secret=slack.signing_secret,
            slack_api_url=slack.api_url,
            racing_api_url="http://127.0.0.1:9/v1",
            racing_api_key="a-key",
            racing_webhook_secrets="a-secret",
        )
        service = Service(settings, ports=Ports(clock))
        migrate.upgrade(service.database)
        try:
            return await Day(service, slack, clock).play(programme, chosen)
        finally:
            await service.poster.finish()
            await service.web.session.close() if service.web.session else None
            await service.database.close()


def measured(show: tuple[str, ...]) -> Figures:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with (folder / "log").open("w", encoding="utf-8") as lines, contextlib.redirect_stderr(lines):
            configure_logging("WARNING", "console")
            return asyncio.run(run(folder, show))


def main() -> None:
    for mode, show in MODES.items():
        print(f"show: {mode}")
        print(table(_measures(measured(show))))


def _measures(figures: Figures) -> list[Measure]:
    calls = figures.calls
    return [
        Measure("abandonments in their channels", len(figures.late_s), ""),
        Measure("abandonments missing", figures.missing, "", AtMost(0)),
        Measure("abandonment to message, p50", percentile(figures.late_s, 50), "s"),
        Measure("abandonment to message, last", max(figures.late_s, default=math.inf), "s", AtMost(ABANDONED_WITHIN_S)),
        Measure("calls that Slack refused", figures.refused, "", AtMost(0)),
        Measure("messages", figures.messages, ""),
        *(Measure(f"{name} for each meeting", made / MEETINGS, "calls") for name, made in sorted(calls.items())),
    ]


if __name__ == "__main__":
    main()

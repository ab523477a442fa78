"""Missing outcomes are told to admins once, by all replicas together, and taken back when delivered."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.db.tables import WebhookSubscriptionRow
from bot.events.races import Course, OffTime, Race
from bot.operations.watchdog import REQUESTS_LEFT_TO_PEOPLE, DeliveryWatch, read_missing, told_as_missing
from bot.racedata import quota_book, race_book_store, webhook_subscriptions
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.month_quota import QuotaReading, QuotaSource
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from tests.answering import failing
from tests.clock import now
from tests.databases import on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import fan_out
from tests.said import ALL_CLEAR, URGENT, WARNING, level_of, words_of
from tests.statements import noted, plans_of
from tests.unit.racedata.conftest import FakeClient

NOW = datetime(2026, 11, 20, 18, tzinfo=UTC)
LONG_PAST = timedelta(hours=3)
AT_ASCOT = {"course": "Ascot", "date": "2026-11-20"}
OUTCOMES = "result.received,race.abandoned,meeting.abandoned"
SETTINGS: Any = SimpleNamespace(monthly_quota=None, command_quota_share=25, racing_day_path=None, racing_race_path=None)


class Watched:
    """A watched pipeline, at the test's time. Posting goes by the real time."""

    def __init__(self, pipeline, client):
        self.pipeline, self.client = pipeline, client
        self.clock = Moment(NOW)
        self.levels = []

    def watch(self):
        database = self.pipeline.database
        book = QuotaBook(database, self.client, SETTINGS, self.clock)
        races = RaceBook(database, self.client, self.clock, book, SETTINGS)
        return DeliveryWatch(database, self.pipeline.notices, races, book, self.clock, asyncio.Event())

    async def run(self, forward=timedelta()):
        """The admins' notices by a single run."""
        self.clock.now += forward
        before = len(self.pipeline.texts("CADMIN"))
        await self.watch().run()
        await self.pipeline.post_all()
        texts = self.pipeline.texts("CADMIN")[before:]
        self.levels = [level_of(text) for text in texts]
        return [words_of(text) for text in texts]

    async def subscribed(self, region=None, events=OUTCOMES, days=30):
        made_at = NOW - timedelta(days=days)
        row = WebhookSubscriptionRow(url="https://bot.example.com", events=events, region=region, created_at=made_at)
        await self.pipeline.database.write(lambda session: webhook_subscriptions.add(session, row))

    async def retire(self):
        await self.pipeline.database.write(lambda session: webhook_subscriptions.retire(session, 1, NOW))

    async def use(self, used):
        """Requests of the present month."""
        reading = QuotaReading(
            taken_at=NOW, month="2026-11", used=used, certain=True, source=QuotaSource.TOTAL, limit=15_000
        )
        await self.pipeline.database.write(lambda session: quota_book.put_reading(session, reading))

    async def deliver(self, *payloads):
        for payload in payloads:
            await self.pipeline.deliver(payload)
        await self.pipeline.post_all()

    async def both_replicas(self):
        """Whether each of two looks in the same instant told admins, and the number of the admins' notices."""
        told = await asyncio.gather(self.watch().run(), self.watch().run())
        await self.pipeline.post_all()
        return sorted(told), len(self.pipeline.texts("CADMIN"))

    async def book(self, *races):
        await self.pipeline.database.write(lambda session: race_book_store.put(session, races, NOW, region=None))

    async def has_open(self):
        """As `/racing status` counts."""
        return await self.pipeline.database.read(lambda session: told_as_missing(session, self.clock.now))


@pytest.fixture
async def watched(pipeline):
    made = Watched(pipeline, FakeClient(page_size=200))
    await made.subscribed()
    return made


def race(number, hours_ago=4.0, region="GB", course="Ascot", **more):
    """A race whose off time came with an offset."""
    off_at = NOW - timedelta(hours=hours_ago)
    return Race(
        race_id=f"rc_{number}",
        region=region,
        course=Course(name=course),
        race_date=off_at.date().isoformat(),
        off=OffTime(text=f"{off_at:%H:%M}", off_at=off_at),
        **more,
    )


def result(number, **fields):
    runners = [{"position": 1, "horse": "Blue Moon"}]
    return {"event": "result.received", "race": {"race_id": f"rc_{number}", "runners": runners, **fields}}


async def test_meeting_without_outcomes_is_told_once_when_it_is_long_past_and_taken_back_when_they_come(watched):
    await watched.book(race(1, hours_ago=0), race(2, hours_ago=-0.5))
    assert await watched.run(LONG_PAST - timedelta(seconds=1)) == []
    (told,) = await watched.run(timedelta(seconds=1))
    assert told.startswith("1 race should have been over for 3 hours or more")
    assert "Ascot (GB, 2026-11-20) 18:00. The data service's list has no outcome either." in told
    assert watched.levels == [WARNING]
    assert [one for one in watched.client.asked if isinstance(one, tuple)] == [("GB", None)]
    for _ in range(3):
        assert await watched.run(timedelta(hours=2)) == []
    assert len([one for one in watched.client.asked if isinstance(one, tuple)]) == 1, "asked again and again"
    await watched.deliver(result(1))
    assert [await watched.run(), await watched.has_open()] == [[], 1], "the meeting's other race is missing"
    await watched.deliver(result(2))
    (told,) = await watched.run()
    assert told.endswith("Ascot (GB, 2026-11-20).")
    assert watched.levels == [ALL_CLEAR]
    assert [await watched.run(timedelta(hours=2)), await watched.has_open()] == [[], 0]
    await watched.book(race(3, hours_ago=-1))
    (told,) = await watched.run()
    assert "Ascot (GB, 2026-11-20) 19:00" in told, "the meeting again"


@pytest.mark.parametrize(
    "delivery",
    [
        result(1),
        result(1, date="2026-11-20", course="Ascot", region="GB"),
        {"event": "race.abandoned", "race": {"race_id": "rc_1"}},
        {"event": "result.received", "race": AT_ASCOT | {"off_time": "14:00", "winner": "X"}},
        {"event": "meeting.abandoned", "meeting": AT_ASCOT | {"region": "GB"}},
        {"event": "meeting.abandoned", "meeting": {"meeting_id": "mt_1"}},
        {"event": "meeting.abandoned", "meeting": {"meeting_id": "mt_9"}, "races": [{"race_id": "rc_1"}]},
    ],
    ids=["result", "result in full", "abandonment", "no id", "meeting by course", "meeting by id", "meeting's race"],
)
async def test_outcome_that_was_delivered_in_any_form_is_not_missed(watched, delivery):
    await watched.book(race(1, meeting_id="mt_1"))
    await watched.deliver(delivery)
    assert await watched.run() == []


@pytest.mark.parametrize(
    "named", [{"race_id": "rc_1"}, {"race_id": "rc_1", "meeting_id": "mt_1"}, {"meeting_id": "mt_1"}]
)
async def test_race_whose_loss_was_taken_back_is_missed(watched, named):
    event, subject = ("race.abandoned", "race") if "race_id" in named else ("meeting.abandoned", "meeting")
    await watched.book(race(1, meeting_id="mt_1"))
    for sequence, status in enumerate(("Abandoned", "Reinstated")):
        said = {"event": event, subject: AT_ASCOT | {"region": "GB", "status": status, **named}, "sequence": sequence}
        await watched.deliver(said)
    (told,) = await watched.run()
    assert "Ascot (GB, 2026-11-20) 14:00" in told


async def test_race_of_a_date_that_is_no_day_is_missed_by_its_off_and_not_asked_for(watched):
    """A moment in place of the date stands between the days as a text."""
    await watched.book(race(1).model_copy(update={"race_date": "2026-11-20 14:00 UTC"}))
    (told,) = await watched.run()
    assert "Ascot (GB, 2026-11-20 14.00 UTC) 14:00." in told
    assert "I could not ask the data service about all these races" in told


async def test_outcome_that_is_listed_and_was_not_delivered_is_told_as_such(watched):
    await watched.book(race(1), race(2, hours_ago=4.5))
    listed = {"race_id": "rc_1", "date": "2026-11-20", "region": "GB", "course": "Ascot", "status": "result"}
    watched.client.races = [listed, {"race_id": "rc_9", "date": "2026-11-29", "region": "GB"}]
    (told,) = await watched.run()
    assert told.startswith("2 races should have been over")
    assert "lists an outcome for 1 of these races, but delivered none" in told
    await watched.deliver(result(1))
    assert await watched.run(timedelta(minutes=10)) == []


@pytest.mark.parametrize(
    ("races", "late"), [(1, 0), (3, 0), (4, 1)], ids=["meeting", "silent day", "silent day with a late result"]
)
async def test_new_subscription_takes_back_no_missing_race(watched, races, late):
    await watched.book(*map(race, range(races)))
    assert len(await watched.run()) == 1
    await watched.subscribed(days=0)
    assert await watched.run() == []
    await watched.retire()
    await watched.deliver(*map(result, range(late)))
    assert [await watched.run(), await watched.has_open()] == [[], 1]
    await watched.deliver(*map(result, range(late, races)))
    assert [len(await watched.run()), watched.levels] == [1, [ALL_CLEAR]]


@pytest.mark.parametrize("is_moved", [True, False])
async def test_race_that_is_moved_to_another_day_is_taken_back_and_one_of_an_old_day_is_not(watched, is_moved):
    await watched.book(race(1))
    assert len(await watched.run()) == 1
    if is_moved:
        await watched.book(race(1, hours_ago=-48))
    told = await watched.run(timedelta(days=0 if is_moved else 9))
    words = "or the races have another day: Ascot (GB, 2026-11-20)."
    assert ([text.endswith(words) for text in told], await watched.has_open()) == ([True] * is_moved, 0)


async def test_only_races_whose_delivery_can_be_expected_are_missed(watched, pipeline):
    """Nothing is missed of another region, before the subscription, or without all outcomes subscribed."""
    await watched.retire()
    await watched.subscribed(region="IRE")
    await watched.subscribed(region="FR", events="result.received")
    await watched.subscribed(region="GB", days=0.1)
    await watched.book(race(1, region="AUS"), race(2, region="FR"), race(3, region="GB"), race(4, region=None))
    assert await watched.run() == []
    await watched.book(race(5, region="IRE"))
    assert len(await watched.run()) == 1


async def test_without_a_known_subscription_regions_count_that_were_delivered_lately(watched, pipeline):
    await watched.retire()
    await watched.book(race(1), race(2, region="IRE"))
    assert await watched.run() == []
    pipeline.clock.now = NOW - timedelta(hours=30)
    await fan_out(pipeline, result(7, date="2026-11-19", course="York", region="GB"))
    pipeline.clock.now = now()
    (told,) = await watched.run()
    assert "Ascot (GB" in told
    assert "IRE" not in told


async def test_only_ten_meetings_are_named(watched, pipeline):
    await watched.deliver(result(99, date="2026-11-20", course="York", region="GB"))
    await watched.book(*(race(number, course=f"Course {number}") for number in range(13)))
    (told,) = await watched.run()
    assert told.startswith("13 races should have been over")
    assert "and 3 more." in told


async def test_day_without_any_delivery_is_told_once_as_such_until_a_delivery_comes(watched):
    await watched.book(race(0))
    assert len(await watched.run()) == 1
    await watched.book(
        *(race(number, hours_ago=2.5) for number in range(1, 5)), race("late", hours_ago=1), race("york", course="York")
    )
    (told,) = await watched.run(timedelta(hours=1))
    assert told.startswith("No result and no abandonment was delivered of the racing day 2026-11-20, although 6 races")
    assert watched.levels == [URGENT]
    assert await watched.run(timedelta(hours=2)) == []
    await watched.deliver(result(1))
    (told,) = await watched.run(timedelta(hours=1))
    assert told.startswith("1 race should have been over for 3 hours or more")
    assert "York" in told
    assert "Ascot" not in told, "told before"
    assert watched.levels == [WARNING], "no all-clear: races are missing"
    assert await watched.has_open() == 2, "the meetings in the day's place"


async def test_day_whose_races_are_all_told_already_ends_without_a_word(watched):
    """The book's only meeting was told before its day."""
    await watched.book(race(0))
    assert len(await watched.run()) == 1
    await watched.book(*map(race, range(3)))
    assert [len(await watched.run()), watched.levels] == [1, [URGENT]]
    await watched.deliver(result(0))
    assert [await watched.run(), await watched.has_open()] == [[], 1]
    await watched.deliver(result(1), result(2))
    (told,) = await watched.run()
    assert told.endswith(": Ascot (GB, 2026-11-20).")


async def test_told_day_stays_told_below_three_missing_races_until_its_first_delivery(watched):
    await watched.book(*map(race, range(3)))
    assert len(await watched.run()) == 1
    await watched.book(race(0, hours_ago=-48))
    assert [await watched.run(), await watched.has_open()] == [[], 1]


# The region of the subscription, and the days for which nothing comes until admins hear.
@pytest.mark.parametrize(("region", "days"), [(None, 3), ("GB", 8)])
async def test_silence_is_told_once_where_no_race_is_known(watched, pipeline, region, days):
    await watched.retire()
    await watched.subscribed(region=region)
    assert await watched.run(timedelta(days=30)) == [], "nothing has ever come"
    for number in (1, 2):
        watched.clock.now = pipeline.clock.now = now() + timedelta(days=20 * number)
        await watched.deliver(result(number))
        assert await watched.run(timedelta(days=days)) == []
        (told,) = await watched.run(timedelta(seconds=1))
        assert told.startswith("No delivery has come since 20")
        assert watched.levels == [URGENT]
        assert await watched.run(timedelta(days=2)) == []


@on_both
async def test_day_counts_as_silent_from_three_races_on_and_without_any_delivery(watched):
    await watched.book(
        *(race(f"{ago}{number}", ago * 24 + 4) for ago, races in ((0, 2), (1, 3), (2, 4)) for number in range(races))
    )
    await watched.deliver(result("22", date="2026-11-18", course="Ascot", region="GB"))
    (told,) = await watched.run()
    assert re.findall("racing day ([0-9-]+), although ([0-9]+) races", told) == [("2026-11-19", "3")]
    assert "5 races should have been over" in told
    assert await watched.has_open() == 3


async def test_race_that_the_service_could_not_be_asked_for_is_told_with_a_word_on_that(watched):
    await watched.book(race(1))
    watched.client.failure = ServerFault("races/search", status=500)
    (told,) = await watched.run()
    assert "I could not ask the data service about all these races" in told
    assert watched.client.asked


@pytest.mark.parametrize(("left", "asks"), [(2_000, True), (1_999, False), (REQUESTS_LEFT_TO_PEOPLE, False)])
async def test_service_is_asked_while_five_hundred_requests_are_left_to_people(watched, left, asks):
    """A quarter of the requests left is for people."""
    await watched.book(race(1))
    await watched.use(15_000 - left)
    (told,) = await watched.run()
    assert bool(watched.client.asked) is asks
    assert ("I could not ask the data service about all these races" in told) is not asks


@on_both
async def test_two_replicas_in_the_same_instant_tell_once(watched):
    await watched.book(race(1), race(2), race("ire", region="IRE"))
    await watched.deliver(result(99, date="2026-11-20", course="York", region="GB"))
    assert await watched.both_replicas() == ([False, True], 1)
    await watched.deliver(result(1), result(2), result("ire"))
    assert await watched.both_replicas() == ([False, True], 2)


async def test_run_that_dies_before_its_commit_is_made_good_by_the_next(watched, pipeline, monkeypatch):
    await watched.book(race(1))
    with monkeypatch.context() as patched:
        patched.setattr(pipeline.notices, "tell", lambda *_args, **_more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await watched.watch().run()
    assert len(await watched.run()) == 1


async def test_look_that_finds_nothing_writes_nothing(watched, pipeline, monkeypatch):
    await watched.book(race(1, hours_ago=1))

    monkeypatch.setattr(pipeline.database, "write", failing(AssertionError("a write")))
    assert await watched.watch().run() is False


async def test_look_goes_by_indexes_that_do_not_grow_with_the_history(watched, pipeline):
    await watched.book(race(1), race(2, hours_ago=30))
    with noted(pipeline.database) as statements:
        found = await pipeline.database.read(lambda session: read_missing(session, NOW))
    assert len(found.news) == 2
    plans = plans_of(pipeline.database, [one for one in statements if one[0].startswith("SELECT")])
    scans = [plan for plan in plans if plan.startswith(("SCAN event", "SCAN book_race", "SCAN inbox"))]
    assert scans == ["SCAN inbox"], "the first row by number"
    assert any("ix_event_without_race_id" in plan for plan in plans)
    # A look for every race without an id would read all such races, however old.
    by_no_id = [plan for plan in plans if "ix_event_race_id (race_id=?)" in plan]
    assert len(by_no_id) == 1, "the look for the race of a row"

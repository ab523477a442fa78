"""The bucket against a service with real windows, simulated event by event: skew, latency, rivals, broken headers."""

import asyncio
import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.racedata.client.headers import RateReading, read_rate
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import RateLimited
from bot.racedata.client.throttle import TokenBucket
from tests.unit.racedata.scripted_service import BASE_URL, KEY, Memory, SleepClock, answer, refusal

START = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)


@dataclass
class Minutes:
    """Counts requests in fixed minutes of its own clock, as the interface describes."""

    limit: int
    skew_s: float = 0.0
    says: frozenset[str] = frozenset({"limit", "remaining", "reset", "date"})
    used: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def ask(self, now, *, rival=False):
        """The headers of the answer, and whether it was a refusal."""
        clock = START.timestamp() + now + self.skew_s
        window = int(clock // 60)
        self.used[window] += 1
        refused = self.used[window] > self.limit
        if refused and not rival:
            self.refused[window] += 1
        reset = (window + 1) * 60
        headers = {
            "limit": ("x-ratelimit-limit", str(self.limit)),
            "remaining": ("x-ratelimit-remaining", str(max(0, self.limit - self.used[window]))),
            "reset": ("x-ratelimit-reset", str(reset)),
            "date": ("date", format_datetime(START + timedelta(seconds=int(now + self.skew_s)), usegmt=True)),
        }
        return dict(headers[name] for name in headers if name in self.says), (reset - clock if refused else None)


def run(service, buckets, latencies, *, until=400.0, workers=4, rivals=(), background=False):
    """Let `workers` ask as fast as each replica's bucket allows; gives when each request was sent."""
    order = itertools.count()
    events: list[Any] = [(0.0, next(order), "free", bucket, None) for bucket in buckets for _ in range(workers)]
    events += [(at, next(order), "rival", None, None) for at in rivals]
    heapq.heapify(events)
    latency = itertools.cycle(latencies)
    waiting: Counter[TokenBucket] = Counter()
    sent = []

    def happens(at, kind, bucket, payload=None):
        heapq.heappush(events, (at, next(order), kind, bucket, payload))

    while events and events[0][0] < until:
        now, _, kind, bucket, payload = heapq.heappop(events)
        if kind == "rival":
            service.ask(now, rival=True)
        elif kind == "arrives":
            happens(now + payload, "answered", bucket, service.ask(now))
        elif kind == "answered":
            bucket.answered(now, read_rate(payload[0]), payload[1])
            for _ in range(waiting.pop(bucket, 0) + 1):
                happens(now, "free", bucket)
        elif (wait_s := bucket.wait_s(now, background=background, replicas=len(buckets))) is None:
            waiting[bucket] += 1
        elif wait_s > 0:
            happens(now + wait_s, "free", bucket)
        else:
            bucket.take()
            sent.append(now)
            there = next(latency)
            happens(now + there, "arrives", bucket, there)
    return sent


seconds = st.floats(0.01, 3.0)
skews = st.floats(-5000, 5000)


@given(limit=st.integers(1, 40), skew_s=skews, latencies=st.lists(seconds, min_size=1, max_size=9))
@example(limit=1, skew_s=0.0, latencies=[2.0])
def test_bucket_alone_on_the_key_is_never_refused(limit, skew_s, latencies):
    service = Minutes(limit, skew_s)
    sent = run(service, [TokenBucket()], latencies)
    assert not service.refused
    assert len(sent) >= min(limit, 10)


@given(
    says=st.sets(st.sampled_from(["remaining", "reset", "date"])),
    skew_s=skews,
    latencies=st.lists(seconds, min_size=1, max_size=9),
)
def test_bucket_is_never_refused_when_headers_are_missing(says, skew_s, latencies):
    service = Minutes(60, skew_s, frozenset(says))
    assert run(service, [TokenBucket()], latencies)
    assert not service.refused


@given(
    limit=st.integers(20, 40),
    skew_s=skews,
    latencies=st.lists(st.floats(0.01, 0.5), min_size=1, max_size=9),
    rivals=st.lists(st.floats(0, 400), max_size=600),
)
def test_bucket_beside_a_rival_costs_at_most_one_refusal_a_minute(limit, skew_s, latencies, rivals):
    service = Minutes(limit, skew_s)
    run(service, [TokenBucket()], latencies, rivals=rivals)
    assert all(refusals <= 1 for refusals in service.refused.values()), service.refused


def test_bucket_beside_a_rival_that_uses_up_every_minute_costs_one_refusal_a_minute():
    service = Minutes(60)
    rivals = [minute * 60 + number / 1000 for minute in range(7) for number in range(60)]
    run(service, [TokenBucket()], [0.1], rivals=rivals)
    assert max(service.refused.values()) == 1


LATENCIES = [0.1, 0.25, 0.4, 0.15, 0.9]
STEADY = [number * 1.5 for number in range(400)]
BURSTY = [minute * 60 + 20 + number * 0.05 for minute in range(10) for number in range(40)]


@pytest.mark.parametrize(
    ("replicas", "rivals", "least_sent"),
    [(1, [], 510), (1, STEADY, 410), (1, BURSTY, 435), (2, [], 530), (2, STEADY, 470), (2, BURSTY, 499)],
    ids=["one-alone", "one-steady", "one-bursty", "two-alone", "two-steady", "two-bursty"],
)
def test_buckets_leave_a_rival_room_and_are_not_refused(replicas, rivals, least_sent):
    service = Minutes(60)
    sent = run(service, [TokenBucket() for _ in range(replicas)], LATENCIES, until=600, rivals=rivals)
    assert not service.refused
    assert len(sent) >= least_sent


def test_bucket_keeps_part_of_the_minute_free_of_background_work():
    service = Minutes(60)
    bucket = TokenBucket()
    sent = run(service, [bucket], [0.05], until=50, background=True)
    assert len(sent) == 45
    assert bucket.wait_s(50, background=True, replicas=1) not in {None, 0}
    assert bucket.wait_s(50, background=False, replicas=1) == 0


def test_bucket_uses_most_of_the_limit_when_it_is_alone():
    service = Minutes(60)
    assert len(run(service, [TokenBucket()], [0.2], until=300)) >= 5 * 57


@pytest.mark.parametrize(
    ("replicas", "background", "sent"),
    [(1, False, 60), (1, True, 45), (3, False, 20), (3, True, 15), (200, False, 1), (200, True, 1)],
)
def test_bucket_divides_the_limit_among_replicas(replicas, background, sent):
    bucket = TokenBucket()
    for _ in range(sent):
        assert bucket.wait_s(0, background=background, replicas=replicas) == 0
        bucket.take()
        bucket.answered(0, None)
    assert bucket.wait_s(0, background=background, replicas=replicas) == 60


@given(replicas=st.integers(2, 5), skew_s=skews, latencies=st.lists(seconds, min_size=1, max_size=9))
def test_buckets_of_replicas_are_never_refused_together(replicas, skew_s, latencies):
    service = Minutes(60, skew_s)
    assert len(run(service, [TokenBucket() for _ in range(replicas)], latencies)) >= 60
    assert not service.refused


def test_bucket_takes_the_lower_limit_that_the_service_reports():
    service = Minutes(10)
    assert len(run(service, [TokenBucket(60)], [0.05], until=50)) == 10


def test_bucket_sends_one_request_alone_until_the_count_is_known():
    bucket = TokenBucket()
    assert bucket.wait_s(0, background=False, replicas=1) == 0
    bucket.take()
    assert bucket.wait_s(0, background=False, replicas=1) is None
    bucket.answered(1, None)
    assert bucket.wait_s(1, background=False, replicas=1) == 0


def told(left, *, under_way):
    """A bucket that was told how many of 60 are left, with requests under way since."""
    bucket = TokenBucket(60)
    bucket.take()
    bucket.answered(0, RateReading(60, left + under_way, 120, 60.0))
    for _ in range(under_way):
        bucket.take()
    return bucket


@pytest.mark.parametrize(
    ("left", "background", "wait_s"), [(16, True, 0), (15, True, 60), (7, False, 0), (6, False, 60)]
)
def test_bucket_leaves_the_last_of_a_minute_to_commands_and_to_others(left, background, wait_s):
    assert told(left, under_way=0).wait_s(0, background=background, replicas=1) == wait_s


@pytest.mark.parametrize(
    ("left", "under_way", "now", "wait_s"),
    [
        (16, 1, 0, 0),
        (15, 1, 0, None),
        (15, 0, 0, 0),
        # The minute is over, so the count is unknown.
        (16, 1, 59.9, 0),
        (16, 1, 60, None),
        # As many under way as the limit allows, however many the service still gives.
        (500, 59, 0, 60),
        (500, 60, 0, None),
    ],
    ids=["more than a quarter", "a quarter", "none under way", "before", "after", "all but one", "all"],
)
def test_bucket_sends_one_request_at_a_time_while_the_count_is_low_or_unknown(left, under_way, now, wait_s):
    assert told(left, under_way=under_way).wait_s(now, background=False, replicas=1) == wait_s


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("sent_before", [0, 1, 59])
@pytest.mark.parametrize(("hold_s", "resets_in_s"), [(2, 52.0), (7, 42.0), (42, 7.0), (30, None)])
def test_bucket_goes_on_after_the_wait_that_a_refusal_asked_for(hold_s, resets_in_s, sent_before, background):
    bucket = TokenBucket(60)
    for _ in range(sent_before):
        bucket.take()
        bucket.answered(0, RateReading(60, 0, 999, 60.0))
    bucket.take()
    bucket.answered(0, RateReading(60, 0, 999, resets_in_s), hold_s=hold_s)
    assert bucket.wait_s(0, background=background, replicas=1) == hold_s
    assert bucket.wait_s(hold_s, background=background, replicas=1) == 0
    # Whoever used up the minute may be at it still: one request finds out.
    bucket.take()
    assert bucket.wait_s(hold_s, background=background, replicas=1) is None


def test_bucket_waits_as_often_as_it_is_refused():
    bucket, now = TokenBucket(60), 0.0
    for _ in range(20):
        bucket.take()
        bucket.answered(now, RateReading(60, 0, 999, 52.0), hold_s=2)
        assert bucket.wait_s(now, background=False, replicas=1) == 2
        now += 2
        assert bucket.wait_s(now, background=False, replicas=1) == 0


@pytest.mark.parametrize("holds_s", [(40, 2), (2, 40)], ids=["longer first", "longer last"])
def test_bucket_waits_for_the_longer_of_two_refusals(holds_s):
    bucket = TokenBucket(60)
    for _ in holds_s:
        bucket.take()
    for hold_s in holds_s:
        bucket.answered(0, None, hold_s=hold_s)
    assert bucket.wait_s(0, background=False, replicas=1) == 40


# Of two answers: how many are left, in which window, and when the window ends. The second comes after so many seconds.
TOLD_TWICE = {
    "earlier end first": ((0, 120, 52.0), 0, (0, 120, 57.0), 52),
    "earlier end last": ((0, 120, 57.0), 0, (0, 120, 52.0), 52),
    "fewer first": ((0, 120, 52.0), 0, (30, 120, 52.0), 52),
    "no window first": ((0, None, 52.0), 0, (30, 120, 57.0), 52),
    "no window last": ((0, 120, 52.0), 0, (30, None, 57.0), 52),
    "the window before last": ((0, 120, 52.0), 1, (59, 60, 1.0), 51),
    "the next window early": ((0, 120, 52.0), 50, (30, 180, 60.0), 0),
    "after the end, without a window": ((30, 120, 52.0), 53, (0, None, None), 60),
}


@pytest.mark.parametrize("name", TOLD_TWICE)
def test_bucket_goes_by_what_two_answers_tell(name):
    bucket = TokenBucket(60)
    first, after_s, last, wait_s = TOLD_TWICE[name]
    for at, reading in ((0, first), (after_s, last)):
        bucket.take()
        bucket.answered(at, RateReading(60, *reading))
    assert bucket.wait_s(after_s, background=False, replicas=1) == wait_s


readings = st.builds(
    RateReading,
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(0, 10**12),
    st.none() | st.integers(61, 10**12),
    st.none() | st.floats(1, 60),
)


@given(
    steps=st.lists(st.tuples(st.floats(0, 90), st.none() | readings, st.none() | st.floats(1, 300)), max_size=40),
    background=st.booleans(),
    replicas=st.integers(1, 200),
)
def test_bucket_always_frees_up_whatever_it_was_told(steps, background, replicas):
    bucket, now = TokenBucket(), 0.0
    for passed_s, reading, hold_s in steps:
        now += passed_s
        if bucket.wait_s(now, background=background, replicas=replicas) == 0:
            bucket.take()
            bucket.answered(now, reading, hold_s)
    for _ in range(2000):
        wait_s = bucket.wait_s(now, background=background, replicas=replicas)
        assert wait_s is not None
        if wait_s == 0:
            return
        now += wait_s
    raise AssertionError("it never frees up")


# The client with somebody else on the same key, on a clock that the test drives

MINUTES = 3


class Rivalry(SleepClock):
    """Time in which a rival asks `per_minute` times between two seconds of each minute, at moments thrown with
    a fixed seed. Each request of ours takes 50 ms."""

    def __init__(self, per_minute, from_s, until_s, *, skew_s):
        super().__init__()
        self.start = START
        chance = random.Random(per_minute)
        moments = (
            60 * minute + chance.uniform(from_s, until_s) for minute in range(MINUTES + 3) for _ in range(per_minute)
        )
        self.moments = sorted(moments, reverse=True)
        self.service = Minutes(60, skew_s)
        self.served = 0

    async def sleep(self, seconds):
        """Let time go by, and the rival ask when it is due."""
        end_s = self.now_s + seconds
        while self.moments and self.moments[-1] <= end_s:
            self.now_s = max(self.now_s, self.moments.pop())
            self.service.ask(self.now_s, rival=True)
        self.now_s = end_s

    async def answer(self, _request):
        await asyncio.sleep(0)
        headers, refused = self.service.ask(self.now_s)
        await self.sleep(0.05)
        self.served += refused is None
        status, content, _ = refusal(429, "rate_limited") if refused else answer(200, {"meta": {}, "data": []})
        after = {"retry-after": str(int(refused) + 1)} if refused else {}
        return httpx.Response(status, content=content, headers=headers | after)

    async def ask_on(self, client):
        """Ask as fast as the client lets us, until the time is over."""
        while self.now_s < 60 * MINUTES:
            try:
                await client.usage()
            except RateLimited:
                await self.sleep(1)
            await self.sleep(0.2)


AT_ANY_SECOND = [(0, 0, 60), (20, 0, 60), (45, 0, 60), (70, 0, 60)]
IN_A_PART_OF_THE_MINUTE = [(70, 0, 3), (55, 20, 30), (70, 2.0, 2.1)]


# By a clock that is wrong, it is the part of the minute that could be mistaken.
@pytest.mark.parametrize(
    ("per_minute", "from_s", "until_s", "skew_s"),
    [
        *((*rival, 0) for rival in AT_ANY_SECOND + IN_A_PART_OF_THE_MINUTE),
        *((*rival, -1234.5) for rival in [(45, 0, 60), *IN_A_PART_OF_THE_MINUTE]),
    ],
)
async def test_rival_on_the_key_costs_a_client_at_most_one_refusal_a_minute(per_minute, from_s, until_s, skew_s):
    rivalry = Rivalry(per_minute, from_s, until_s, skew_s=skew_s)
    async with httpx.AsyncClient(transport=httpx.MockTransport(rivalry.answer)) as http:
        client = open_client(BASE_URL, SecretStr(KEY), Memory(), rivalry.timing(), http=http).in_background()
        await asyncio.gather(*(rivalry.ask_on(client) for _ in range(3)))
    refused = rivalry.service.refused
    assert all(refusals <= 1 for refusals in refused.values()), refused
    # What the rival leaves is used, but for the part that is kept for people's commands.
    assert rivalry.served >= MINUTES * max(0, 60 - 15 - per_minute) * 0.6
    if per_minute == 0:
        assert not refused
    # A rival that uses up every minute is noticed in each: were it not, the first assertion would show nothing.
    if (until_s, skew_s) == (2.1, 0):
        assert len(refused) >= MINUTES - 1

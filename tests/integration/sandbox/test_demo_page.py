"""The demo page without a bot: the answers of the API, the askers, and the counts."""

import asyncio
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from inspect import isawaitable
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest
from starlette.routing import Route

from bot.channels import mutes
from bot.channels.filters import Meeting
from bot.outbox.held_channels import Reopening
from bot.racedata.client.records import KnownCourse
from bot.slack.commands.invocation import Invocation
from bot.slack.messages.alerts.backlog_summary import waited
from sandbox.demo import headless_summary
from sandbox.demo_bot import DemoFailed
from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage
from sandbox.loopback_server import LOOPBACK, serve
from sandbox.page import happenings
from sandbox.page.counts import Counts, count
from sandbox.page.happenings import HAPPENINGS
from sandbox.page.page_app import MOST_BYTES, Page, build_page
from sandbox.page.troubles import TROUBLES
from sandbox.racing_day import REGION_CODES, Race, courses_of
from sandbox.racing_service.delivery_queue import Attempt
from sandbox.slack.values import PostedMessage
from tests.clock import now
from tests.unit.commands.town import Town, make_desk

DEMO = (Path(__file__).parents[3] / "docs/demo.md").read_text("utf-8")


@pytest.fixture
async def stage(tmp_path):
    """No bot is started."""
    async with open_stage(tmp_path, Screen(CHANNELS, PEOPLE, make_console(io.StringIO())), 1.0) as stage:
        stage.subscribe_webhook()
        yield stage


@pytest.fixture
def page(stage):
    return Page(stage)


@pytest.fixture
async def client(page):
    # On a busy machine the page would close an idle connection at the moment of the next request.
    each_its_own = httpx.Limits(max_keepalive_connections=0)
    async with (
        serve(build_page(page)) as address,
        httpx.AsyncClient(base_url=address, trust_env=False, limits=each_its_own) as connected,
    ):
        yield connected


async def first_documents(client, **headers):
    async with client.stream("GET", "/api/live", headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))["changed"]
    raise AssertionError("the stream ended")


async def test_page_answers_its_own_site_at_its_loopback_address_only(client):
    assert client.base_url.host == LOOPBACK
    body = {"every_s": None}
    for headers in ({"Host": "demo.example.com"}, {"Origin": "https://demo.example.com"}):
        assert (await client.post("/api/play", json=body, headers=headers)).status_code == 403
        assert (await client.get("/api/live", headers=headers)).status_code == 403
    form = await client.post("/api/play", content="every_s=1", headers={"Content-Type": "text/plain"})
    assert form.status_code == 403
    assert (await client.get("/api/play")).status_code == 405
    own = {"Origin": str(client.base_url).rstrip("/")}
    assert (await client.post("/api/play", json=body, headers=own)).json() == {"said": "The day is paused."}


SENSELESS: list[tuple[str, object, str]] = [
    ("type", {"channel": "C0GB", "user": "U0ALICE", "text": "/hello"}, "/racing"),
    ("type", {"channel": "C0NONE", "user": "U0ALICE", "text": "/racing help"}, "no such channel"),
    ("type", {"channel": "C0GB", "user": "U0ALICE"}, "text must be a text"),
    ("press", {"channel": "C0GB", "user": "U0ALICE", "ts": "1.0", "action_id": "x", "value": "y"}, "gone"),
    ("press", {"view": "V1", "user": "U0ALICE", "action_id": "x", "value": "y"}, "closed"),
    ("submit", {"view": "V1", "user": "U0ALICE"}, "closed"),
    ("happen", {"what": "earthquake"}, "settle"),
    ("happen", {"what": "settle", "id": "rc_none"}, "no such race"),
    ("play", {"every_s": "soon"}, "every_s"),
    ("play", {"every_s": "x" * MOST_BYTES}, "longer"),
    ("play", [], "JSON object"),
    ("trouble", {"name": "plague", "on": True}, "bot_killed"),
    ("trouble", {"name": "second_replica", "on": True}, "PostgreSQL"),
    ("home", {"user": "U0NOBODY"}, "no such person"),
]


async def test_request_that_makes_no_sense_is_refused_with_words(client):
    for path, body, words in SENSELESS:
        answer = await client.post(f"/api/{path}", json=body)
        assert answer.status_code == 400, (path, body)
        assert words in answer.json()["error"]


async def test_stream_begins_with_every_document(client, page):
    page.stage.is_begun = False
    documents = await first_documents(client)
    assert set(documents) == set(page.documents())
    kinds = {key.split("/")[0] for key in documents}
    assert kinds >= {"bot", "channel", "person", "meeting", "trouble", "counts", "day"}
    assert documents["bot"] == {"is_running": False}
    assert documents["day"] == {"every_s": None, "is_begun": False}


@pytest.mark.parametrize("is_open_before_the_bot_is_ready", [False, True])
async def test_day_begins_with_a_british_result_once_the_page_is_seen(
    client, page, monkeypatch, is_open_before_the_bot_is_ready
):
    monkeypatch.setattr(happenings, "FIRST_AFTER_S", 0.0)
    if not is_open_before_the_bot_is_ready:
        page.day.play_once_seen()
    assert page.stage.service.deliveries == []
    async with client.stream("GET", "/api/live") as answer, asyncio.timeout(60):
        lines = answer.aiter_lines()
        await anext(lines)
        if is_open_before_the_bot_is_ready:
            page.day.play_once_seen()
        async for _ in lines:
            if page.stage.service.deliveries:
                break
    first = page.stage.service.deliveries[0].happening
    assert (first.event, first.region) == ("result.received", "GB")
    await page.day.stop()


async def test_names_reach_the_bot_as_slack_sends_names(client, page):
    heard = []

    def hear(request):
        heard.append(request)
        return httpx.Response(200)

    page.stage.slack.bot_transport = httpx.MockTransport(hear)
    line = "/racing subscribe GB escalate:@bob escalate:#racing-admins escalate:@nobody"
    await client.post("/api/type", json={"channel": "C0GB", "user": "U0ALICE", "text": line})
    (words,) = parse_qs(heard[0].content.decode())["text"]
    assert words.split()[2:] == ["escalate:<@U0BOB|bob>", "escalate:<#C0ADMIN|racing-admins>", "escalate:@nobody"]
    bare = await client.post("/api/type", json={"channel": "C0GB", "user": "U0ALICE", "text": "/racing"})
    assert bare.json() == {"said": 200}


async def test_every_path_happening_and_document_is_documented(page):
    paths = {one.path for one in build_page(page).routes if isinstance(one, Route) and one.path.startswith("/api/")}
    assert set(re.findall(r"/api/\w+", DEMO)) == paths
    assert {key.split("/")[0] for key in page.documents()} <= set(re.findall(r"`([a-z]+)(?:/[A-Z/]+)?`", DEMO))
    assert [name for name in HAPPENINGS if f"`{name}`" not in DEMO] == []
    assert len({trouble.expected for trouble in TROUBLES}) == len(TROUBLES)


# The counts


@dataclass
class Watched:
    """A race in GB has settled, the bot took the delivery, and a channel has the case's messages."""

    stage: Stage
    race: Race
    town: Town

    async def types(self, *lines):
        """The lines' changes by the bot's own commands, and the demo's look at what is stored."""
        for line in lines:
            await self.town.types(Invocation("", "C0GB", "U0ALICE", "cmd-1"), line)
        await self.stage.choices.look()

    async def mutes(self):
        meeting = Meeting(meeting_id=self.race.meeting_id)
        database = self.stage.choices.database
        await database.write(lambda session: mutes.mute(session, "C0GB", meeting, "U0ALICE", now()))
        await self.stage.choices.look()
        self.corrected()

    def corrected(self):
        self.arrived(self.stage.service.correct(self.race.race_id))

    def arrived(self, deliveries, at=None):
        for delivery in deliveries:
            delivery.attempts.append(Attempt(at or now(), 200))

    def says(self, text, ts="1.0", at=None):
        bot = self.stage.slack.bot_user_id
        self.stage.slack.put(PostedMessage(ts=ts, channel="C0GB", text=text, user=bot, received_at=at or now()))

    @property
    def place(self):
        return f"{self.race.course.name} {self.race.off_time}"

    def result(self, ts="1.0", at=None):
        self.says(f"Result: {self.place} (GB): 1 Somebody", ts, at)

    def correction(self, ts):
        self.says(f"CORRECTION: {self.place} (GB)", ts)

    def correction_first(self):
        self.correction("1.0")
        self.result("2.0")

    def summary(self, at=None):
        self.says(f"I could not post here. 2 results came meanwhile. {self.place}, Thu 20 Nov (GB)", at=at)

    def corrected_and_back(self):
        self.result()
        for ts in ("2.0", "3.0"):
            self.corrected()
            self.correction(ts)

    def in_conflict(self):
        self.says(f"CONFLICT: {self.place} (GB) reported abandoned and run: 1 Somebody")

    def abandoned(self):
        self.arrived(self.stage.service.abandon_meeting(self.race.meeting_id, "Frost"))

    async def corrected_after(self, *lines):
        await self.types(*lines)
        self.corrected()

    async def digested(self):
        await self.types("subscribe GB digest:18:00")
        self.says(f"Results digest. 1 result. {self.place}, Thu 20 Nov (GB): 1 Somebody")

    def refused(self):
        self.result()
        (delivery,) = self.stage.service.correct(self.race.race_id)
        delivery.attempts.append(Attempt(now() + timedelta(seconds=1), 503))

    def late(self):
        (delivery,) = self.stage.service.deliveries
        self.result(at=delivery.attempts[0].at + timedelta(seconds=3))
        self.arrived([delivery])


@pytest.fixture
async def town(stage, database):
    """Where people choose by the bot's own commands, without a bot."""
    courses = [KnownCourse(**one._asdict()) for code in REGION_CODES for one in courses_of(code)]
    desk = await make_desk(database, regions=REGION_CODES, courses=courses)
    desk.clock, desk.reopening, stage.choices.database = now, Reopening(waited), database
    return Town(desk)


async def watch(stage, town, *lines):
    """After the lines, the day's first race in GB settles: at York, of class 4, on the flat."""
    racing = stage.service.racing
    race = next(one for one in racing.races(racing.today, "GB") if racing.state(one).status == "declared")
    watched = Watched(stage, race, town)
    await watched.types(*lines)
    watched.arrived(stage.service.settle(race.race_id))
    return watched


# What happens after the first race, what the channel has subscribed to, the counts above 0.
COUNTS: dict[str, tuple[Callable[[Watched], object], str, dict[str, object]]] = {
    "a message": (lambda it: it.result(), "GB", {"told": 1}),
    "none so far": (lambda _: None, "GB", {"on_the_way": 1}),
    "one to be sent again": (Watched.refused, "GB", {"told": 1, "on_the_way": 1}),
    "none": (lambda _: None, "GB", {"lost": 1}),
    "a second message": (lambda it: [it.result(ts) for ts in ("1.0", "2.0")], "GB", {"told": 1, "doubled": 1}),
    "corrected, and back": (Watched.corrected_and_back, "GB", {"told": 3}),
    "a correction first": (Watched.correction_first, "GB", {"told": 1, "doubled": 1, "out_of_order": 1}),
    "a contradiction": (Watched.in_conflict, "GB", {"told": 1}),
    "a summary": (lambda it: it.summary(), "GB", {"told": 1}),
    "a summary of before": (lambda it: it.summary(now() - timedelta(hours=1)), "GB", {"lost": 1}),
    "three seconds later": (Watched.late, "GB", {"told": 1, "late_median_s": 3.0, "late_longest_s": 3.0}),
    "in a pause": (lambda it: it.corrected_after("pause"), "IRE GB", {"on_the_way": 2, "held": 2}),
    "in a digest": (Watched.digested, "GB show:meetings", {"told": 1}),
    "of a watch alone": (lambda it: it.result(), "IRE", {"told": 1}),
    "a course asked for, and none": (lambda _: None, "York", {"lost": 1}),
    "a course left out": (lambda _: None, "GB -York", {}),
    "a class asked for": (lambda _: None, "GB class:4", {"lost": 1}),
    "a meeting lost of any class": (Watched.abandoned, "GB class:1 jumps", {"lost": 1}),
    "a meeting muted": (Watched.mutes, "GB", {}),
    "an abandonment of a muted meeting": (lambda it: (it.abandoned(), it.mutes())[1], "GB", {"lost": 1}),
}
LOST = re.compile("^lost: (?:result.received|meeting.abandoned), York ", re.MULTILINE)
SURE = ("told", "on_the_way", "held", "lost", "doubled")


@pytest.mark.parametrize("name", COUNTS)
async def test_counts_are_of_what_stands_in_the_channel(stage, town, name):
    tell, words, expected = COUNTS[name]
    if isawaitable(told := tell(await watch(stage, town, f"subscribe {words}"))):
        await told
    counts = count(stage.service.deliveries, stage.slack, stage.choices, lambda *_: name != "none so far")
    asked = (*SURE, *expected)
    counted, none = ({field: getattr(one, field) for field in asked} for one in (counts, Counts()))
    assert counted == none | expected
    assert len(LOST.findall("\n".join(counts.problems))) == counts.lost


@pytest.mark.parametrize(
    ("tell", "failed"),
    [
        (lambda it: it.result(), None),
        (lambda _: None, "lost: result.received, "),
        (lambda it: [it.result(ts) for ts in ("1.0", "2.0")], "doubled: result.received, "),
        (lambda it: (it.corrected(), it.correction_first()), "out of order"),
    ],
    ids=["a message", "none", "two messages", "a correction first"],
)
async def test_summary_of_a_headless_day_names_the_failure(stage, town, tell, failed):
    tell(await watch(stage, town, "subscribe GB"))
    if failed is None:
        said = json.loads(headless_summary(stage))
        assert (said["ok"], said["messages"]["gb-racing"], said["counts"]["told"]) == (True, 1, 1)
        return
    with pytest.raises(DemoFailed, match=failed):
        headless_summary(stage)


async def test_edited_message_is_read_anew(stage, town):
    watched, told = await watch(stage, town, "subscribe GB"), []
    for tell in (lambda: watched.says("Result: elsewhere"), watched.result):
        tell()
        told.append(count(stage.service.deliveries, stage.slack, stage.choices).told)
    assert told == [0, 1]

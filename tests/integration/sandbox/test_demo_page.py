"""The demo page's API without a bot: what is answered, and to whom."""

import asyncio
import io
import json
import re
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route

from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, open_stage
from sandbox.loopback_server import LOOPBACK, serve
from sandbox.page.counts import Counts, Readings, count
from sandbox.page.happenings import HAPPENINGS
from sandbox.page.page_app import MOST_BYTES, Page, build_page
from sandbox.page.troubles import TROUBLES
from sandbox.racing_service.delivery_queue import Attempt
from sandbox.slack.values import PostedMessage
from tests.clock import now

DEMO = (Path(__file__).parents[3] / "docs/demo.md").read_text("utf-8")


@asynccontextmanager
async def open_page(folder):
    """A client of the page, and the page. No bot is started."""
    screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()))
    async with open_stage(folder, screen, 1.0) as stage:
        await stage.subscribe_webhook()
        page = Page(stage)
        async with serve(build_page(page)) as address, httpx.AsyncClient(base_url=address, trust_env=False) as client:
            yield client, page


async def first_documents(client, **headers):
    async with client.stream("GET", "/api/live", headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))["changed"]
    raise AssertionError("the stream ended")


async def test_page_answers_at_its_own_loopback_address_only(tmp_path):
    async with open_page(tmp_path) as (client, _):
        assert client.base_url.host == LOOPBACK
        rebound = {"Host": "demo.example.com"}
        foreign = {"Origin": "https://demo.example.com"}
        body = {"every_s": None}
        for headers in (rebound, foreign):
            assert (await client.post("/api/play", json=body, headers=headers)).status_code == 403
            assert (await client.get("/api/live", headers=headers)).status_code == 403
        own = {"Origin": str(client.base_url).rstrip("/")}
        assert (await client.post("/api/play", json=body, headers=own)).json() == {"said": "The day is paused."}


async def test_form_of_another_site_is_refused_because_it_is_no_json(tmp_path):
    async with open_page(tmp_path) as (client, _):
        answer = await client.post("/api/play", content="every_s=1", headers={"Content-Type": "text/plain"})
        assert answer.status_code == 403
        assert (await client.get("/api/play")).status_code == 405


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("type", {"channel": "C0GB", "user": "U0ALICE", "text": "hello"}, "/racing"),
        ("type", {"channel": "C0NONE", "user": "U0ALICE", "text": "/racing help"}, "no such channel"),
        ("type", {"channel": "C0GB", "user": "U0ALICE"}, "text must be a text"),
        ("press", {"channel": "C0GB", "user": "U0ALICE", "ts": "1.0", "action_id": "x", "value": "y"}, "gone"),
        ("submit", {"view": "V1", "user": "U0ALICE"}, "closed"),
        ("happen", {"what": "earthquake"}, "settle"),
        ("happen", {"what": "settle", "id": "rc_none"}, "no such race"),
        ("play", {"every_s": "soon"}, "every_s"),
        ("trouble", {"name": "plague", "on": True}, "bot_killed"),
        ("trouble", {"name": "second_replica", "on": True}, "PostgreSQL"),
        ("replay", {"delivery": "dl_1"}, "no such delivery"),
        ("repeat", {"call": "0"}, "no such call"),
        ("home", {"user": "U0NOBODY"}, "no such person"),
        ("press", {"view": "V1", "user": "U0ALICE", "action_id": "x", "value": "y"}, "closed"),
        ("play", [], "JSON object"),
    ],
)
async def test_request_that_makes_no_sense_is_refused_with_words(tmp_path, path, body, words):
    async with open_page(tmp_path) as (client, _):
        answer = await client.post(f"/api/{path}", json=body)
        assert answer.status_code == 400
        assert words in answer.json()["error"]


async def test_body_that_is_too_long_is_refused(tmp_path):
    async with open_page(tmp_path) as (client, _):
        answer = await client.post("/api/play", json={"every_s": "x" * MOST_BYTES})
        assert answer.status_code == 400
        assert "longer" in answer.json()["error"]


async def test_stream_begins_with_every_document(tmp_path):
    async with open_page(tmp_path) as (client, page):
        documents = await first_documents(client)
        assert set(documents) == set(page.documents())
        kinds = {key.split("/")[0] for key in documents}
        assert kinds >= {"meta", "channel", "person", "meeting", "trouble", "counts", "day"}
        assert documents["meta"]["bot"]["running"] is False


async def test_day_plays_and_pauses(tmp_path):
    async with open_page(tmp_path) as (client, page):
        await client.post("/api/play", json={"every_s": 0.05})
        async with client.stream("GET", "/api/live") as answer, asyncio.timeout(60):
            async for line in answer.aiter_lines():
                if len(page.stage.service.deliveries) >= 3 and line:
                    break
        await client.post("/api/play", json={"every_s": None})
        played = len(page.stage.service.deliveries)
        assert (await first_documents(client))["day"] == {"every_s": None, "in_terminal": False}
        assert len(page.stage.service.deliveries) == played


async def test_page_says_while_the_terminal_plays_the_day(tmp_path):
    async with open_page(tmp_path) as (client, page):
        page.stage.is_day_played = True
        assert (await first_documents(client))["day"] == {"every_s": None, "in_terminal": True}


async def test_page_documents_every_path_happening_and_document(tmp_path):
    async with open_page(tmp_path) as (client, page):
        paths = {one.path for one in build_page(page).routes if isinstance(one, Route) and one.path.startswith("/api/")}
        assert set(re.findall(r"/api/\w+", DEMO)) == paths
        rows = re.findall(r"^\| (`.+?) \|", DEMO.split("| Key |")[1], re.MULTILINE)
        keys = {re.split(r"[/`]", key)[1] for row in rows for key in row.split(", ")}
        assert {key.split("/")[0] for key in await first_documents(client)} <= keys
    assert [name for name in HAPPENINGS if f"`{name}`" not in DEMO] == []
    assert len({trouble.expected for trouble in TROUBLES}) == len(TROUBLES)


# The counts


def said(stage, text, ts="1.0", at=None):
    stage.slack.put(
        PostedMessage(ts=ts, channel="C0GB", text=text, user=stage.slack.bot_user_id, received_at=at or now())
    )


def arrived(deliveries):
    for delivery in deliveries:
        delivery.attempts.append(Attempt(now(), b"", 200))


def accepted(stage, region="GB"):
    """A race of the region has settled, and the bot has said that it took the delivery."""
    racing = stage.service.racing
    race = next(one for one in racing.races(racing.today, region) if racing.state(one).status == "declared")
    arrived(stage.service.settle(race.race_id))
    return race


async def counted(tmp_path, tell, *, line="/racing subscribe GB", is_quiet=True) -> Counts:
    async with open_page(tmp_path) as (_, page):
        stage = page.stage
        stage.expectations.typed("C0GB", line)
        race = accepted(stage)
        tell(stage, race)
        return count(stage.service.deliveries, stage.slack, stage.expectations, lambda *_: is_quiet)


def result(race):
    return f"Result: {race.course.name} {race.off_time} (GB): 1 Somebody"


async def test_message_that_stands_there_is_told(tmp_path):
    counts = await counted(tmp_path, lambda stage, race: said(stage, result(race)))
    assert (counts.told, counts.lost, counts.doubled, counts.problems) == (1, 0, 0, ())


async def test_missing_message_is_on_the_way_and_then_lost(tmp_path):
    counts = await counted(tmp_path, lambda *_: None, is_quiet=False)
    assert (counts.on_the_way, counts.lost) == (1, 0)
    counts = await counted(tmp_path, lambda *_: None)
    assert (counts.told, counts.lost) == (0, 1)
    assert counts.problems[0].startswith("lost: result.received, ")


async def test_second_message_of_a_result_is_doubled(tmp_path):
    counts = await counted(tmp_path, lambda stage, race: [said(stage, result(race), ts) for ts in ("1.0", "2.0")])
    assert (counts.told, counts.doubled) == (1, 1)


async def test_result_that_is_corrected_and_corrected_back_is_told_three_times(tmp_path):
    def tell(stage, race):
        said(stage, result(race), "1.0")
        for ts in ("2.0", "3.0"):
            arrived(stage.service.correct(race.race_id))
            said(stage, f"CORRECTION: {race.course.name} {race.off_time} (GB)", ts)

    counts = await counted(tmp_path, tell)
    assert (counts.told, counts.lost, counts.doubled) == (3, 0, 0)


async def test_summary_of_what_waited_excuses_no_later_message(tmp_path):
    summary = "2 results waited while this channel was archived: {0.course.name} {0.off_time}"
    counts = await counted(tmp_path, lambda stage, race: said(stage, summary.format(race)))
    assert (counts.told, counts.lost) == (1, 0)
    before = now() - timedelta(hours=1)
    counts = await counted(tmp_path, lambda stage, race: said(stage, summary.format(race), at=before))
    assert (counts.told, counts.lost) == (0, 1)


async def test_lateness_runs_from_the_first_attempt_to_the_message(tmp_path):
    def tell(stage, race):
        (delivery,) = stage.service.deliveries
        said(stage, result(race), at=delivery.attempts[0].at + timedelta(seconds=3))
        delivery.attempts.append(Attempt(now(), b"", 200))

    counts = await counted(tmp_path, tell)
    assert (counts.late_median_s, counts.late_longest_s) == (3.0, 3.0)


async def test_edited_message_is_read_anew(tmp_path):
    async with open_page(tmp_path) as (_, page):
        page.stage.expectations.typed("C0GB", "/racing subscribe GB")
        race = accepted(page.stage)
        readings, told = Readings(), []
        for text in ("Result: elsewhere", result(race)):
            said(page.stage, text)
            stage = page.stage
            told.append(count(stage.service.deliveries, stage.slack, stage.expectations, readings=readings).told)
        assert told == [0, 1]


async def test_correction_above_the_result_is_out_of_order(tmp_path):
    def tell(stage, race):
        said(stage, f"CORRECTION: {race.course.name} {race.off_time} (GB)", "1.0")
        said(stage, result(race), "2.0")

    assert (await counted(tmp_path, tell)).out_of_order == 1


async def test_nothing_is_due_where_the_region_was_not_asked_for(tmp_path):
    assert await counted(tmp_path, lambda *_: None, line="/racing subscribe IRE") == Counts()


async def test_channel_with_a_subscription_by_courses_is_named_as_uncounted(tmp_path):
    counts = await counted(tmp_path, lambda *_: None, line="/racing subscribe York")
    assert (counts.lost, counts.uncounted) == (0, ("C0GB",))

"""The page's ASGI app: static files, a stream of documents, and an endpoint for each action of a person.

Actions are JSON, answered with `{"said": …}`, or with 400 and `{"error": …}`.
"""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bot.clock import utc_now
from sandbox.demo_bot import DemoFailed
from sandbox.demo_stage import COMMANDS, Stage
from sandbox.page.counts import LOST_AFTER_S, count
from sandbox.page.documents import Documents, documents
from sandbox.page.happenings import HAPPENINGS, PlayingDay
from sandbox.page.troubles import TROUBLES
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.slack.answers import Answer
from sandbox.slack.person import Person
from sandbox.slack.values import Json

STATIC = Path(__file__).parent / "static"
EVERY_S = 0.25
"""Between looks for changes. A change in the workspace is seen at once."""

COUNT_EVERY_S = 0.5
OK = 200
MOST_BYTES = 100_000
LOOPBACK_NAMES = {"127.0.0.1", "localhost", "[::1]"}

Do = Callable[["Page", Json], Awaitable[object]]


class Refused(Exception):
    """The text is for the person."""


@dataclass(frozen=True)
class SwitchedOn:
    """The start of a trouble, which ends with `stack`."""

    at: datetime
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def seen(self, stage: Stage) -> str:
        """The figures since the start."""
        attempts = [one for delivery in stage.service.deliveries for one in delivery.attempts if one.at >= self.at]
        calls = [one for one in stage.slack.calls if one.at >= self.at]
        requests = [one for one in stage.service.requests if one.at >= self.at]
        told = (
            (attempts, sum(one.accepted for one in attempts), "attempts to deliver accepted"),
            (calls, sum(one.ok for one in calls), "calls of Slack answered with ok"),
            (requests, sum(one.status == OK for one in requests), "requests to the data service served"),
        )
        return f"So far: {', '.join(f'{good} of {len(of)} {words}' for of, good, words in told if of) or 'nothing'}."


@dataclass
class Page:
    """The page of a stage. `on` has the troubles that are on, `did` the effect of troubles that are over."""

    stage: Stage
    lost_after_s: float = LOST_AFTER_S
    on: dict[str, SwitchedOn] = field(default_factory=dict)
    did: dict[str, str] = field(default_factory=dict)
    _counts: Json = field(default_factory=dict)
    _counted_at: float = -COUNT_EVERY_S

    def __post_init__(self) -> None:
        self.day = PlayingDay(self.stage, Random(1))

    async def aclose(self) -> None:
        await self.day.stop()

    def documents(self) -> Documents:
        found = documents(self.stage)
        found["counts"] = self.counts()
        found["day"] = {"every_s": self.day.every_s, "is_begun": self.stage.is_begun}
        for trouble in TROUBLES:
            since = self.on.get(trouble.name)
            found[f"trouble/{trouble.name}"] = {
                "name": trouble.name,
                "title": trouble.title,
                "expected": trouble.expected,
                "on": since is not None,
                "did": since.seen(self.stage) if since else self.did.get(trouble.name),
                "needs": trouble.needs(self.stage),
            }
        return found

    def counts(self) -> Json:
        """The counts, at most a second old."""
        now = time.monotonic()
        if now - self._counted_at >= COUNT_EVERY_S:
            stage = self.stage
            counts = count(stage.service.deliveries, stage.slack, stage.choices, self._is_quiet)
            self._counts, self._counted_at = asdict(counts), now
        return self._counts

    def _is_quiet(self, delivery: Delivery, channel_id: str) -> bool:
        """False while the message can still come: the bot lives, and may post in the channel, but is not done."""
        slack, channel = self.stage.slack, self.stage.slack.channels[channel_id]
        if not self.stage.bot.is_running or channel.is_archived or not slack.bot_is_in(channel):
            return False
        calls = (call.at for call in reversed(slack.calls) if call.channel == channel_id)
        attempts = (attempt.at for attempt in delivery.attempts)
        now, first = utc_now(), delivery.created_at
        changes = self.stage.choices.changed_at(channel_id, now)
        last = max(first, *attempts, *changes, self.stage.bot.started_at, next(calls, first))
        return (now - last).total_seconds() > self.lost_after_s

    async def type(self, asked: Json) -> object:
        """A person types a command, writes to the bot in a direct message, or says something in a channel or thread."""
        slack, person, line = self.stage.slack, self._person(asked), _text(asked, "text").strip()
        channel_id, thread_ts = _text(asked, "channel"), asked.get("thread_ts")
        name, _, words = line.partition(" ")
        if channel_id not in slack.channels:
            raise Refused("no such channel")
        if thread_ts is not None and (name.startswith("/") or slack.message(channel_id, thread_ts) is None):
            raise Refused("a reply is no command, and its thread is there")
        if not name.startswith("/") and slack.channels[channel_id].dm_user == person.user_id:
            return _status(await person.writes(line, thread_ts))
        if not name.startswith("/"):
            slack.say(channel_id, person.user_id, line, thread_ts=thread_ts)
            return None
        if name not in COMMANDS:
            raise Refused(f"{name} is no command here. Slack knows {', '.join(COMMANDS)}.")
        return _status(await self.stage.type(channel_id, person.user_id, name, words))

    async def press(self, asked: Json) -> object:
        """A person presses a button of a message or of a view."""
        slack, person = self.stage.slack, self._person(asked)
        action_id, value = _text(asked, "action_id"), _text(asked, "value")
        if "view" in asked:
            return _status(await person.presses_in_view(action_id, value, self._view(asked)))
        message = slack.message(_text(asked, "channel"), _text(asked, "ts"))
        if message is None:
            raise Refused("the message is gone")
        return _status(await person.presses(action_id, value, message))

    async def lookup(self, asked: Json) -> object:
        """The options of a menu for a typed text."""
        return await self._person(asked).looks_up(self._view(asked), _text(asked, "action_id"), _text(asked, "typed"))

    async def submit(self, asked: Json) -> object:
        """A person submits a form. Returns the errors by block id."""
        answer = await self._person(asked).submits_state(self._view(asked), asked.get("values") or {})
        _status(answer)
        return json.loads(answer.body or "{}").get("errors") or {}

    async def close(self, asked: Json) -> object:
        """A person leaves a form. The bot does not want to know."""
        self.stage.slack.views.pop(_text(asked, "view"), None)
        self.stage.slack.changes.notify()
        return None

    async def happen(self, asked: Json) -> object:
        happen = HAPPENINGS.get(_text(asked, "what"))
        if happen is None:
            raise Refused(f"what happens is one of {', '.join(HAPPENINGS)}")
        try:
            return await happen(self.stage, str(asked.get("id") or ""))
        except LookupError as error:
            raise Refused(str(error)) from error

    async def play(self, asked: Json) -> object:
        """The day plays, `every_s` seconds from race to race. Null pauses."""
        every_s = asked.get("every_s")
        if every_s is not None and (not isinstance(every_s, int | float) or isinstance(every_s, bool)):
            raise Refused("every_s must be seconds, or null")
        self.day.play(every_s)
        return "The day is paused." if every_s is None else "The day plays."

    async def trouble(self, asked: Json) -> object:
        by_name = {one.name: one for one in TROUBLES}
        trouble = by_name.get(_text(asked, "name"))
        if trouble is None:
            raise Refused(f"a trouble is one of {', '.join(by_name)}")
        if (missing := trouble.needs(self.stage)) is not None:
            raise Refused(missing)
        if not self.stage.is_begun:
            raise Refused("The demo plays a day of some seconds. Make trouble afterwards.")
        stage, since = self.stage, self.on.get(trouble.name)
        if asked.get("on"):
            if since is None:
                since = SwitchedOn(utc_now())
                await since.stack.enter_async_context(trouble.lasts(stage))
                self.on[trouble.name] = since
            return trouble.expected
        if since is not None:
            await since.stack.aclose()
            stage.service.delivery_queue.hurry(utc_now())
            self.did[trouble.name] = since.seen(stage)
            del self.on[trouble.name]
        return self.did.get(trouble.name)

    async def home(self, asked: Json) -> object:
        """A person opens the app's Home."""
        _status(await self._person(asked).opens_home())
        return None

    def _person(self, asked: Json) -> Person:
        user_id = _text(asked, "user")
        if user_id not in self.stage.slack.users:
            raise Refused("no such person")
        return self.stage.slack.person(user_id, self.stage.bot.url)

    def _view(self, asked: Json) -> str:
        view_id = _text(asked, "view")
        if view_id not in self.stage.slack.views:
            raise Refused("the form is closed")
        return view_id


def _status(answer: Answer) -> int:
    if answer.error is not None:
        raise Refused(f"Slack would show: {answer.error}")
    return answer.status


ACTIONS: tuple[Do, ...] = (
    *(Page.type, Page.press, Page.lookup, Page.submit, Page.close),
    *(Page.happen, Page.play, Page.trouble, Page.home),
)


def build_page(page: Page) -> Starlette:
    def answering(do: Do) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            _check_asker(request)
            try:
                said = await do(page, await _asked(request))
                await page.stage.look()
                return JSONResponse({"said": said})
            except (Refused, LookupError, ValueError, DemoFailed, httpx.HTTPError) as error:
                return JSONResponse({"error": str(error) or type(error).__name__}, status_code=400)

        return answer

    async def live(request: Request) -> Response:
        _check_asker(request)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_stream(page, request), media_type="text/event-stream", headers=headers)

    async def index(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/live", live),
            *(Route(f"/api/{do.__name__}", answering(do), methods=["POST"]) for do in ACTIONS),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
    )


async def _stream(page: Page, request: Request) -> AsyncIterator[str]:
    """Server-sent events: new and changed documents, and the keys of removed documents."""
    sent: Documents = {}
    while not await request.is_disconnected():
        page.day.seen()
        now = page.documents()
        changed = {key: value for key, value in now.items() if sent.get(key) != value}
        gone = [key for key in sent if key not in now]
        if changed or gone:
            yield f"data: {json.dumps({'changed': changed, 'gone': gone}, default=_in_json)}\n\n"
        sent = now
        before = len(page.stage.slack.calls)
        with suppress(TimeoutError):
            await page.stage.slack.wait_for(lambda b=before: len(page.stage.slack.calls) != b, EVERY_S)  # type: ignore[misc]


def _in_json(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else list(value)


def _check_asker(request: Request) -> None:
    """403 for a page of another site, and for another site's name of this address (DNS rebinding)."""
    host = (request.headers.get("host") or "").rpartition(":")[0] or request.headers.get("host", "")
    origin = request.headers.get("origin")
    if host not in LOOPBACK_NAMES or (origin is not None and origin != f"http://{request.headers['host']}"):
        raise HTTPException(403, "only this page may ask")
    if request.method == "POST" and not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(403, "the body must be application/json")


async def _asked(request: Request) -> Json:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Refused(f"the body is longer than {MOST_BYTES} bytes")
    asked = json.loads(body)
    if not isinstance(asked, dict):
        raise Refused("the body must be a JSON object")
    return asked


def _text(asked: Json, name: str) -> str:
    value: Any = asked.get(name)
    if not isinstance(value, str):
        raise Refused(f"{name} must be a text")
    return value

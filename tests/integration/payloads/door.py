"""The bot between the data service and people: signed bytes in, messages and answers out.

One bot for many cases, within the process of the tests. The bot's endpoints are on a real address, between the stand-in
of Slack and a data service with the cases' lists.
"""

import asyncio
import hashlib
import hmac
import html
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.app import Service
from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.clock import Clock
from bot.deliveries import inbox
from bot.events.event import Topic
from bot.outbox import message_store
from bot.outbox.pace import Pace
from bot.ports import Ports
from bot.settings import Settings
from sandbox.loopback_server import serve
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import PATIENCE_S
from tests.front import has_unread, receiver_of
from tests.sim.ports import Inline, SlackSession, Wire
from tests.world import settled

TOKEN, SIGNING_SECRET, WEBHOOK_SECRET = "xoxb-test-payloads", "slack-signing-secret-test", "whsec-payloads-1"
ASKING = "CASK"

COUNTRIES = {
    "GB": "Great Britain",
    "IE": "Ireland",
    "FR": "France",
    "AUS": "Australia",
    "HK": "Hong Kong",
    "USA": "United States",
    "SWE": "Sweden",
    "JPN": "Japan",
    "SAF": "South Africa",
    "GER": "Germany",
    "UAE": "United Arab Emirates",
    "NZ": "New Zealand",
}

Json = dict[str, Any]


@dataclass
class Lists:
    """The data service's lists: races by region, and courses as region and name."""

    races: Mapping[str, Sequence[Json]]
    courses: Sequence[tuple[str, str]]

    @property
    def app(self) -> Starlette:
        meta = {"plan": "analyst", "window": "2017 → upcoming", "request_id": "req_1", "has_more": False}

        def answer(data: Any) -> JSONResponse:
            headers = {"X-RateLimit-Limit": "100000", "X-RateLimit-Remaining": "99999", "X-RateLimit-Reset": "60"}
            return JSONResponse({"meta": meta, "data": data}, headers=headers)

        def races(request: Request) -> JSONResponse:
            region = request.query_params.get("region")
            return answer([race for code in self.races if region in {None, code} for race in self.races[code]])

        values = {"regions": [{"value": code, "races": 1} for code in COUNTRIES]}
        courses = [
            {"course_id": f"cr_{number}", "name": name, "region": region, "country": COUNTRIES[region]}
            for number, (region, name) in enumerate(self.courses, start=1)
        ]
        countries = [
            {"country_code": code, "name": name, "full_result_order": True} for code, name in COUNTRIES.items()
        ]
        whole = {"countries": countries, "courses": courses, "reference": values, "webhooks/deliveries": []}
        return Starlette(
            routes=[
                Route("/v1/races/search", races),
                Route("/v1/account/usage", lambda _request: answer({"requests": 1, "limit": 1_000_000})),
                *(Route(f"/v1/{path}", lambda _request, data=data: answer(data)) for path, data in whole.items()),
            ]
        )


@dataclass
class Door:
    service: Service
    slack: SlackWorkspace
    http: httpx.AsyncClient
    url: str

    async def deliver(self, payload: object) -> None:
        """Post a signed delivery, and wait for every message that follows."""
        body = json.dumps(payload, ensure_ascii=False).encode()
        signature = hmac.new(WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
        answer = await self.http.post("/webhooks/racing", content=body, headers={"X-SVC-Signature": signature})
        assert answer.json() == {"status": "accepted"}, answer.text
        await self._all_shown()

    async def ask(self, line: str) -> Any:
        """The answer to a typed command, with `text` and `blocks`."""
        return await settled(await self.slack.person("UALICE", self.url).types(line, channel=ASKING))

    def shown(self, region: str) -> dict[str, Any]:
        """The messages of the region's channel by their `ts`."""
        return {message.ts: message for message in self.slack.messages(_channel(region))}

    async def _all_shown(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self._is_under_way():  # noqa: ASYNC110  nothing tells of an idle bot
                await asyncio.sleep(0.01)

    async def _is_under_way(self) -> bool:
        return await has_unread(self.service) or await self.service.database.read(_is_under_way)


def _is_under_way(session: Any) -> bool:
    return bool(inbox.count_waiting(session) or any(one.count for one in message_store.depths(session).values()))


def _channel(region: str) -> str:
    return f"C{region}"


@asynccontextmanager
async def open_door(folder: Path, lists: Lists, clock: Clock) -> AsyncIterator[Door]:
    """A bot with a channel for each region that takes all topics."""
    slack = SlackWorkspace(TOKEN, SIGNING_SECRET, clock=clock)
    slack.add_user("UALICE", "alice")
    for channel_id in (ASKING, "CADMIN", *map(_channel, COUNTRIES)):
        slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    async with slack.running():
        settings = Settings(
            _env_file=None,
            racing_api_url="https://racing.test/v1",
            racing_api_key="payloads-racing-key",
            racing_webhook_secrets=WEBHOOK_SECRET,
            slack_bot_token=TOKEN,
            slack_signing_secret=SIGNING_SECRET,
            slack_api_url=slack.api_url,
            admin_channel="CADMIN",
            database_url=f"sqlite:///{folder / 'bot.db'}",
        )
        ports = Ports(
            clock,
            runner=Inline,
            slack_session=lambda: SlackSession(Wire(slack.app, lambda: None, asyncio.get_running_loop().create_task)),
            racing_transport=httpx.ASGITransport(lists.app),
        )
        service = Service(settings, ports=ports, pace=Pace(channel_s=0.0, workspace_per_minute=None))
        await service.start()
        try:
            for region in COUNTRIES:
                chosen = ChannelFilter(region=region, topics=frozenset(Topic))
                save = partial(
                    subscriptions.save, channel_id=_channel(region), chosen=chosen, user_id="UALICE", now=clock()
                )
                await service.database.write(save)
            app = receiver_of(service).app
            transport = httpx.ASGITransport(app)
            async with serve(app) as url, httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
                door = Door(service, slack, http, url)
                # The lists are read before the first delivery, as in all but the first seconds of a bot.
                await door.ask("/racing courses")
                yield door
        finally:
            await service.stop()


def filled(value: Any, now: datetime) -> Any:
    """The value with its tokens replaced: {today}, {tomorrow:%d/%m/%Y}, and {epoch:14:30} as a number."""
    if isinstance(value, dict):
        return {filled(key, now): filled(item, now) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, now) for item in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    if value.startswith("{epoch"):
        # {epoch:14:30} is in seconds, {epoch_ms:14:30} in milliseconds.
        name, _, clock = value.strip("{}").partition(":")
        hours, minutes = map(int, clock.split(":"))
        at = now.replace(hour=hours, minute=minutes, second=0, microsecond=0)
        return int(at.timestamp()) * (1000 if name == "epoch_ms" else 1)
    for name, ahead in (("yesterday", -1), ("today", 0), ("tomorrow", 1)):
        value = value.replace(f"{{{name}}}", f"{{{name}:%Y-%m-%d}}")
        before, token, rest = value.partition(f"{{{name}:")
        while token:
            spelled, _, rest = rest.partition("}")
            value = before + (now + timedelta(days=ahead)).strftime(spelled) + rest
            before, token, rest = value.partition(f"{{{name}:")
    return value


# The judge of a message


RULES = frozenset({"begins", "contains", "never", "order", "placed", "unplaced", "runners", "non_runners"})

_DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
_NON_RUNNER = re.compile(r"\b(nr|non-?runners?|(late ?)?scratched|withdrawn|reserves?)\b", re.IGNORECASE)


def faults_of(rules: dict[str, Any], shown: Sequence[Any]) -> list[str]:
    """`shown`: messages with `text` and `blocks`; an answer is one message."""
    faults = [f"{rule!r} is no rule" for rule in rules.keys() - RULES - {"command"}]
    texts = [_plain(message.text) for message in shown]
    said = [line for message in shown for line in (_plain(message.text), *_texts(message.blocks))]
    lines = [line for message in shown for line in _lines(message)]
    begins = rules.get("begins")
    if begins and not any(text.startswith(begins) for text in texts):
        faults.append(f"no message begins with {begins!r}")
    for wanted in rules.get("contains", ()):
        choices = wanted if isinstance(wanted, list) else [wanted]
        if not any(_reads(choice, said) for choice in choices):
            faults.append(f"{wanted!r} is not said")
    faults += [f"{word!r} is said" for word in rules.get("never", ()) if _reads(word, said)]
    if rules.get("order") and not _follow(rules["order"], "\n".join(said)):
        faults.append(f"{rules['order']!r} do not follow one another")
    if rules.get("placed") and not any(_places(rules["placed"], rules.get("unplaced", ()), text) for text in texts):
        faults.append(f"no text places {rules['placed']!r} without {rules.get('unplaced', [])!r}")
    for name in rules.get("non_runners", ()):
        faults += [f"{name} is no non-runner in {line!r}" for line in lines if _names(name, line) and not _is_out(line)]
    for name in rules.get("runners", ()):
        if not any(_names(name, line) for line in lines):
            faults.append(f"{name} is not shown")
        faults += [f"{name} is a non-runner in {line!r}" for line in lines if _names(name, line) and _is_out(line)]
    return faults


def words_of(shown: Sequence[Any]) -> str:
    """All shown words, for a report."""
    return "\n".join(
        "\n    ".join(dict.fromkeys((_plain(message.text), *_texts(message.blocks, rows_whole=True))))
        for message in shown
    )


def _plain(text: str) -> str:
    return html.unescape(_DATE.sub(r"\1", text or ""))


def _texts(value: Any, *, rows_whole: bool = False) -> Iterator[str]:
    """Each text of the blocks: of a table each cell, or with `rows_whole` each row."""
    if isinstance(value, dict):
        yield from (_plain(value[name]) for name in ("text", "caption") if isinstance(value.get(name), str))
        for name, item in value.items():
            if rows_whole and name == "rows":
                yield from (" | ".join(_texts(row)) for row in item)
            elif isinstance(item, dict | list | tuple):
                yield from _texts(item, rows_whole=rows_whole)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, rows_whole=rows_whole)


def _lines(message: Any) -> Iterator[str]:
    for text in (_plain(message.text), *_texts(message.blocks, rows_whole=True)):
        yield from text.split("\n")


def _reads(wanted: str, said: Iterable[str]) -> bool:
    """In letters of either case. Figures and words stand alone: "1 run" is neither in "11 run" nor in "1 runner"."""
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    after = r"(?![0-9])" if wanted[-1:].isdigit() else r"(?![a-z])" if wanted[-1:].isalpha() else ""
    found = re.compile(before + re.escape(wanted) + after, re.IGNORECASE)
    return any(found.search(text) for text in said)


def _follow(wanted: Sequence[str], text: str) -> bool:
    place = 0
    for name in wanted:
        place = text.casefold().find(name.casefold(), place)
        if place < 0:
            return False
        place += len(name)
    return True


def _places(placed: Sequence[str | list[str]], unplaced: Sequence[str], text: str) -> bool:
    place, end = 1, 0
    for wanted in placed:
        names = wanted if isinstance(wanted, list) else [wanted]
        found = [_place_of(name, text) for name in names]
        if any(one is None for one in found):
            return False
        spots = [one for one in found if one is not None]
        if any(start < end or number not in {None, place} for start, number in spots):
            return False
        if len(names) > 1 and not (all(number for _, number in spots) or "dead heat" in text):
            return False
        end = max(start for start, _ in spots)
        place += len(names)
    return not any(spot is not None and spot[1] is not None for spot in (_place_of(name, text) for name in unplaced))


def _place_of(name: str, text: str) -> tuple[int, int | None] | None:
    """The position of a name in a text, and the place said before the name; None for a missing name."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    if not found:
        return None
    before = re.split(r"[,:;.] ", text[: found.start()])[-1]
    place = re.search(r"(?<![\w:.])=?([0-9]{1,3})(?![0-9:.])", before)
    return found.start(), int(place[1]) if place else None


def _names(name: str, line: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line, re.IGNORECASE) is not None


def _is_out(line: str) -> bool:
    return _NON_RUNNER.search(line) is not None

"""Commands are carried out: progress while a command takes long, and a response_url used within Slack's limit."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import CommandError, SlackError, SlackUnreached
from bot.outbox.message import Message, NativeBlocks
from bot.slack.commands.invocation import Command
from bot.slack.commands.table import find_command
from bot.slack.listeners.app_home import HomeListener, HomePage
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import CommandListener
from bot.slack.web_client import Reply, Responder
from bot.tasks import Tasks
from tests.answering import answering
from tests.rows import over
from tests.unit.commands.town import NOW, typed


class Webhook:
    """The session by which slack_sdk posts: notes the bodies, and answers or raises by script."""

    closed = False

    def __init__(self):
        self.sent: list[dict[str, Any]] = []
        self.outcomes: list[Any] = []

    @asynccontextmanager
    async def request(self, _method, _url, *, data, **_more):
        self.sent.append({"blocks": None} | json.loads(data))
        outcome = self.outcomes.pop(0) if self.outcomes else 200
        if isinstance(outcome, Exception):
            raise outcome
        status, body = outcome if isinstance(outcome, tuple) else (outcome, "invalid_blocks" if outcome == 400 else "")

        async def text():
            return body

        yield SimpleNamespace(status=status, headers={}, text=text)


@pytest.fixture
def webhook():
    return Webhook()


NOBODY: Any = None
URL = "https://hooks.slack.com/commands/1"
API = "https://slack.com/api/"


def make_responder(webhook, native=None):
    session: Any = webhook
    return Responder(AsyncWebClient(session=session), API, native or NativeBlocks(lambda: 0.0), pause_s=0.0)


def make_runner(webhook, at_s=(0.0, 0.0, 0.0), **timing):
    people = SimpleNamespace(is_admin=answering(False), admin_users=frozenset())
    desk: Any = SimpleNamespace(
        people=people, clock=lambda: NOW, token=lambda size: "0" * 2 * size, wake=asyncio.Event()
    )
    return CommandRunner(desk, make_responder(webhook), Tasks(), at_s, **timing)


def slow_command(done):
    async def answer(_desk, invocation, _committed):
        async def words():
            return "Reading"

        invocation.progress.say = words
        await done.wait()
        return Message(text="Answer")

    return Command("slow", answer)


async def run(runner, command, reply, once=lambda: None):
    """Carry a command out; `once` is asked again and again meanwhile."""
    task = asyncio.create_task(runner.answer(await runner.commit(command, typed()), reply))
    while not task.done():
        await asyncio.sleep(0)
        once()
    await task


async def test_progress_in_place_is_replaced_by_the_answer_within_the_uses_of_the_address(webhook):
    done = asyncio.Event()
    reply = Reply(URL, "cmd-1", in_place=True)
    await run(make_runner(webhook), slow_command(done), reply, lambda: done.set() if len(webhook.sent) == 3 else None)
    assert [one["text"] for one in webhook.sent] == ["Reading. The answer comes here."] * 3 + ["Answer"]
    assert [one["replace_original"] for one in webhook.sent] == [True] * 4


async def test_membership_of_whoever_presses_at_home_is_asked_within_the_time_of_the_commit(webhook):
    asked, began = [], []

    async def call(method, *_args, **_more):
        asked.append(asyncio.get_running_loop().time())
        raise SlackUnreached(method, "no_connection")

    async def apply(_desk, invocation, _planned):
        began.append(invocation.began_s)

    runner = make_runner(webhook)
    desk: Any = runner.desk
    desk.slack = SimpleNamespace(call=call, web=AsyncWebClient())
    command = Command("pause", slow_command(asyncio.Event()).answer, apply=apply)
    committed = await runner.commit(command, typed(from_home=True))
    assert committed.error is None
    assert began[0] <= asked[0]


async def test_line_longer_than_the_line_of_any_button_is_refused_unread(webhook):
    runner, long = make_runner(webhook), typed("no " * 4_000)
    await runner.answer(await runner.commit(find_command("subscribe")[0], long), Reply(URL, "cmd-1"))
    assert "at most 2000 characters" in webhook.sent[0]["text"]


@pytest.mark.parametrize(
    ("say", "told"), [("Reading", "Reading; the answer follows."), (None, "This takes a moment; the answer follows.")]
)
async def test_progress_that_stays_beside_the_answer_is_said_once(webhook, say, told):
    async def answer(_desk, invocation, _committed):
        async def words():
            return say

        invocation.progress.say = words if say else None
        for _ in range(100):
            await asyncio.sleep(0)
        return Message(text="Answer")

    await run(make_runner(webhook), Command("slow", answer), Reply(URL, "cmd-1"))
    assert [one["text"] for one in webhook.sent] == [told, "Answer"]
    assert [one["replace_original"] for one in webhook.sent] == [False, False]


async def test_message_that_was_clicked_is_replaced_only_in_place(webhook):
    done = asyncio.Event()
    done.set()
    command = slow_command(done)
    for in_place in (False, True):
        await run(make_runner(webhook, ()), command, Reply(URL, "cmd-1", in_place=in_place))
    assert [one["replace_original"] for one in webhook.sent] == [False, True]


async def test_answer_that_is_refused_goes_out_in_plain_text_with_what_is_left(webhook):
    webhook.outcomes = [200, 200, 200, 400, 200]
    responder, reply = make_responder(webhook), Reply(URL, "cmd-1")
    for _ in range(4):
        await responder.respond(reply, Message(text="Reading."), is_last=False)
    assert len(webhook.sent) == 3
    assert await responder.respond(reply, Message(text="Answer", blocks=({"type": "divider"},)))
    assert [one["blocks"] for one in webhook.sent[3:]] == [[{"type": "divider"}], None]
    assert not await responder.respond(reply, Message(text="More"))
    assert len(webhook.sent) == 5


TABLE = ({"type": "data_table"},)
SECTIONS = ({"type": "section"},)
WORDS = None
NATIVE = Message(text="Answer", blocks=TABLE, plainer=Message(text="Answer", blocks=SECTIONS))
DROPPED = aiohttp.ServerDisconnectedError()
UNCONNECTED = aiohttp.ClientConnectorError(NOBODY, OSError("refused"))
PAGE = (200, "<!doctype html><title>Sign in</title>")
NOT_UTF_8 = UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "a proxy's page in Latin-1")
DOUBTS = [DROPPED, TimeoutError(), NOT_UTF_8, PAGE, 500, 503, (504, "<html><title>Gateway timeout</title>")]
NAMES_NO_BLOCKS = [(400, "invalid_payload"), (403, "action_prohibited"), (200, '{"ok": false}')]


@over(
    ("used", "outcomes", "sent", "ends"),
    [
        (0, [200], [TABLE], (True, True)),
        # Refused blocks go out in sections, and the last use is for text.
        (0, [400, 200], [TABLE, SECTIONS], (True, False)),
        (0, [400, 400, 200], [TABLE, SECTIONS, WORDS], (True, True)),
        (2, [400, 400, 200], [TABLE, SECTIONS, WORDS], (True, True)),
        (3, [400, 200], [TABLE, WORDS], (True, True)),
        # An answer in doubt is sent once more, and no more than once.
        *((0, [doubt, 200], [TABLE] * 2, (True, True)) for doubt in DOUBTS),
        *((0, [doubt, doubt, 200], [TABLE] * 2, (False, True)) for doubt in DOUBTS),
        (4, [DROPPED], [TABLE], (False, True)),
        # An answer that surely did not arrive is sent again unchanged.
        *((0, [*busy, 200], [TABLE] * (len(busy) + 1), (True, True)) for busy in ([429], [429] * 4, [UNCONNECTED] * 4)),
        (0, [429, UNCONNECTED, 500, 200], [TABLE] * 4, (True, True)),
        # A refusal without the word "blocks" says nothing of the workspace.
        *((0, [refusal, 200], [TABLE, SECTIONS], (True, True)) for refusal in NAMES_NO_BLOCKS),
        (0, [(404, "used_url")], [TABLE], (False, True)),
        (5, [200], [], (False, True)),
    ],
)
async def test_answer_goes_out_as_slack_takes_it(used, outcomes, sent, ends):
    """`ends`: whether Slack took the answer, and whether native blocks are sent again."""
    webhook = Webhook()
    webhook.outcomes = list(outcomes)
    responder = make_responder(webhook)
    is_taken = await responder.respond(Reply(URL, "cmd-1", uses=used), NATIVE)
    assert [one["blocks"] for one in webhook.sent] == [list(blocks) if blocks else None for blocks in sent]
    assert (is_taken, responder.native.form_of(NATIVE) == NATIVE) == ends


async def test_workspace_that_took_sections_only_is_spared_native_blocks_for_a_day(webhook):
    now = [0.0]
    webhook.outcomes = [400, 200]
    responder = make_responder(webhook, NativeBlocks(lambda: now[0]))
    for at_s in (0.0, 86_399.0, 86_400.0):
        now[0] = at_s
        assert await responder.respond(Reply(URL, "cmd-1"), NATIVE)
    assert [tuple(one["blocks"]) for one in webhook.sent] == [TABLE, SECTIONS, SECTIONS, TABLE]


@pytest.mark.parametrize("address", ["https://[bad", "::::", "", "https://evil.example/x", "https://slack.com@x.test/"])
async def test_answer_goes_to_no_address_that_is_not_slacks(webhook, address):
    assert not await make_responder(webhook).respond(Reply(address, "cmd-1"), Message(text="Answer"))
    assert webhook.sent == []


async def test_word_in_between_is_tried_once(webhook):
    webhook.outcomes = [500]
    reply = Reply(URL, "cmd-1")
    assert not await make_responder(webhook).respond(reply, Message(text="Reading"), is_last=False)
    assert reply.uses == 1


async def test_refusal_in_the_commit_is_answered_with_the_line_put_right(webhook, channel):
    async def apply(_desk, _invocation, _planned):
        raise CommandError("No region.", lines={"GB": "subscribe GB"})

    command = Command("subscribe", slow_command(asyncio.Event()).answer, apply=apply)
    runner = replace(make_runner(webhook), desk=channel.desk)
    await runner.answer(await runner.commit(command, typed("gb")), Reply(URL, "cmd-1"))
    (sent,) = webhook.sent
    assert sent["blocks"][-1]["elements"][0]["value"] == "subscribe GB"


async def test_change_that_is_not_done_in_time_blames_nobody(webhook):
    async def apply(_desk, _invocation, _planned):
        await asyncio.Event().wait()

    command = Command("subscribe", slow_command(asyncio.Event()).answer, apply=apply)
    runner = make_runner(webhook, commit_s=0.0)
    await runner.answer(await runner.commit(command, typed("GB")), Reply(URL, "cmd-1"))
    (sent,) = webhook.sent
    assert sent["text"].startswith("That took too long. Nothing was changed, unless /racing list shows the change")
    assert "storage" not in sent["text"]


async def test_button_of_another_version_says_what_to_do(webhook):
    async def ack():
        acked.append(True)

    acked: list[bool] = []
    runner = make_runner(webhook, ())
    body = {"user": {"id": "U1"}, "channel": {"id": "C1"}, "response_url": URL}
    await CommandListener(runner).on_action(ack, body, {"action_id": "gone_button:1", "value": "x"})  # type: ignore[arg-type]  # as Bolt calls it
    await runner.tasks.finish(1.0)
    assert acked
    assert [one["text"] for one in webhook.sent] == [
        "This button is from another version of the bot, so nothing was done. /racing help shows what I understand."
    ]


def test_line_of_a_button_is_read_as_typed_after_racing():
    command, text = find_command("racecard GB  2026-11-22")
    assert (command.name if command else None, text) == ("racecard", "GB  2026-11-22")
    assert find_command("frobnicate GB") == (None, "frobnicate GB")
    assert find_command("class 1 " * 5_000)[0] is None
    assert find_command(f"racecard{' ' * 40_000}York") == (command, "York")
    named = find_command("")[0]
    assert named is not None
    assert named.name == "help"


def make_home(webhook, publish):
    """The database gives an older Home, then a newer Home."""
    pages = iter(("older", "newer"))

    async def read(_page):
        return HomePage([], 0, is_admin=False, said=next(pages))

    async def published(*, view, **more):
        await publish(view["blocks"][0]["text"]["text"], more["hash"])

    async def call(_method, request, **_more):
        await request()

    runner = make_runner(webhook)
    runner.desk.database = SimpleNamespace(read=read)
    runner.desk.slack = SimpleNamespace(call=call, web=SimpleNamespace(views_publish=published))
    return HomeListener(runner)


async def test_home_published_later_is_not_replaced_by_an_earlier_home(webhook):
    may_go, shown = asyncio.Event(), []

    async def publish(said, _hash):
        if said == "older":
            await may_go.wait()
        shown.append(said)

    home = make_home(webhook, publish)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(home.publish(typed()))
            await asyncio.sleep(0)
        may_go.set()
    assert shown == ["older", "newer"]


async def test_home_is_read_anew_where_another_replica_has_published(webhook):
    shown = []

    async def publish(said, seen):
        if seen == "1.before":
            raise SlackError("views.publish", "hash_conflict")
        shown.append(said)

    await make_home(webhook, publish).publish(typed(), seen="1.before")
    assert shown == ["newer"]

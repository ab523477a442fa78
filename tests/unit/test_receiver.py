"""Requests on their way: the receiver, its settings, its lines to the bot; and Slack's requests before Bolt."""

import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from slack_bolt.response import BoltResponse

from bot.deliveries.inbox import StoredDelivery
from bot.errors import BodyUnreadable, SettingsError, SlackError
from bot.events.event import EventKind, RacingEvent
from bot.events.event_bounds import EVENT_RACES_MAX
from bot.events.races import Race
from bot.fanout.delivery_reader import DELIVERIES_PER_COMMIT, RACES_PER_COMMIT, DeliveryReader
from bot.operations.metrics import Metrics, ReceiverNews
from bot.operations.signature_mismatches import Mismatches
from bot.receiver import bot_process
from bot.receiver.bot_process import UNREAD_MAX_BYTES, BotProcess, CountsForBot
from bot.receiver.options import read_options
from bot.receiver.program import serve, until_stopped
from bot.settings import Settings
from bot.slack.bolt_app import receive
from bot.tasks import Tasks
from tests.rows import over


class Dead:
    """Ends at once."""

    def wait(self) -> int:
        return 1

    def send_signal(self, number: int) -> None: ...


@pytest.fixture
def inner():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


async def test_receiver_outlives_a_system_without_room_for_a_bot(inner, monkeypatch):
    outcomes = iter([OSError(12, "Cannot allocate memory"), OSError(24, "Too many open files"), Dead()])
    started = asyncio.Event()

    def spawn(_fds):
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        started.set()
        return outcome

    monkeypatch.setattr(bot_process, "spawn", spawn)
    monkeypatch.setattr(bot_process, "START_AGAIN_S", 0.01)
    bot = BotProcess(inner, CountsForBot())
    bot.was_up = True
    running = asyncio.create_task(bot.run())
    await started.wait()
    bot.stop()
    assert await running in {0, 1}


class Killed(Dead):
    """Ends by a signal, before the bot is up."""

    def wait(self) -> int:
        return -9


@pytest.mark.parametrize(("outcomes", "code"), [((Dead(),), 1), ((Killed(), Killed(), Dead()), 1)])
async def test_bot_that_is_killed_at_its_start_is_started_again_and_bot_that_refuses_to_start_ends_both(
    inner, monkeypatch, outcomes, code
):
    left = iter(outcomes)
    monkeypatch.setattr(bot_process, "spawn", lambda _fds: next(left))
    monkeypatch.setattr(bot_process, "START_AGAIN_MAX_S", 0.01)
    monkeypatch.setattr(bot_process, "START_AGAIN_S", 0.01)
    bot = BotProcess(inner, CountsForBot())
    assert (await bot.run(), [*left]) == (code, [])


class Running:
    """A bot, and a server that ends at once, by an error or by itself."""

    def __init__(self, error: OSError | None) -> None:
        self.should_exit = False
        self.error = error
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        self.stopped.set()

    def end(self) -> None:
        self.should_exit = True

    async def run(self) -> int:
        await self.stopped.wait()
        return 7

    async def serve(self, _sockets: Any) -> None:
        if self.error:
            raise self.error


@pytest.mark.parametrize("error", [None, OSError("no more sockets")])
async def test_receiver_whose_server_ends_stops_the_bot_and_ends(inner, error):
    running: Any = Running(error)
    ending = until_stopped(running, inner, running)
    if error is None:
        assert await ending == 7
    else:
        with pytest.raises(OSError, match="no more sockets"):
            await ending
    assert running.stopped.is_set()


# The receiver's own reading of the settings


SHARED = ("host", "port", "max_body_bytes", "log_level", "log_format")


def test_passwords_of_the_database_are_masked(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("RACING_WEBHOOK_SECRETS", "ENCRYPTION_KEYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgresql://racing:s3cret%40a@db/racing")
    assert read_options().secrets == {"s3cret%40a", "s3cret@a"}


def test_defaults_are_those_of_the_bot(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    options = read_options()
    defaults = {name: Settings.model_fields[name].get_default(call_default_factory=True) for name in SHARED}
    assert {name: getattr(options, name) for name in SHARED} == defaults
    assert options.database_url == Settings.model_fields["database_url"].default.get_secret_value()


@pytest.mark.parametrize("line", ["ENCRYPTION_KEYS=5ecret", "PORT=5ecret", "MAX_BODY_BYTES=4 MiB"])
@pytest.mark.parametrize("mode", [0o600, 0])
def test_setting_that_the_receiver_cannot_use_is_told_in_the_words_of_the_bot(line, mode, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(line.partition("=")[0], raising=False)
    (tmp_path / ".env").write_text(line, encoding="utf-8")
    (tmp_path / ".env").chmod(mode)
    with pytest.raises(SettingsError) as raised:
        serve()
    assert "5ecret" not in str(raised.value)


# No delivery is stored while a transaction runs


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALONE = RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED)
MEETING = RacingEvent(key="meeting.abandoned:mt_1", kind=EventKind.MEETING_ABANDONED, races=(Race(),) * EVENT_RACES_MAX)
MEETINGS_MAX = RACES_PER_COMMIT // (1 + EVENT_RACES_MAX) + 1


@over(
    ("events", "taken"),
    [((ALONE,), DELIVERIES_PER_COMMIT), ((ALONE,) * 30, 1), ((MEETING,), MEETINGS_MAX), ((MEETING,) * 30, 1)],
    ids=["races", "lists of races", "meetings", "lists of meetings"],
)
def test_deliveries_are_read_until_they_fill_a_commit(events, taken):
    reader = DeliveryReader(lambda _body: events)
    received = [NOON + timedelta(seconds=number) for number in range(2 * DELIVERIES_PER_COMMIT)]
    waiting = [StoredDelivery(number, "", None, b"{}", at, 0) for number, at in enumerate(received)]
    read = reader.read_some(reversed(waiting))
    assert [delivery.inbox_id for delivery, _ in read[:: len(events)]] == list(range(len(waiting)))[-taken:]
    assert len(read) == taken * len(events)


# The receiver's news: a letter wakes the bot at once, and counts share a line


async def test_letter_wakes_the_bot_and_counts_wait_for_a_bot_that_hears(inner):
    class Line:
        unread, lines = 0, list[bytes]()

        def write(self, line):
            self.lines.append(line)

        def get_write_buffer_size(self):
            return self.unread

    line, report = Line(), CountsForBot()
    report.delivery("200")
    report.connect(line)
    line.unread = UNREAD_MAX_BYTES + 1
    report.delivery("200")
    report.delivery("200")
    report.wake()
    report.tell()
    line.unread = 0
    report.wake()
    report.tell()
    BotProcess(inner, report).connection_lost(None)
    report.wake()
    assert line.lines == [b'[[1, "deliveries", "200"]]\n', b"[]\n", b'[[2, "deliveries", "200"]]\n']


# The receiver's news in the bot: any number of counts at once, and a failure stops no later news


async def test_counts_of_any_size_are_heard_failing_news_are_passed_over_and_counts_alone_wake_nothing():
    metrics, told, woken = Metrics(()), [], []

    async def tell_today(name, **facts):
        told.append((name, facts))
        if name == "too-large":
            raise OSError
        return True

    news = ReceiverNews(metrics, Mismatches(tell_today, lambda: 0.0), lambda: woken.append(1), 1_000)
    many = 10**12
    failing = [[1, "never_heard_of"], [many, "webhook_events", "", "too_large"]]
    heard = [[many, "deliveries", "401"], [many, "signature_failures", "mismatch"], [many, "requests_refused", "path"]]
    await news.hear(json.dumps([*failing, *heard]).encode())
    counted = [
        metrics.registry.get_sample_value(f"racing_bot_{name}_total", labels)
        for name, labels in (
            ("webhook_events", {"event": "other", "outcome": "too_large"}),
            ("deliveries", {"status": "401"}),
            ("signature_failures", {"reason": "mismatch"}),
            ("requests_refused", {"reason": "path"}),
        )
    ]
    wanted = [("too-large", {"max_bytes": 1_000}), ("wrong-signatures", {"count": many})]
    assert (counted, told, woken) == ([many] * 4, wanted, [])
    await news.hear(b"[]\n")
    assert woken == [1]


# Slack's requests on the way to Bolt, and work after the answer: a bug in either is logged


COMMAND = {"command": "/racing", "text": "list", "user_id": "U1", "channel_id": "C1"}


TYPED = "\u200bGB \u2013course:\u201cAscot\u00a0Heath\u201d\u2060"
PLAIN = 'GB -course:"Ascot Heath"'
SAID = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1"}


def clicked(**view):
    return {"user": {"id": "U1"}, "view": {"type": "modal", "callback_id": "form", **view}}


def form_with(value):
    return clicked(state={"values": {"hours": {"hours": {"type": "plain_text_input", "value": value}}}})


PRESSED = {"type": "block_actions", "actions": [{"action_id": "run", "value": TYPED}]} | clicked()


def make_bolt(outcome: Any) -> Any:
    async def dispatch(_request):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return SimpleNamespace(async_dispatch=dispatch)


@over(
    ("typed", "plain"),
    [
        (COMMAND | {"text": TYPED}, COMMAND | {"text": PLAIN}),
        tuple({"type": "event_callback", "event": SAID | {"text": text}} for text in (TYPED, PLAIN)),
        ({"type": "view_submission"} | form_with(TYPED), {"type": "view_submission"} | form_with(PLAIN)),
        tuple({"type": "block_suggestion", "action_id": "courses", "value": text} for text in (TYPED, PLAIN)),
        (PRESSED, PRESSED),
    ],
    ids=["a command", "a direct message", "a form", "a menu", "a button's value stays"],
)
async def test_typed_text_is_cleaned_where_it_comes_in(typed, plain):
    taken = []

    async def dispatch(request):
        taken.append(request.body)
        return BoltResponse(status=200)

    await receive(SimpleNamespace(async_dispatch=dispatch), typed)  # type: ignore[arg-type]  # nothing else of Bolt is used
    assert taken == [plain]


async def test_request_gets_bolts_answer_or_the_reference_of_a_logged_bug(capsys):
    answer = BoltResponse(status=200, body="x")
    assert await receive(make_bolt(answer), COMMAND) is answer
    # A request that the bot does not use is acknowledged without Bolt. A body without Slack's shape is refused.
    answer = await receive(make_bolt(RuntimeError("asked")), {"type": "workflow_step_edit", "callback_id": 7})
    assert (answer.status, answer.body) == (200, "")
    with pytest.raises(BodyUnreadable):
        await receive(make_bolt(RuntimeError("asked")), COMMAND | {"user_id": ""})
    answer = await receive(make_bolt(RuntimeError("a bug")), COMMAND)
    assert answer.status == 500
    reference = answer.body.rpartition(" ")[2].rstrip('"}')
    assert reference.startswith("slack-")
    assert reference in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "level"), [(RuntimeError("a bug"), "error"), (SlackError("views.update", "not_found"), "warning")]
)
async def test_failure_of_background_work_is_logged_by_its_kind(capsys, error, level):
    async def broken():
        raise error

    tasks = Tasks()
    tasks.start(broken(), "answer cmd-1")
    await tasks.finish(1.0)
    said = capsys.readouterr().err
    assert "answer cmd-1" in said
    assert f"[{level}" in said

"""What Debian's programs are given: the bot's own deliveries, and alerts of the same size."""

import asyncio
import json
from itertools import islice
from pathlib import Path

import pytest

from bench import debian
from bench.outside import Outside
from bench.payloads import BODY_BYTES, PATH, SECRET


def bodies_of(requests, count):
    return [request.partition(b"\r\n\r\n")[2] for request in islice(requests, count)]


def test_alerts_are_of_a_deliverys_size_and_carry_the_key_of_their_post():
    alerts = debian.Alerts("t")
    bodies = bodies_of(alerts.requests(), 3)
    assert {len(body) for body in bodies} == {BODY_BYTES}
    assert [json.loads(body)[0]["labels"]["post"] for body in bodies] == [alerts.key(number) for number in range(3)]


def test_hook_stands_at_the_bots_path_and_asks_for_its_signature(tmp_path, monkeypatch):
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(debian, "running_program", lambda *command, **_rest: commands.append(command))
    debian.webhook("/usr/bin/webhook", tmp_path)
    _, *arguments = commands[0]
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    (hook,) = json.loads(Path(options["-hooks"]).read_text(encoding="utf-8"))
    assert f"/{options['-urlprefix']}/{hook['id']}" == PATH
    assert hook["trigger-rule"]["match"]["secret"] == SECRET


def test_program_that_is_not_installed_is_left_out_and_this_is_said(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert debian.program(debian.ALERTMANAGER) is None
    assert capsys.readouterr().err == "Alertmanager is not installed: its lines are left out\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/chat.postMessage", {"channel": "C1", "metadata": {"event_payload": {"post": "p1"}}}),
        ("/api/alertmanager", {"attachments": [{"title": "p1"}]}),
    ],
)
async def test_post_of_the_bot_and_of_alertmanager_is_known_by_its_key(path, message):
    outside, sent = Outside(), []

    async def receive():
        return {"type": "http.request", "body": json.dumps(message).encode()}

    async def send(part):
        await asyncio.sleep(0)
        sent.append(part["type"])

    await outside({"type": "http", "path": path}, receive, send)
    assert (list(outside.arrived), sent) == (["p1"], ["http.response.start", "http.response.body"])

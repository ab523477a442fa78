"""Slack's requests on the way to Bolt, and work after the answer: a bug in either is logged."""

from types import SimpleNamespace
from typing import Any

import pytest
from slack_bolt.response import BoltResponse

from bot.errors import BodyUnreadable, SlackError
from bot.slack.body_router import receive
from bot.tasks import Tasks

COMMAND = {"command": "/racing", "text": "list", "user_id": "U1", "channel_id": "C1"}


TYPED = "\u200bGB \u2013course:\u201cAscot\u00a0Heath\u201d\u2060"
PLAIN = 'GB -course:"Ascot Heath"'
SAID = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1"}


def clicked(**view):
    return {"user": {"id": "U1"}, "view": {"type": "modal", "callback_id": "form", **view}}


def form_with(value):
    return clicked(state={"values": {"hours": {"hours": {"type": "plain_text_input", "value": value}}}})


def make_bolt(outcome: Any) -> Any:
    async def dispatch(_request):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return SimpleNamespace(async_dispatch=dispatch)


async def test_what_is_ours_gets_bolts_answer():
    answer = BoltResponse(status=200, body="x")
    assert await receive(make_bolt(answer), COMMAND) is answer


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        (COMMAND | {"text": TYPED}, COMMAND | {"text": PLAIN}),
        tuple({"type": "event_callback", "event": SAID | {"text": text}} for text in (TYPED, PLAIN)),
        ({"type": "view_submission"} | form_with(TYPED), {"type": "view_submission"} | form_with(PLAIN)),
        (
            {"type": "block_suggestion", "action_id": "courses", "value": TYPED},
            {"type": "block_suggestion", "action_id": "courses", "value": PLAIN},
        ),
        *(
            (pressed, pressed)
            for pressed in [{"type": "block_actions", "actions": [{"action_id": "run", "value": TYPED}]} | clicked()]
        ),
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


async def test_what_is_not_ours_is_acked_without_bolt():
    answer = await receive(make_bolt(RuntimeError("asked")), {"type": "workflow_step_edit", "callback_id": 7})
    assert (answer.status, answer.body) == (200, "")


async def test_what_has_not_slacks_shape_is_refused():
    with pytest.raises(BodyUnreadable):
        await receive(make_bolt(RuntimeError("asked")), COMMAND | {"user_id": ""})


async def test_bug_in_bolt_is_logged_with_the_reference_that_is_answered(capsys):
    answer = await receive(make_bolt(RuntimeError("a bug")), COMMAND)
    assert answer.status == 500
    reference = answer.body.rpartition(" ")[2].rstrip('"}')
    assert reference.startswith("slack-")
    assert reference in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "level"), [(RuntimeError("a bug"), "error"), (SlackError("views.update", "not_found"), "warning")]
)
async def test_failure_of_background_work_is_logged_by_its_kind(capsys, error, level):
    async def broken():
        raise error

    tasks = Tasks()
    tasks.start(broken(), "answer cmd-1")
    await tasks.finish(1.0)
    said = capsys.readouterr().out
    assert "answer cmd-1" in said
    assert f"[{level}" in said

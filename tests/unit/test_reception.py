"""What Slack sends on its way to Bolt, and work that goes on after it was answered: no bug is lost on either."""

from types import SimpleNamespace
from typing import Any

import pytest
from slack_bolt.response import BoltResponse

from bot.errors import BodyUnreadable
from bot.slack.background_tasks import Tasks
from bot.slack.body_router import receive

COMMAND = {"command": "/racing", "text": "list", "user_id": "U1", "channel_id": "C1"}


def make_bolt(outcome: Any) -> Any:
    async def dispatch(_request):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return SimpleNamespace(async_dispatch=dispatch)


async def test_what_is_ours_gets_bolts_answer():
    answer = BoltResponse(status=200, body="x")
    assert await receive(make_bolt(answer), COMMAND) is answer


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


async def test_bug_in_work_that_nobody_waits_for_is_logged(capsys):
    async def broken():
        raise RuntimeError("a bug")

    tasks = Tasks()
    tasks.start(broken(), "answer cmd-1")
    await tasks.finish(1.0)
    assert "answer cmd-1" in capsys.readouterr().out

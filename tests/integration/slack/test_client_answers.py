"""The client's readings of Slack's answers, and of answers by others, such as proxies."""

import json
from datetime import timedelta
from typing import Any

import pytest

from bot.errors import SlackChannelClosed, SlackDoubtful, SlackRefused
from bot.outbox.message import Message
from bot.outbox.messenger import Search, Sending
from bot.slack.channel_membership import creator, is_member
from bot.slack.web_client import WORDS_MAX
from sandbox.slack import failures
from sandbox.slack.failures import Failure
from sandbox.slack.values import Channel
from tests.clock import now
from tests.integration.conftest import TOKEN


def odd(body, status=200):
    return Failure(name="odd", status=status, body=json.dumps(body))


def post(pipeline, **more):
    return pipeline.sender.post("CGB", Message("Result"), Sending("k", 5, **more))


async def refusals(pipeline, answers):
    """The error of each post by the answer's name."""
    found = {}
    for name, failure in answers.items():
        pipeline.slack.script("chat.postMessage", [failure])
        try:
            await post(pipeline)
        except Exception as error:  # noqa: BLE001  the test asks for the class
            found[name] = error
    return found


DOUBTFUL = {
    "drop after": failures.drop_after(),
    "drop before": failures.drop_before(),
    "503": failures.http_error(503),
    "html": failures.html(),
    "cut": failures.truncated(),
    "fatal": failures.slack_error("fatal_error"),
    "ts that is no time": odd({"ok": True, "ts": "soon"}),
    **{
        f"{status} {body}": odd(body, status)
        for status in (200, 403)
        for body in ({"error": "Forbidden"}, {"error": "channel_not_found", "ok": "false"}, ["not Slack"])
    },
    "500 with a code": odd({"ok": False, "error": "channel_not_found"}, 500),
}


async def test_answer_that_does_not_say_what_became_of_the_call_is_a_doubt(pipeline):
    found = await refusals(pipeline, DOUBTFUL)
    assert {name: type(error) for name, error in found.items()} == dict.fromkeys(DOUBTFUL, SlackDoubtful)


ECHOES: dict[str, dict[str, Any]] = {
    "in the code": {"error": f"odd_{TOKEN}"},
    "in the scope that it needs": {"error": "missing_scope", "needed": f"chat:write {TOKEN}"},
    "in a message": {"error": "odd", "response_metadata": {"messages": [f"[ERROR] {TOKEN} is odd"]}},
    "in a message about blocks": {"error": "invalid_blocks", "response_metadata": {"messages": [TOKEN]}},
    "where the words are cut": {"error": "o" * (WORDS_MAX - 5) + TOKEN},
}


async def test_token_that_slack_echoes_is_in_no_words_of_the_refusal(pipeline):
    for status in (200, 500):
        found = await refusals(pipeline, {name: odd({"ok": False} | body, status) for name, body in ECHOES.items()})
        assert found.keys() == ECHOES.keys()
        assert TOKEN[:10] not in str([(str(error), error.code, error.details) for error in found.values()])


async def test_refusal_says_what_slack_said(pipeline):
    found = await refusals(pipeline, {"odd": odd({"ok": False, "error": "odd", "needed": "chat:write"})})
    assert isinstance(found["odd"], SlackRefused)
    assert str(found["odd"]) == "chat.postMessage: odd (needs chat:write)"


async def test_metadata_has_the_revision_of_the_last_call(pipeline):
    moment = now()
    message_ts = await post(pipeline, rev=1)
    await pipeline.sender.update("CGB", message_ts, Message("later"), Sending("k", 5, rev=7))
    page = await pipeline.sender.find("CGB", Search("k", moment - timedelta(minutes=1), moment + timedelta(minutes=1)))
    assert page.rev == 7


# Whether the bot is in a channel


async def test_channel_is_one_of_ours_while_we_are_in_it(pipeline, slack):
    assert await is_member(pipeline.sender, "CGB") is True
    await slack.archive("CGB")
    assert await is_member(pipeline.sender, "CGB") is False
    await slack.remove_bot("CIRE")
    assert await is_member(pipeline.sender, "CIRE") is False
    assert await is_member(pipeline.sender, "CNOWHERE") is False
    slack.script("conversations.info", [failures.slack_error("internal_error")])
    assert await is_member(pipeline.sender, "CALL") is None


async def test_direct_message_is_ours_where_it_is_with_us(pipeline, slack):
    ours = slack.direct_message("UALICE").id
    slack.add_user("UBOB", "bob")
    slack.channels["DTHEIRS"] = Channel(
        id="DTHEIRS",
        name="directmessage",
        created_at=slack.clock(),
        is_private=True,
        dm_user="UBOB",
        members={"UALICE"},
    )
    assert await is_member(pipeline.sender, ours) is None
    slack.scopes.add("im:history")
    assert await is_member(pipeline.sender, ours) is True
    assert await is_member(pipeline.sender, "DTHEIRS") is False


async def test_creator_of_a_channel_is_asked_of_slack(pipeline, slack):
    slack.channels["CGB"].creator = "UALICE"
    assert await creator(pipeline.sender, "CGB", 5.0) == "UALICE"
    with pytest.raises(SlackChannelClosed):
        await creator(pipeline.sender, "CNOWHERE", 5.0)

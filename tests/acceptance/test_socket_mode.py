"""All that people can do, by HTTP and by Socket Mode: the same must come of it.

A new command is a line in COMMANDS. A button or a form is a test that takes `world`, and does it with `world.person()`.
"""

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from sandbox.slack import failures
from tests.acceptance.conftest import APP_TOKEN, run_world
from tests.acceptance.payloads import abandoned, result

MODES: dict[str, dict[str, str]] = {"http": {}, "socket": {"SLACK_APP_TOKEN": APP_TOKEN}}

COMMANDS = {
    "/racing help": "Choose what this channel receives*, for example `/racing subscribe ",
    "/racing subscribe GB": "receives results and abandonments from GB",
    "/racing list": "no subscriptions",
    "/racing unsubscribe GB": "no subscriptions",
    "/racing pause": "nothing to pause",
    "/racing resume": "not paused",
    '/racing watch horse:"Golden Melody"': "Watched here from now on",
    "/racing watching": "Golden Melody",
    "/racing trace rc_1": "received no delivery",
    "/racing racecard GB tomorrow": "GB",
    "/racing status": "Last 24 hours: 0 deliveries, 0 posts",
    "/racing audit": "Only admins",
    "/racing drill": "Only admins",
    "/racing usage": "15,000",
    "/racing results GB": "Results: GB",
    "/racing coverage": "18 countries",
    "/racing courses": "90 courses",
    "/racecard GB nextweek": "nextweek",
    "/racecard payload": "payload",
    "/usage": "15,000",
}
"""A command as it is typed, and what its answer says."""


@pytest_asyncio.fixture(params=MODES)
async def world(request, tmp_path: Path):
    """The same world in both modes."""
    async with run_world(tmp_path, switches=None, start=True, **MODES[request.param]) as running:
        yield running


@pytest_asyncio.fixture
async def socket_world(tmp_path: Path):
    async with run_world(tmp_path, SLACK_APP_TOKEN=APP_TOKEN) as running:
        yield running


async def readiness(world):
    async with httpx.AsyncClient() as client:
        return (await client.get(f"{world.bot.url}/readyz")).json()


async def wait_degraded(world, name, *, is_there):
    async with asyncio.timeout(60):
        while (name in (await readiness(world))["degraded"]) is not is_there:  # noqa: ASYNC110  another process
            await asyncio.sleep(0.1)


async def test_every_command_is_answered(world):
    for line, expected in COMMANDS.items():
        answer = await world.person().types(line, channel="CGB")
        assert (answer.status, answer.error) == (200, None), line
        (response,) = await answer.responses()
        assert expected in json.dumps([response.text, response.blocks], ensure_ascii=False), line
        await world.say("/racing", "unsubscribe all", channel="CGB")


async def test_every_command_that_help_names_is_tried(world):
    said = await world.say("/racing", "help", channel="CGB")
    named = {f"/racing {word}" for word in re.findall(r"• `/racing ([a-z]+)", said)}
    assert named
    assert named <= {" ".join(line.split()[:2]) for line in COMMANDS}


async def test_what_a_command_changed_is_there_when_it_is_acked(world):
    answer = await world.person().types("/racing subscribe GB", channel="CGB")
    assert answer.error is None
    world.bot.kill()
    await world.bot.start()
    await world.bot.deliver(abandoned())
    (text,) = await world.wait_for_posts("CGB", 1)
    assert text.startswith("ABANDONED")


async def test_invited_bot_welcomes_once_however_often_slack_says_so(world):
    world.slack.add_channel("CNEW", "new-channel", bot_is_member=False)
    world.slack.channels["CNEW"].members.add(world.slack.bot_user_id)
    joined = {"type": "member_joined_channel", "user": world.slack.bot_user_id, "channel": "CNEW"}
    for retry_num in (None, 1, 2):
        answer = await world.slack.event(world.bot.url, joined, event_id="EvJoined", retry_num=retry_num)
        assert answer.error is None
    (text,) = await world.wait_for_posts("CNEW", 1)
    assert "/racing subscribe GB" in text
    await world.slack.remove_bot("CNEW", world.bot.url)
    await world.slack.invite_bot("CNEW", world.bot.url)
    assert len(await world.wait_for_posts("CNEW", 2)) == 2


async def test_direct_message_works_like_a_channel(world):
    world.slack.scopes.add("im:history")
    direct = world.slack.add_dm("UALICE").id
    answer = await world.person().writes("hello?")
    assert answer.error is None
    (_, told) = await world.wait_for_posts(direct, 2)
    assert "/racing subscribe" in told
    said = await world.say("/racing", "subscribe GB", channel=direct)
    assert "This channel receives" in said
    assert "could not see" not in said
    await world.bot.deliver(abandoned())
    assert (await world.wait_for_posts(direct, 3))[-1].startswith("ABANDONED")


async def test_channel_goes_on_under_its_new_id(world):
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result("rc_1"))
    await world.wait_for_posts("CGB", 1)
    world.slack.script("chat.postMessage", [failures.rate_limited(1)])
    await world.bot.deliver(abandoned("rc_2"))
    (answer,) = await world.slack.change_id("CGB", "CNEWID", world.bot.url)
    assert answer.error is None
    texts = await world.wait_for_posts("CNEWID", 2)
    assert texts[1].startswith("ABANDONED")
    assert "live" in await world.say("/racing", "list", channel="CNEWID")


async def test_deleted_channel_is_suspended_and_its_creator_told(world):
    await world.subscribe("CGB", "GB")
    await world.slack.delete_channel("CGB", world.bot.url)
    (told,) = await world.wait_for_posts("CADMIN", 1)
    assert "CGB" in told
    assert "deleted" in told
    direct = world.slack.add_dm("UALICE").id
    assert "you subscribed it" in (await world.wait_for_posts(direct, 1))[0]


async def test_renamed_channel_and_one_made_private_stay_subscribed(world):
    await world.subscribe("CGB", "GB")
    await world.slack.rename("CGB", "racing")
    await world.slack.make_private("CGB")
    await world.bot.deliver(abandoned())
    assert (await world.wait_for_posts("CGB", 1))[0].startswith("ABANDONED")


async def test_stop_answers_what_came_before_it(world):
    asked = asyncio.create_task(world.person().types("/racing subscribe GB", channel="CGB"))
    answer = await asked
    assert await world.bot.stop() in {0, -15}
    assert answer.error is None
    assert "receives" in json.dumps([one.text for one in await answer.responses()])


async def test_button_below_an_alert_is_answered_to_who_clicked_it(world):
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result())
    await world.wait_for_posts("CGB", 1)
    answer = await world.person().clicks("Who was told", channel="CGB")
    assert answer.error is None
    (told,) = await answer.responses()
    assert (told.response_type, told.replace_original) == ("ephemeral", False)
    assert "posted" in told.text


async def test_watch_is_ended_by_its_button(world):
    await world.say("/racing", 'watch horse:"Blue Moon"', channel="CGB")
    await world.say("/racing", "watching", channel="CGB")
    (ended,) = await (await world.person().clicks("End", channel="CGB")).responses()
    assert "No longer watched here: horse Blue Moon" in ended.text


async def test_form_subscribes(world):
    answer = await world.person().types("/racing subscribe", channel="CGB")
    assert answer.error is None
    view_id = await world.person().opened("subscribe_form")
    (regions,) = [block["element"] for block in world.slack.views[view_id]["blocks"] if block["block_id"] == "regions"]
    typed = "GB" if regions["type"] == "plain_text_input" else ["GB"]
    assert (await world.person().submits(view_id, {"regions": typed})).error is None
    assert "results and abandonments from GB" in await world.say("/racing", "list", channel="CGB")


# Socket Mode alone


def opened(world):
    """How often the bot asked for a connection."""
    return sum(call.method == "apps.connections.open" for call in world.slack.calls)


@pytest.mark.long
async def test_broken_connections_are_replaced_and_stop_neither_webhooks_nor_posts(socket_world):
    world = socket_world
    await world.subscribe("CGB", "GB")
    trouble = [failures.drop_before(), failures.slack_error("internal_error"), failures.rate_limited(1)]
    # Each kind at once, since the pauses between attempts grow.
    world.slack.script("apps.connections.open", trouble, then_always=failures.drop_before())
    await world.slack.sockets.cut()
    await wait_degraded(world, "socket mode", is_there=True)
    assert (await world.bot.deliver(abandoned())).status_code == 200
    await world.wait_for_posts("CGB", 1)
    assert (await world.person().types("/usage", channel="CGB")).error == "dispatch_failed"
    await world.slack.wait_for(lambda: opened(world) >= 1 + len(trouble), timeout_s=60)
    world.slack.script("apps.connections.open", [])
    await world.slack.wait_for(lambda: world.slack.sockets.connections == 1, timeout_s=60)
    assert "GB" in await world.say("/racing", "list", channel="CGB")
    await wait_degraded(world, "socket mode", is_there=False)


async def test_connection_that_slack_wants_replaced_is_replaced_before_it_closes(socket_world):
    sockets = socket_world.slack.sockets
    opened = sockets.opened
    await sockets.refresh()
    assert sockets.connections == 1
    await socket_world.slack.wait_for(lambda: sockets.opened == opened + 1 and sockets.connections == 1)
    assert "no subscriptions" in await socket_world.say("/racing", "list", channel="CGB")


async def test_without_a_signing_secret_the_address_says_that_slack_comes_by_socket(socket_world):
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{socket_world.bot.url}/slack/events", content=b"command=%2Fusage")
    assert answer.status_code == 404
    assert "Socket Mode" in answer.json()["error"]


async def test_with_both_secrets_both_ways_work(tmp_path):
    async with run_world(
        tmp_path, SLACK_APP_TOKEN=APP_TOKEN, SLACK_SIGNING_SECRET="slack-signing-secret-test"
    ) as world:
        assert "no subscriptions" in await world.say("/racing", "list", channel="CGB")
        world.slack.socket_mode = False
        assert "no subscriptions" in await world.say("/racing", "list", channel="CGB")


async def test_no_token_and_no_ticket_is_in_the_log(tmp_path):
    async with run_world(tmp_path, SLACK_APP_TOKEN=APP_TOKEN, LOG_LEVEL="debug") as world:
        await world.say("/racing", "list", channel="CGB")
        opened = world.slack.sockets.opened
        world.slack.script("apps.connections.open", [failures.slack_error("invalid_auth"), failures.html(502)])
        await world.slack.sockets.cut()
        await world.slack.wait_for(lambda: world.slack.sockets.opened > opened, timeout_s=60)
        await world.bot.stop()
        assert "socket_mode_not_connected" in world.bot.log
        assert APP_TOKEN not in world.bot.log
        assert "sandbox-ticket" not in world.bot.log
        assert "Traceback" not in world.bot.log

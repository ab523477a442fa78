"""Abandonments to be acknowledged: chosen by words and by the form, taken by a press, told to others over a kill."""

import json
import sqlite3
from pathlib import Path

import pytest_asyncio

from tests.acceptance.conftest import APP_TOKEN, run_world, until
from tests.acceptance.payloads import abandoned
from tests.acceptance.test_app_home import opened
from tests.acceptance.test_subscription_forms import opened_form, refused_form, saved_form

MODES: dict[str, dict[str, str]] = {"http": {}, "socket": {"SLACK_APP_TOKEN": APP_TOKEN}}


@pytest_asyncio.fixture(params=MODES)
async def world(request, tmp_path: Path):
    """The same world in both modes, with Alice in two channels."""
    async with run_world(tmp_path, switches=None, start=True, **MODES[request.param]) as running:
        running.slack.add_user("UBOB", "bob")
        running.slack.add_user("UGUEST", "guest", is_guest=True)
        running.slack.add_user("USTRANGER", "stranger", is_admin=True, team_id="T0OTHER")
        for channel in ("CGB", "CALL"):
            running.slack.channels[channel].members.update({"UALICE", "UBOB", "UGUEST", "USTRANGER"})
        while "I know no region" not in await running.say("/racecard", "Nowhere", channel="CGB"):
            continue
        yield running


async def test_press_shows_everybody_who_has_it_and_later_presses_hear_of_it(world):
    said = await world.say("/racing", "subscribe GB ack:5m", channel="CGB")
    assert "abandonments to be acknowledged within 5 minutes" in said
    await world.bot.deliver(abandoned("rc_1"))
    await world.wait_for_posts("CGB", 1)
    before = world.slack.messages("CGB")[0]
    button = next(
        element for block in before.blocks for element in block.get("elements", ()) if "I have it" in str(element)
    )
    for outsider in ("UGUEST", "USTRANGER"):
        answer = await world.person(outsider).clicks("I have it", channel="CGB")
        (told,) = await answer.responses()
        assert "can't do that, so nothing was changed" in told.text
        assert "can't do that" in await world.say("/racing", "pause 1h", channel="CGB", user=outsider)
    answer = await world.person().clicks("I have it", channel="CGB")
    (told,) = await answer.responses()
    assert (told.response_type, told.text[:18]) == ("ephemeral", "You have it since ")
    assert told.text.endswith(" UTC: Nowhere Park 15:05.")
    await world.slack.wait_for(lambda: "<@UALICE> has it since" in world.texts("CGB")[0], timeout_s=60)
    message = world.slack.messages("CGB")[0]
    assert "I have it" not in json.dumps(message.blocks)
    # Bob's window still shows the button.
    late = await world.slack.action(world.bot.url, button["action_id"], button["value"], message=before, user="UBOB")
    (told,) = await late.responses()
    assert (told.response_type, told.text[:25]) == ("ephemeral", "<@UALICE> has it already ")
    assert "<@UALICE> has it since" in await world.say("/racing", "trace rc_1", channel="CGB")
    shown = await opened(world, "Your abandonments of the last 24 hours")
    assert "Nowhere Park 15:05 in <#CGB>: you have it since" in shown
    assert "Your abandonments" not in await opened(world, "have not subscribed", "UBOB")
    answer = await world.person().clicks("I don't have it", channel="CGB")
    (told,) = await answer.responses()
    assert told.text.startswith("You no longer have it: Nowhere Park 15:05.")
    await world.slack.wait_for(lambda: "has it since" not in world.texts("CGB")[0], timeout_s=60)
    await world.person("UBOB").clicks("I have it", channel="CGB")
    await world.slack.wait_for(lambda: "<@UBOB> has it since" in world.texts("CGB")[0], timeout_s=60)
    await world.bot.deliver(abandoned("rc_2", off_time="16:00"))
    await until(lambda: _sent(world) == 5)
    paused = await world.say("/racing", "pause 1h", channel="CGB")
    assert "Taken by nobody here: 1 abandonment of the last 24 hours (Nowhere Park 16:00)." in paused


async def test_form_chooses_who_is_told_and_other_channels_are_told_after_a_kill(world):
    world.slack.add_channel("CNOT", "not-in", bot_is_member=False)
    view_id = await opened_form(world, "CGB")
    chosen = {"regions": ["GB"], "ack": "5m", "escalate_channels": ["CNOT"]}
    assert "Invite me there" in (await refused_form(world, view_id, chosen))["regions"]
    assert "is no time" in (await refused_form(world, view_id, chosen | {"ack": "soon"}))["ack"]
    shown = await saved_form(world, view_id, chosen | {"escalate_channels": ["CALL"]})
    assert "else telling <#CALL>" in shown
    await world.bot.deliver(abandoned("rc_1"))
    await world.wait_for_posts("CGB", 1)
    await until(lambda: _sent(world) == 1)
    world.bot.kill()
    with sqlite3.connect(world.bot.folder / "bot.db") as database:
        database.execute("UPDATE message SET sent_at = datetime(sent_at, '-5 minutes') || '.000000'")
        # The dead process has claimed the slot of these 15 seconds.
        database.execute("DELETE FROM job_run WHERE job = 'escalate'")
    await world.bot.start()
    await world.slack.wait_for(lambda: len(world.texts("CALL")) == 1, timeout_s=60)
    assert "Nobody has taken it after 5 minutes" in world.texts("CALL")[0]
    answer = await world.person("UBOB").clicks("I have it", channel="CALL")
    assert answer.error is None
    has_it = "<@UBOB> has it since"
    await world.slack.wait_for(
        lambda: has_it in world.texts("CALL")[0] and has_it in world.texts("CGB")[0], timeout_s=60
    )


async def test_typed_names_and_channels_that_nobody_could_be_told_in_are_refused(world):
    world.slack.add_channel("CNOT", "not-in", bot_is_member=False)
    world.slack.add_channel("CBOB", "bobs", members=("UBOB",))
    for typed, why in (
        ("@jane", "is no id"),
        ("steve", "is no id"),
        ("UGONE", "<@UGONE> can't be told"),
        (" escalate:".join(f"C{number}" for number in range(11)), "at most 10 at a time"),
        ("CNOT", "I can't post in <#CNOT>. Invite me there"),
        ("CBOB", "You are not in <#CBOB>"),
        ("CGB", "goes to another channel"),
    ):
        said = await world.say("/racing", f"subscribe GB ack:5m escalate:{typed}", channel="CGB")
        assert why in said
        if why in {"is no id", "<@UGONE> can't be told"}:
            assert "Choose people and channels" in said
    plain = await world.say("/racing", "subscribe GB ack 10 escalate @bob", channel="CGB")
    assert "@bob is no id" in plain
    assert "Choose people and channels" in plain
    assert "no subscriptions" in await world.say("/racing", "list", channel="CGB")
    assert "else telling <@UBOB> and <#CALL>" in await world.say(
        "/racing", "subscribe GB ack:1h escalate:UBOB escalate:<#CALL|all-racing>", channel="CGB"
    )
    assert "within 60 minutes." in await world.say("/racing", "unsubscribe GB escalate", channel="CGB")


def _sent(world):
    with sqlite3.connect(world.bot.folder / "bot.db") as database:
        (count,) = database.execute("SELECT count(*) FROM message WHERE sent_at IS NOT NULL").fetchone()
    return count

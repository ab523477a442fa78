"""`/racing drill`: from the typed command through the bot's own address into the channels, and back as a report."""

import pytest
import pytest_asyncio

from sandbox.loopback_server import free_port
from tests.acceptance.conftest import run_world, until


@pytest_asyncio.fixture
async def drilled(tmp_path):
    """A world whose bot knows its own address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    async with run_world(tmp_path, start=False, PORT=str(port), PUBLIC_URL=address, ADMIN_USERS="UALICE") as world:
        world.bot.port = port
        await world.bot.start()
        yield world


async def test_drill_rings_where_abandonments_go_and_reports_each_channel(drilled):
    await drilled.subscribe("CGB", "GB")
    await drilled.subscribe("CIRE", "IRE results")
    drilled.slack.add_user("UBOB", "bob")
    assert "Only admins" in await drilled.say("/racing", "drill", channel="CALL", user="UBOB")
    assert "drill here for this channel" in await drilled.say("/racing", "drill everywhere", channel="CALL")

    drilled.slack.add_channel("COUT", "outside", bot_is_member=False)
    assert "I am not in this channel" in await drilled.say("/racing", "drill here", channel="COUT")

    report = await drilled.say("/racing", "drill", channel="CALL")
    assert "the channel got the message" in report
    assert f"`{drilled.bot.url}/webhooks/racing` took the delivery" in report
    (text,) = drilled.texts("CGB")
    assert text.startswith("DRILL: ")
    assert drilled.texts("CIRE") == []

    assert "The next can begin at" in await drilled.say("/racing", "drill here", channel="CGB")
    key = report.split("/racing trace")[1].split("`")[2]
    assert "1 posted" in await drilled.say("/racing", f"trace {key}", channel="CALL")
    for command, words in (("/results", "GB today"), ("/racecard", "GB today")):
        assert "drill" not in (await drilled.say(command, words, channel="CGB")).lower()
    assert "posts_parked" not in drilled.bot.log


async def test_forged_drill_by_a_holder_of_the_secret_rings_nobody(drilled):
    await drilled.subscribe("CGB", "all")
    body = b'{"event":"racing-bot.drill","drill":"0123456789abcdef"}'
    assert (await drilled.bot.deliver(body)).json() == {"status": "accepted"}
    assert (await drilled.bot.deliver(body, secret="not-ours")).status_code == 401
    await until(lambda: any("did not begin" in text for text in drilled.texts("CADMIN")))
    assert drilled.texts("CGB") == []


@pytest.mark.parametrize("words", ["drill", "drill here"])
async def test_drill_without_a_public_address_says_what_to_set(make_world, words):
    async with make_world(ADMIN_USERS="UALICE") as world:
        said = await world.say("/racing", words, channel="CGB")
        assert "PUBLIC_URL is not set" in said
        assert world.texts("CGB") == []


async def test_address_that_does_not_answer_is_reported_with_what_mends_it(make_world):
    nowhere = f"http://127.0.0.1:{free_port()}"
    async with make_world(ADMIN_USERS="UALICE", PUBLIC_URL=nowhere) as world:
        said = await world.say("/racing", "drill here", channel="CGB")
        assert "The drill failed: my public address did not take the delivery" in said
        assert "Nothing takes connections" in said
        assert "Start the proxy, or correct PUBLIC_URL" in said
        assert world.texts("CGB") == []

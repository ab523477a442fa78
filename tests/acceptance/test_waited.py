"""What waited in a paused channel: the summary leaves out nothing that came."""

import sqlite3

from tests.acceptance.conftest import until
from tests.acceptance.payloads import result

WAITING = "SELECT count(*) FROM message WHERE channel_id = ? AND state = 'queued' AND event_id IS NOT NULL"
AGED = "UPDATE message SET received_at = strftime('%Y-%m-%d %H:%M:%f000', received_at, '-5 hours') WHERE channel_id = ?"


def waiting(world, channel: str) -> int:
    with sqlite3.connect(world.bot.folder / "bot.db") as connection:
        (count,) = connection.execute(WAITING, (channel,)).fetchone()
    return int(count)


def make_older(world, channel: str) -> None:
    """As if what waits for a channel had come hours ago, too long for messages of its own."""
    with sqlite3.connect(world.bot.folder / "bot.db", timeout=20) as connection:
        connection.execute(AGED, (channel,))


async def test_unknown_kind_of_event_is_in_the_summary_of_a_pause(world):
    await world.subscribe("CALL", "all")
    await world.say("/racing", "pause", channel="CALL")
    await world.bot.deliver(
        {"event": "stewards.weather_balloon.sighted", "data": {"race": {"race_id": "rc_2", "region": "GB"}}}
    )
    await world.bot.deliver(result())
    await until(lambda: waiting(world, "CALL") == 2)
    make_older(world, "CALL")
    await world.say("/racing", "resume", channel="CALL")
    await world.slack.wait_for(lambda: any("came meanwhile" in text for text in world.texts("CALL")))
    (summary,) = [text for text in world.texts("CALL") if "came meanwhile" in text]
    assert "1 result and 1 other event (`stewards.weather_balloon.sighted`) came meanwhile" in summary

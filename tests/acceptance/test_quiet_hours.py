"""Quiet hours as a channel meets them: typed, with a kill while results wait, and said together afterwards."""

import sqlite3
from datetime import timedelta

from tests.acceptance.conftest import until
from tests.acceptance.payloads import abandoned, result
from tests.clock import START, now

OVER = "UPDATE message SET not_before = received_at WHERE not_before IS NOT NULL"
"""As if the hours of all that waits were over."""

NOT_DONE = "DELETE FROM job_run WHERE job = 'tell_due'"
"""As if the job's present slot were a new slot."""


def waiting(world) -> list[bool]:
    """Of each message that waits for an hour: whether the hour is still more than a minute away."""
    soon = f"{now() + timedelta(minutes=1):%Y-%m-%d %H:%M:%S}"
    with sqlite3.connect(world.bot.folder / "bot.db", timeout=20) as connection:
        found = connection.execute("SELECT not_before > ? FROM message WHERE not_before IS NOT NULL", (soon,))
        return [bool(later) for (later,) in found]


async def test_results_wait_for_the_end_of_quiet_hours_over_a_kill_and_an_abandonment_comes_at_once(world):
    quiet = f"{START - timedelta(hours=2):%H:%M}-{START + timedelta(hours=2):%H:%M}"
    said = await world.say("/racing", f"subscribe GB quiet:{quiet} zone:Londn", channel="CGB")
    assert "is no time zone: write Europe/London" in said
    said = await world.say("/racing", f"subscribe GB quiet:{quiet}", channel="CGB")
    assert f"quiet hours from {quiet.replace('-', ' to ')} UTC" in said
    for delivery in (result("rc_1"), result("rc_2", off_time="15:30"), abandoned("rc_9")):
        assert (await world.bot.deliver(delivery)).status_code == 200
    (text,) = await world.wait_for_posts("CGB", 1)
    assert text.startswith("ABANDONED: ")
    assert "because the channel asked for it at" in await world.say("/racing", "trace rc_1", channel="CGB")
    world.bot.kill()
    with sqlite3.connect(world.bot.folder / "bot.db", timeout=20) as connection:
        connection.execute(OVER)
        connection.execute(NOT_DONE)
    await world.bot.start()
    texts = await world.wait_for_posts("CGB", 2)
    assert texts[1].startswith("The quiet hours are over. 2 results came meanwhile. Ascot 14:30")
    await world.bot.deliver(result("rc_3"))
    await until(lambda: waiting(world) == [True])
    said = await world.say("/racing", "unsubscribe GB quiet", channel="CGB")
    assert "still receives results and abandonments from GB." in said
    # The job tells it at its next run.
    assert waiting(world) in ([False], [])

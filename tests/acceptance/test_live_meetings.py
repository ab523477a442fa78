"""A channel that chose one message a meeting: over a kill, results stand in its thread, abandonments in the channel."""

from tests.acceptance.payloads import abandoned, result


async def test_results_stand_in_the_thread_of_their_meeting_over_a_kill(world):
    said = await world.say("/racing", "subscribe GB show:meetings", channel="CGB")
    assert "one message a meeting, results in its thread" in said
    await world.bot.deliver(result("rc_live1"))
    await world.slack.wait_for(lambda: len(world.texts("CGB")) == 2, timeout_s=60)
    world.bot.kill()
    await world.bot.start()
    await world.bot.deliver(result("rc_live2", off_time="15:05"))
    await world.bot.deliver(abandoned("rc_live3", off_time="15:40", course="Ascot"))
    await world.slack.wait_for(lambda: "1 ABANDONED" in world.texts("CGB")[0], timeout_s=60)
    await world.slack.wait_for(lambda: len(world.texts("CGB")) == 4, timeout_s=60)
    live, *others = world.slack.messages("CGB")
    in_thread = [one.text.split(" (")[0] for one in others if one.thread_ts == live.ts]
    assert in_thread == ["Result: Ascot 14:30", "Result: Ascot 15:05"]
    (lost,) = [one.text for one in others if one.thread_ts is None]
    assert lost.startswith("ABANDONED: Ascot 15:40")
    said = await world.say("/racing", "unsubscribe GB show", channel="CGB")
    assert "still receives results and abandonments from GB." in said

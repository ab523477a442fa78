"""Who takes something away from a channel is named there, in one line; of a muted meeting only the truth is said."""

import json

from tests.acceptance.conftest import settled
from tests.acceptance.payloads import abandoned, result

ALICE = "<@UALICE>"


async def channel_of(world, name, words):
    world.slack.add_channel(name, name.lower(), bot_is_member=True)
    await world.subscribe(name, words)


async def clicked(world, label, channel):
    """What the answer to a click says."""
    answer = await world.person().clicks(label, channel=channel)
    assert answer.error is None, answer
    response = await settled(answer)
    return json.dumps([response.text, response.blocks], ensure_ascii=False)


async def newest(world, channel, count):
    """The last of so many posts."""
    return (await world.wait_for_posts(channel, count))[-1]


async def test_typed_changes_that_take_something_away_are_told_there_once(world):
    await channel_of(world, "CONE", "GB IRE")
    await world.say("/racing", "subscribe FR", channel="CONE")
    await world.say("/racing", "pause 2h", channel="CONE")
    paused = await newest(world, "CONE", 1)
    assert paused.startswith(f"{ALICE} paused results and abandonments here until <!date^")
    await world.say("/racing", "pause", channel="CONE")
    assert "until somebody types `/racing resume`" in await newest(world, "CONE", 2)
    # What waits in a paused channel waits on; what its people are to know does not.
    await world.bot.deliver(abandoned("rc_1"))
    await world.say("/racing", "unsubscribe GB results", channel="CONE")
    narrowed = await newest(world, "CONE", 3)
    assert narrowed == f"{ALICE} ended results from GB here. Still coming: abandonments."
    await world.say("/racing", "resume", channel="CONE")
    await world.say("/racing", "resume", channel="CONE")
    texts = await world.wait_for_posts("CONE", 5)
    assert f"{ALICE} ended the pause here: anything that waited is posted now." in texts
    assert sum(text.startswith("ABANDONED") for text in texts) == 1
    await world.say("/racing", "unsubscribe FR", channel="CONE")
    assert await newest(world, "CONE", 6) == (
        f"{ALICE} ended results and abandonments from FR here. This channel still receives abandonments from GB; "
        "results and abandonments from IRE."
    )
    await world.say("/racing", "unsubscribe all", channel="CONE")
    assert (await newest(world, "CONE", 7)).endswith("This channel receives nothing now.")
    await world.subscribe("CONE", "GB")
    await world.bot.deliver(result("rc_2"))
    assert (await newest(world, "CONE", 8)).startswith("Result")


async def test_changes_by_buttons_and_forms_are_told_there_too(world):
    await channel_of(world, "CONE", "GB IRE")
    await world.say("/racing", "list", channel="CONE")
    answer = await world.person().clicks("Edit", channel="CONE")
    assert answer.error is None, answer
    view_id = await world.person().opened("subscribe_form")
    await world.person().submits(view_id, {"regions": ["GB"], "topics": ["results"]})
    assert await newest(world, "CONE", 1) == f"{ALICE} ended abandonments from GB here. Still coming: results."
    await world.say("/racing", "list", channel="CONE")
    await clicked(world, "Remove", "CONE")
    assert f"{ALICE} ended " in await newest(world, "CONE", 2)
    await world.bot.deliver(result("rc_1", "IRE"))
    await world.wait_for_posts("CONE", 3)
    await clicked(world, "Mute this meeting here", "CONE")
    await clicked(world, "Mute this meeting here", "CONE")
    await clicked(world, "Undo", "CONE")
    await world.slack.wait_for(lambda: any("unmuted" in text for text in world.texts("CONE")), timeout_s=60)
    texts = world.texts("CONE")
    assert sum(" muted Ascot" in text for text in texts) == 1, texts
    assert sum(" unmuted Ascot" in text for text in texts) == 1, texts


async def test_no_change_is_told_where_the_setting_says_so(make_world):
    async with make_world(ANNOUNCE_CHANGES="false") as world:
        await channel_of(world, "CONE", "GB")
        assert "PAUSED" in await world.say("/racing", "pause", channel="CONE")
        assert "over" in await world.say("/racing", "resume", channel="CONE")
        await world.bot.deliver(result("rc_1"))
        assert (await newest(world, "CONE", 1)).startswith("Result")


async def test_change_in_a_channel_that_is_closed_is_made_and_told_once_it_is_open(world):
    world.slack.add_channel("CNEW", "new", bot_is_member=False)
    await world.say("/racing", "subscribe GB", channel="CNEW")
    assert "no subscriptions left" in await world.say("/racing", "unsubscribe all", channel="CNEW")
    await channel_of(world, "CONE", "GB IRE")
    await world.slack.remove_bot("CONE", world.bot.url)
    assert "still receives" in await world.say("/racing", "unsubscribe IRE", channel="CONE")
    assert world.texts("CONE") == []
    for channel in ("CONE", "CNEW"):
        await world.slack.invite_bot(channel, world.bot.url)
    ended, welcome = sorted(await world.wait_for_posts("CONE", 2))
    assert ended.startswith(f"{ALICE} ended results and abandonments from IRE here.")
    assert welcome.startswith("Thank you")
    (only,) = await world.wait_for_posts("CNEW", 1)
    assert only.startswith("Thank you")


async def test_of_a_muted_meeting_only_what_is_true_of_the_channel_is_said(world):
    await channel_of(world, "CBOTH", "GB")
    await channel_of(world, "CRES", "GB results")
    await world.bot.deliver(result("rc_1"))
    for channel in ("CBOTH", "CRES"):
        await world.wait_for_posts(channel, 1)
    assert "Abandonments of it still are" in await clicked(world, "Mute this meeting here", "CBOTH")
    assert "Abandonments of it still are" in await newest(world, "CBOTH", 2)
    said = await clicked(world, "Mute this meeting here", "CRES")
    assert "Abandonments of it are not posted here either" in said
    assert "still are" not in said
    listed = await world.say("/racing", "list", channel="CRES")
    assert "Abandonments of it are not posted here either" in listed
    assert "still" not in listed
    await world.say("/racing", "pause", channel="CBOTH")
    assert "kept until the pause of this channel ends" in await world.say("/racing", "list", channel="CBOTH")
    await world.say("/racing", "unsubscribe all", channel="CBOTH")
    listed = await world.say("/racing", "list", channel="CBOTH")
    assert "Abandonments of it are not posted here either" in listed
    assert "still" not in listed

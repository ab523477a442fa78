"""Names that a channel or a person watches: signed commands and deliveries in, messages out."""

import json

from sandbox.slack.failures import slack_error
from tests.acceptance.conftest import settled
from tests.acceptance.payloads import abandoned, result
from tests.clock import DAY


def card(race_id="rc_1", horse="Golden Melody (IRE)", **race):
    race = {"race_id": race_id, "course": "Ascot", "region": "GB", "date": DAY, "off_time": "14:30"} | race
    return {"event": "racecard.published", "data": {"race": race | {"runners": [{"number": 1, "horse": horse}]}}}


async def test_channel_is_told_of_a_watched_horse_in_one_message_a_race_and_no_longer_after_the_end(world):
    said = await world.say("/racing", 'watch horse:"golden melody"', channel="CGB")
    assert "Watched here from now on: horse golden melody" in said
    assert "I know no horse golden melody yet" in said
    for delivery in (card(), abandoned("rc_1")):
        assert (await world.bot.deliver(delivery)).status_code == 200
    texts = await world.wait_for_posts("CGB", 2)
    assert sorted(text.split(":")[0] for text in texts) == ["ABANDONED", "Racecard"]
    assert all("Watched here: Golden Melody (IRE)" in text for text in texts)
    said = await world.say("/racing", 'watch horse:"Goldn Melody"', channel="CALL")
    assert "Did you mean Golden Melody (IRE)?" in said.partition("Watched here from now on")[0]
    replaced = await world.person().clicks("Watch Golden Melody (IRE) instead", channel="CALL")
    assert "No longer watched here: horse Goldn Melody" in (await settled(replaced)).text
    listed = await world.say("/racing", "watching", channel="CALL")
    assert "Golden Melody (IRE)" in listed
    assert "Goldn" not in listed

    assert "golden melody" in await world.say("/racing", "watching", channel="CGB")
    ended = await world.person().clicks("End", channel="CGB")
    assert "No longer watched here: horse golden melody" in (await settled(ended)).text
    await world.subscribe("CGB", "GB results")
    await world.bot.deliver(card("rc_2"))
    await world.bot.deliver(result("rc_3"))
    texts = await world.wait_for_posts("CGB", 4)
    assert "ended the watch on horse golden melody here" in texts[2]
    assert texts[3].startswith("Result: ")
    assert "Watched" not in texts[3]


async def test_pause_holds_what_a_channel_without_subscriptions_watches(world):
    await world.say("/racing", 'watch horse:"Blue Moon"', channel="CGB")
    assert "PAUSED until" in await world.say("/racing", "pause", channel="CGB")
    (told,) = await world.wait_for_posts("CGB", 1)
    assert "paused what is watched here" in told
    listed = await world.say("/racing", "list", channel="CGB")
    assert "by <@UALICE>, until somebody resumes. This channel has no subscriptions. 1 name watched here" in listed
    await world.subscribe("CALL", "GB")
    await world.bot.deliver(result())
    await world.wait_for_posts("CALL", 1)
    assert len(world.texts("CGB")) == 1
    resumed = await world.person().clicks("Resume", channel="CGB")
    assert "The pause is over. 1 message waited, and is posted now" in (await settled(resumed)).text
    texts = await world.wait_for_posts("CGB", 3)
    assert any("Watched here: Blue Moon" in text for text in texts)


async def test_channel_that_ends_its_subscriptions_reads_that_watched_names_still_come(world):
    await world.say("/racing", 'watch horse:"Blue Moon" jockey:"A. Rider"', channel="CGB")
    await world.subscribe("CGB", "GB")
    said = await world.say("/racing", "unsubscribe all", channel="CGB")
    still = "Still coming: races of 2 watched names, which `/racing watching` lists and ends."
    assert f"This channel has no subscriptions left. {still}" in said
    (told,) = await world.wait_for_posts("CGB", 1)
    assert told.endswith(still)
    shown = await world.person().clicks("What is watched", channel="CGB")
    assert "Blue Moon" in (await settled(shown)).text
    await world.say("/racing", "pause 1h", channel="CGB")
    assert "The pause is over. No message waited." in await world.say("/racing", "resume", channel="CGB")


async def test_person_is_told_by_direct_message_and_may_watch_where_only_admins_subscribe(make_world):
    async with make_world(SUBSCRIBE_BY="admins") as world:
        assert "Only admins" in await world.say("/racing", 'watch jockey:"A. Rider"', channel="CGB")
        assert "Watched for you" in await world.say("/racing", 'watch jockey:"A. Rider" me', channel="CGB")
        direct = world.slack.add_dm("UALICE").id
        await world.bot.deliver(result())
        (told,) = await world.wait_for_posts(direct, 1)
        assert "Watched here: Blue Moon (position 1, jockey A. Rider)" in told
        # Of one place: what is watched in the direct message itself is told there, and once.
        assert "Watched for you" in await world.say("/racing", 'watch horse:"Blue Moon"', channel=direct)
        await world.bot.deliver(result("rc_2"))
        assert len(await world.wait_for_posts(direct, 2)) == 2
        assert world.texts("CGB") == []


async def test_channel_without_the_bot_watches_nothing(world):
    world.slack.add_channel("CNEW", "new-channel", bot_is_member=False)
    said = await world.say("/racing", 'watch horse:"Blue Moon"', channel="CNEW")
    assert "I am not in this channel" in said
    answer = await world.person().clicks("Tell me alone", channel="CNEW")
    assert "Watched for you" in (await settled(answer)).text


async def test_person_mutes_a_meeting_in_the_direct_message(world):
    await world.say("/racing", 'watch horse:"Blue Moon" me', channel="CGB")
    direct = world.slack.add_dm("UALICE").id
    await world.bot.deliver(result())
    await world.wait_for_posts(direct, 1)
    muted = await world.person().clicks("Mute this meeting here", channel=direct)
    assert "Muted" in (await settled(muted)).text
    await world.bot.deliver(result("rc_2"))
    # A contradiction passes every mute.
    await world.bot.deliver(abandoned("rc_2", course="Ascot"))
    _, conflict = await world.wait_for_posts(direct, 2)
    assert "rc_2" in json.dumps(world.slack.messages(direct)[-1].blocks)
    assert "CONFLICT" in conflict


async def test_direct_message_that_may_not_be_read_gets_no_result_twice(world):
    direct = world.slack.add_dm("UALICE").id
    world.slack.script("conversations.history", [slack_error("missing_scope")] * 20)
    await world.say("/racing", 'watch horse:"Blue Moon" me', channel="CGB")
    await world.subscribe(direct, "GB")
    await world.subscribe("CALL", "GB")
    await world.bot.deliver(result("rc_1"))
    await world.wait_for_posts(direct, 1)
    await world.wait_for_posts("CALL", 1)
    await world.bot.deliver(abandoned("rc_2"))
    first, second = (await world.wait_for_posts(direct, 2))[:2]
    assert first.startswith("Result: ")
    assert "Watched here: Blue Moon" in first
    assert second.startswith("ABANDONED: ")
    assert len(world.texts(direct)) == 2


async def test_pause_in_a_direct_message_that_may_not_be_read_holds_the_own_watches(world):
    direct = world.slack.add_dm("UALICE").id
    world.slack.script("conversations.history", [slack_error("missing_scope")] * 20)
    await world.say("/racing", 'watch horse:"Blue Moon" me', channel="CGB")
    assert "PAUSED until" in await world.say("/racing", "pause", channel=direct)


async def test_button_for_the_kind_of_a_name_keeps_the_names_before(world):
    said = await world.say("/racing", 'watch horse:"Golden Melody" "Blue Moon"', channel="CGB")
    assert "Is Blue Moon a horse, a trainer or a jockey?" in said
    pressed = await world.person().clicks("Horse", channel="CGB")
    assert "horse Golden Melody and horse Blue Moon" in (await settled(pressed)).text
    said = await world.say("/racing", 'watch horse:"Red Sky", "Grey Dawn" and jockey:"A. Rider"', channel="CGB")
    assert "horse Red Sky, horse Grey Dawn and jockey A. Rider" in said

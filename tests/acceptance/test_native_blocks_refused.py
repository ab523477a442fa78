"""A workspace that has no native tables yet: posts, edits and answers come in sections, once, and nobody is alarmed."""

import pytest

from sandbox.slack.block_rules import NEW_BLOCKS
from tests.acceptance.conftest import settled
from tests.acceptance.payloads import result


def types(message):
    return {block["type"] for block in message.blocks}


@pytest.mark.parametrize("refused", [NEW_BLOCKS, ()])
async def test_result_is_posted_edited_and_shown_whole_with_or_without_tables(world, refused):
    world.slack.refused_blocks = refused
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result(going="Good"))
    await world.wait_for_posts("CGB", 1)
    await world.bot.deliver(result(going="Soft"))
    await world.slack.wait_for(lambda: world.slack.messages("CGB")[0].edited is not None)
    click = await world.person().clicks("Full result", channel="CGB")
    answer = await settled(click)
    (message,) = world.slack.messages("CGB")
    for shown in (message, answer):
        assert "Blue Moon" in str(shown.blocks)
        assert ("data_table" in types(shown)) is not bool(refused)
    assert "going is Good in one, Soft in the other" in message.text
    assert world.texts("CADMIN") == []
    assert [call.error for call in world.slack.calls if call.error] == (["invalid_blocks"] if refused else [])


async def test_answer_that_meets_the_refusal_first_comes_in_sections(world):
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result())
    await world.wait_for_posts("CGB", 1)
    world.slack.refused_blocks = NEW_BLOCKS
    answer = await settled(await world.person().clicks("Full result", channel="CGB"))
    assert "Blue Moon" in str(answer.blocks)
    assert "data_table" not in types(answer)
    await world.bot.deliver(result("rc_2"))
    await world.wait_for_posts("CGB", 2)
    assert [call.error for call in world.slack.calls if call.error] == []

"""Containers where the workspace has them and where the workspace has not: one message either way."""

import pytest

from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.failures import drop_after
from tests.integration.pipeline.racing_day import abandonment, result
from tests.integration.pipeline.stories import Story, play, slack_answers

GOOD, SOFT = result(going="Good"), result(going="Soft")
RUNNERS = [{"horse": f"Runner {place}", "position": str(place)} for place in range(1, 9)]
NINE, NINE_AGAIN = (
    result(race_id, placings=(), runners=[*RUNNERS, {"horse": "Runner 9", "position": "PU"}])
    for race_id in ("rc_1", "rc_2")
)
CONTAINER, IN_SECTIONS = "+'container' | +Blue Moon", "+'section' | +Blue Moon | !'container'"
REST = "+Full result | +'default_collapsed': True | +Runner 4 | +PU  Runner 9"


def refuses(*blocks):
    async def do(pipeline):
        pipeline.slack.refused_blocks = set(blocks)

    return do


STORIES = {
    "edited with a container": (Story(GOOD, SOFT, edits=1, CGB=[CONTAINER]), "post edit"),
    "no containers, which is remembered": (
        Story(
            refuses(*NEW_BLOCKS),
            GOOD,
            SOFT,
            result("rc_2"),
            CGB=[f"{IN_SECTIONS} | +Another version", IN_SECTIONS],
            CADMIN=[],
        ),
        "post post edit post",
    ),
    "no containers any more": (
        Story(GOOD, refuses(*NEW_BLOCKS), SOFT, CGB=[f"or Soft | {IN_SECTIONS}"]),
        "post edit edit",
    ),
    "no containers": (
        Story(
            refuses("container"),
            NINE,
            NINE_AGAIN,
            result("rc_3"),
            CGB=["+Runner 1 | +Full result | !'container'"] * 2 + [IN_SECTIONS],
        ),
        "post post post post",
    ),
    "runners behind the line": (Story(NINE, CGB=[REST]), "post"),
    "sections in doubt": (
        Story(slack_answers("post", "invalid_blocks", drop_after()), result(), waiting={"in_doubt": 1}, CGB=[""]),
        "post post",
    ),
    "abandonment": (Story(refuses(*NEW_BLOCKS), abandonment(), CGB=["^ABANDONED"]), "post"),
}
WORDS = {"chat.postMessage": "post", "chat.update": "edit"}


@pytest.mark.parametrize("name", STORIES)
async def test_blocks(pipeline, name):
    story, calls = STORIES[name]
    await play(pipeline, story)
    assert " ".join(WORDS[call.method] for call in pipeline.slack.calls if call.method in WORDS) == calls

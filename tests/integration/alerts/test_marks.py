"""Repeated, older and overtaken deliveries, and the marks of messages that later ones replace. On both engines."""

import pytest

from bot.sandbox.slack import failures
from tests.integration.alerts.racing_day import abandonment, edits, result, tell
from tests.said import as_posted

FIRST, SWAPPED = ("Alpha", "Bravo"), ("Bravo", "Alpha")


def version(placings, sequence=None, **more):
    race = {name: more.pop(name) for name in ("going", "winning_time") if name in more}
    ordered = {} if sequence is None else {"sequence": sequence}
    return result(placings=placings, **race) | ordered | more


def begins(pipeline):
    """How each message of the channel begins, marks left out."""
    return [as_posted(text).partition(":")[0] for text in pipeline.texts("CGB")]


@pytest.mark.parametrize("code", ["edit_window_closed", "message_not_found"])
@pytest.mark.parametrize(
    ("later", "word"),
    [(version(SWAPPED, 2), "CORRECTION"), (abandonment(), "ABANDONED")],
    ids=["correction", "contradiction"],
)
async def test_mark_that_slack_refuses_makes_no_second_message(pipeline, code, later, word):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1))
    pipeline.slack.script("chat.update", [failures.slack_error(code)])
    await tell(pipeline, later)
    assert len(begins(pipeline)) == 2
    assert begins(pipeline)[1] == word
    assert await pipeline.waiting() == {}


async def test_mark_that_is_refused_after_its_message_was_given_up_becomes_the_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1))
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    pipeline.slack.script("chat.update", [failures.slack_error("message_not_found")])
    await tell(pipeline, version(SWAPPED, 2))
    assert begins(pipeline) == ["Result", "CORRECTION"]


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        (abandonment(), version(FIRST), abandonment(distance="2m") | {"attempt": 2}),
        (version(FIRST), abandonment(), version(FIRST, winning_time="1m 12s") | {"attempt": 2}),
    ],
    ids=["abandonment", "result"],
)
async def test_delivery_that_only_adds_a_fact_contradicts_nothing_anew(pipeline, first, second, again):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, first, second, again)
    texts = pipeline.texts("CGB")
    assert len(texts) == 2
    assert "Contradicted" in texts[0]
    assert "Contradicted" not in texts[1]
    assert any(fact in texts[0] for fact in ("2m", "1m 12s"))


@pytest.mark.parametrize("change", [{"reason": "fog"}, {"sequence": 2, "distance": "2m"}], ids=["changed", "newer"])
async def test_abandonment_that_is_stated_anew_contradicts_the_result(pipeline, change):
    await pipeline.subscribe("CGB", "GB")
    race = {name: change[name] for name in change if name == "distance"}
    again = abandonment(**race) | {name: value for name, value in change.items() if name != "distance"}
    await tell(pipeline, abandonment() | {"sequence": 1}, version(FIRST), again)
    texts = pipeline.texts("CGB")
    assert len(texts) == 3
    assert "Contradicted" in texts[1]


async def test_version_between_two_that_say_the_same_is_the_older(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1), version(FIRST, 3), version(SWAPPED, 2))
    assert begins(pipeline) == ["Result"]
    assert edits(pipeline.slack) == []


async def test_order_is_kept_through_a_version_that_says_nothing_of_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1), version(SWAPPED, 2), version(SWAPPED, going="Soft"))
    await tell(pipeline, version(FIRST, 1, attempt=2))
    first, second = pipeline.texts("CGB")
    assert first.startswith("Superseded ")
    assert "1 Bravo, 2 Alpha" in second


async def test_placings_that_only_the_older_version_has_are_told(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version((), 2, going="Soft"), version(FIRST, 1, going="Good"))
    texts = pipeline.texts("CGB")
    assert len(texts) == 2
    assert "1 Alpha" in texts[-1]
    assert "Good" not in texts[-1]

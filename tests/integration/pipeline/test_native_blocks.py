"""Tables where the workspace has them and where it has not: one message either way."""

from sandbox.slack import failures
from sandbox.slack.block_rules import NEW_BLOCKS
from tests.integration.pipeline.racing_day import abandonment, result, tell


def types(message):
    return [block["type"] for block in message.blocks]


async def test_result_is_posted_and_edited_as_a_table(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"), result(going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert message.edited is not None
    assert "data_table" in types(message)


async def test_workspace_without_tables_gets_one_message_in_sections_and_is_remembered(pipeline):
    pipeline.slack.refused_blocks = NEW_BLOCKS
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    await tell(pipeline, result(going="Soft"), result("rc_2"))
    first, second = pipeline.slack.messages("CGB")
    for message in (first, second):
        assert "Blue Moon" in str(message.blocks)
        assert "data_table" not in types(message)
    assert "Another version" in str(first.blocks)
    assert calls(pipeline.slack) == ["chat.postMessage", "chat.postMessage", "chat.update", "chat.postMessage"]
    assert pipeline.texts("CADMIN") == []
    assert await pipeline.waiting() == {}


async def test_workspace_without_containers_gets_all_runners_in_the_table_and_keeps_its_tables(pipeline):
    pipeline.slack.refused_blocks = {"container"}
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, field_of_nine(), field_of_nine("rc_2"))
    for message in pipeline.slack.messages("CGB"):
        assert "container" not in types(message)
        (table,) = [block for block in message.blocks if block["type"] == "data_table"]
        assert len(table["rows"]) == 1 + 9
    assert calls(pipeline.slack) == ["chat.postMessage"] * 3
    await tell(pipeline, result("rc_3"))
    assert "data_table" in types(pipeline.slack.messages("CGB")[-1])


async def test_long_result_goes_through_every_form_to_the_plainest(pipeline):
    pipeline.slack.refused_blocks = NEW_BLOCKS
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, field_of_nine(), field_of_nine("rc_2"))
    for message in pipeline.slack.messages("CGB"):
        assert not NEW_BLOCKS & set(types(message))
        assert "Runner 9" in str(message.blocks)
    # Container, table, sections; then sections at once.
    assert calls(pipeline.slack) == ["chat.postMessage"] * 4
    assert pipeline.texts("CADMIN") == []


async def test_runners_behind_the_first_three_are_collapsed(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, field_of_nine())
    (message,) = pipeline.slack.messages("CGB")
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    (rest,) = [block for block in message.blocks if block["type"] == "container"]
    assert len(table["rows"]) == 1 + 3
    assert rest["title"]["text"] == "6 other runners"
    assert rest["default_collapsed"]
    assert "Runner 3" not in str(rest)
    assert "Runner 4" in str(rest)
    assert "PU: Runner 9" in str(rest)


async def test_edit_is_made_in_sections_where_the_workspace_lost_its_tables(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.refused_blocks = NEW_BLOCKS
    await tell(pipeline, result(going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert "Soft in the other" in message.text
    assert "section" in types(message)
    assert "data_table" not in types(message)


async def test_sections_that_got_no_answer_are_looked_for_and_not_posted_again(pipeline):
    pipeline.slack.script("chat.postMessage", [failures.slack_error("invalid_blocks"), failures.drop_after()])
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    assert len(pipeline.texts("CGB")) == 1
    assert await pipeline.waiting() == {"in_doubt": 1}


async def test_abandonment_costs_one_call_where_tables_are_refused(pipeline):
    pipeline.slack.refused_blocks = NEW_BLOCKS
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment())
    assert calls(pipeline.slack) == ["chat.postMessage"]


def field_of_nine(race_id="rc_1"):
    runners = [{"horse": f"Runner {place}", "position": str(place)} for place in range(1, 9)]
    return result(race_id, placings=(), runners=[*runners, {"horse": "Runner 9", "position": "PU"}])


def calls(slack):
    """The methods that were called to write."""
    return [call.method for call in slack.calls if call.method in {"chat.postMessage", "chat.update"}]

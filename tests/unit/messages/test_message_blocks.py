from bot.slack.messages.kit.blocks import context, fields, header, message, mrkdwn, section, weight
from bot.slack.messages.kit.buttons import actions, command_button
from bot.slack.messages.kit.text import MESSAGE_MAX
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems


def test_nothing_to_say_is_no_block():
    assert section("") is None
    assert fields([("Course", None), ("Date", "")]) is None
    assert context([]) is None


def test_blocks_hold_their_limits():
    assert len(header("x" * 500)["text"]["text"]) == 150
    made = message("text", [section("x" * 5_000), fields([("Label", "x" * 3_000)] * 12), context([mrkdwn("x")] * 12)])
    assert len(made.blocks[0]["text"]["text"]) == 3_000
    assert [len(field["text"]) for field in made.blocks[1]["fields"]] == [2_000] * 10
    assert len(made.blocks[2]["elements"]) == 10


def test_row_of_buttons_has_as_many_as_slack_takes_and_begins_with_the_first():
    made = actions([command_button(f"Ascot {number}", f"courses {number}") for number in range(40)])
    assert made is not None
    assert [one["value"] for one in made["elements"]] == [f"courses {number}" for number in range(25)]
    assert block_problems([made], most=MESSAGE_BLOCKS) == []


def test_message_lists_all_lines_where_there_is_room():
    listed = message("text", [header("Head")], ["one", "two"], 2).blocks[1]
    assert listed["text"]["text"] == "one\ntwo"


def test_message_says_how_many_lines_had_no_room():
    made = message("text", [header("Head")], ("x" * 99 for _ in range(1_000)), 1_000, [section("Foot")])
    shown = sum(block["text"]["text"].count("x" * 99) for block in made.blocks[1:-1])
    assert made.blocks[-2]["text"]["text"].endswith(f"\nand {1_000 - shown} more")
    assert made.blocks[-1]["text"]["text"] == "Foot"
    assert 100 < shown < 120
    assert weight(made.blocks) <= MESSAGE_MAX


def test_message_reads_no_more_lines_than_it_shows():
    lines = iter(["x" * 500] * 10_000)
    message("text", [], lines, 10_000)
    assert len(list(lines)) > 9_970


def test_message_text_is_cut_at_its_end():
    assert message("ABANDONED: " + "x" * 9_000, []).text.startswith("ABANDONED: x")
    assert len(message("x" * 9_000, []).text) == 3_900

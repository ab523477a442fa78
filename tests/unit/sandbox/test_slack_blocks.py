"""What Slack takes and refuses of blocks: each limit at its edge and one over, and nothing ever raises."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block, ButtonElement, HeaderBlock, SectionBlock

from sandbox.slack.block_rules import NEW_BLOCKS, block_problems, shown_characters, view_problems

Json = dict[str, Any]


def _plain(length=1):
    return {"type": "plain_text", "text": "x" * length}


def _mrkdwn(length=1):
    return {"type": "mrkdwn", "text": "x" * length}


def _section(**fields):
    return {"type": "section", **fields}


def _header(length):
    return {"type": "header", "text": _plain(length)}


def _button(**fields):
    return {"type": "button", "text": _plain(), "action_id": "a", **fields}


def _actions(*elements):
    return {"type": "actions", "elements": list(elements)}


def _option(value="v"):
    return {"text": _plain(), "value": value}


def _select(**fields):
    return {"type": "static_select", "action_id": "a", **fields}


def _table(rows=2, columns=1, **fields):
    cells = [[{"type": "raw_text", "text": "x"}] * columns for _ in range(rows)]
    return {"type": "data_table", "caption": "Runners", "rows": cells, **fields}


def _container(**fields):
    return {"type": "container", "title": _plain(150), "child_blocks": [_section(text=_mrkdwn())], **fields}


def _chart(**fields):
    series = [{"name": "used", "data": [{"label": "Mon", "value": 1}]}]
    axis = {"categories": ["Mon"], "x_label": "day", "y_label": "requests"}
    return {
        "type": "data_visualization",
        "title": "Usage",
        "chart": {"type": "line", "series": series, "axis_config": axis, **fields},
    }


def _pie(segments, **fields):
    return {"type": "data_visualization", "title": "T", "chart": {"type": "pie", "segments": segments}, **fields}


def _rich(*parts):
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(parts)}]}


def _input(element):
    return {"type": "input", "label": _plain(), "element": element}


IMAGE = {"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"}
TEXT_CELL = {"type": "raw_text", "text": "x"}
SEGMENT = {"label": "a", "value": 1}

TAKEN = [
    [_header(150)],
    [_section(text=_mrkdwn(3000))],
    [_section(fields=[_mrkdwn(1)] * 9 + [_mrkdwn(2000)])],
    [_section(text=_mrkdwn(), accessory=_button(value="x" * 2000))],
    [_section(text={"type": "mrkdwn", "text": "x", "verbatim": True}, block_id="b" * 255)],
    [{"type": "context", "elements": [_mrkdwn(), _plain(), IMAGE] + [_mrkdwn()] * 7}],
    [{"type": "divider"}],
    [_actions(*[_button(action_id=f"a{n}") for n in range(25)])],
    [_actions(_button(text=_plain(75), style="danger", url="https://example.com"))],
    [_actions(_select(options=[_option(f"{n}") for n in range(100)], placeholder=_plain(150)))],
    [_actions(_select(options=[_option()], initial_option=_option()))],
    [_actions(_select(option_groups=[{"label": _plain(75), "options": [_option()]}]))],
    [_actions({"type": "overflow", "action_id": "a", "options": [_option()] * 5})],
    [_actions({"type": "channels_select", "action_id": "a", "placeholder": _plain()})],
    [{**IMAGE, "title": _plain(2000)}],
    [_input({"type": "plain_text_input", "action_id": "a", "max_length": 3000})],
    [_table(101, 20), _chart()],
    [_table(page_size=100, row_header_column_index=0)],
    [_pie([SEGMENT] * 6)],
    [_chart(), _chart()],
    [_container(subtitle=_mrkdwn(150), width="full", is_collapsible=True, default_collapsed=True)],
    [_container(child_blocks=[_section(text=_mrkdwn(3000))] * 10)],
    [{"type": "divider"}] * 50,
]

REFUSED = [
    ("must be less than 151 characters [json-pointer:/blocks/0/text/text]", [_header(151)]),
    ("must be more than 0 characters [json-pointer:/blocks/0/text/text]", [_header(0)]),
    ("unsupported text type", [{"type": "header", "text": _mrkdwn()}]),
    ("must be less than 3001 characters", [_section(text=_mrkdwn(3001))]),
    ("missing required field: text", [_section()]),
    ("must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]", [_section(fields=[_mrkdwn(2001)])]),
    ("no more than 10 items allowed [json-pointer:/blocks/0/fields]", [_section(fields=[_mrkdwn()] * 11)]),
    ("no more than 10 items allowed", [{"type": "context", "elements": [_mrkdwn()] * 11}]),
    ("no fewer than 1 items allowed", [{"type": "context", "elements": []}]),
    ("no more than 25 items allowed", [_actions(*[_button(action_id=f"a{n}") for n in range(26)])]),
    ("action_id 'a' already exists", [_actions(_button(), _button())]),
    ("must be less than 76 characters", [_actions(_button(text=_plain(76)))]),
    ("must be less than 2001 characters", [_actions(_button(value="x" * 2001))]),
    ("must be less than 256 characters", [_actions(_button(action_id="x" * 256))]),
    ("unsupported text type", [_actions(_button(text=_mrkdwn()))]),
    ("value must be one of", [_actions(_button(style="green"))]),
    ("no more than 100 items allowed", [_actions(_select(options=[_option()] * 101))]),
    ("exactly one of options and option_groups", [_actions(_select())]),
    ("must exactly match", [_actions(_select(options=[_option("a")], initial_option=_option("b")))]),
    ("no more than 5 items", [_actions({"type": "overflow", "action_id": "a", "options": [_option()] * 6})]),
    ("unsupported type: plain_text_input", [_actions({"type": "plain_text_input", "action_id": "a"})]),
    ("missing required field: alt_text", [{"type": "image", "image_url": "https://example.com/a.png"}]),
    ("exactly one of image_url and slack_file", [{"type": "image", "alt_text": "a"}]),
    ("unsupported type: button", [_input(_button())]),
    ("unsupported type: wheel", [{"type": "wheel"}]),
    ("unsupported type: None", [{}]),
    ("must be an object [json-pointer:/blocks/0]", ["section"]),
    ("invalid additional property: emoji", [_section(text={**_mrkdwn(), "emoji": True})]),
    ("invalid additional property: elements", [{"type": "divider", "elements": []}]),
    ("must be an object", [_section(text="x")]),
    ("must be a string", [_section(text={"type": "mrkdwn", "text": 1})]),
    ("must be less than 256 characters", [_section(text=_mrkdwn(), block_id="b" * 256)]),
    ("block_id 'b' already exists", [_section(text=_mrkdwn(), block_id="b")] * 2),
    ("no more than 50 items allowed [json-pointer:/blocks]", [{"type": "divider"}] * 51),
    ("must be an array", {"type": "divider"}),
    ("must be an array", None),
    ("unsupported type: rich_text", [_rich({"type": "text", "text": "x"})]),
    ("no more than 101 items allowed", [_table(102)]),
    ("no fewer than 2 items allowed", [_table(1)]),
    ("no more than 20 items allowed [json-pointer:/blocks/0/rows/0]", [_table(2, 21)]),
    ("missing required field: caption", [{"type": "data_table", "rows": [[TEXT_CELL]] * 2}]),
    ("same number of cells", [{**_table(), "rows": [[TEXT_CELL], [TEXT_CELL] * 2]}]),
    ("unsupported cell type: rich_text", [{**_table(), "rows": [[_rich()], [TEXT_CELL]]}]),
    ("must be a number", [{**_table(), "rows": [[TEXT_CELL], [{"type": "raw_number", "value": "5"}]]}]),
    ("must be an integer from 1 to 100", [_table(page_size=101)]),
    ("tables must have less than 10001", [_table(101, 50)] * 2),
    ("must be less than 51 characters", [{**_chart(), "title": "x" * 51}]),
    ("must be less than 151 characters [json-pointer:/blocks/0/title/text]", [_container(title=_plain(151))]),
    ("unsupported text type", [_container(title=_mrkdwn())]),
    ("no more than 10 items allowed", [_container(child_blocks=[{"type": "divider"}] * 11)]),
    ("no fewer than 1 items allowed", [_container(child_blocks=[])]),
    ("unsupported type: data_table", [_container(child_blocks=[_table()])]),
    ("value must be one of", [_container(width="huge")]),
    ("labels must match the categories", [_chart(axis_config={"categories": ["Tue"]})]),
    ("no more than 6 items allowed", [_pie([SEGMENT] * 7)]),
    ("must be greater than 0", [_pie([{"label": "a", "value": 0}])]),
    ("must be less than 21 characters", [_pie([{"label": "x" * 21, "value": 1}])]),
    ("value must be one of", [_chart(type="radar")]),
    ("no more than 2 data_visualization", [_chart()] * 3),
]


@pytest.mark.parametrize("blocks", TAKEN, ids=lambda blocks: blocks[0]["type"])
def test_blocks_within_the_limits_are_taken(blocks):
    assert block_problems(blocks) == []


@pytest.mark.parametrize(("message", "blocks"), REFUSED)
def test_blocks_over_a_limit_are_refused_with_a_pointer(message, blocks):
    found = block_problems(blocks)
    assert any(message in problem for problem in found), found
    assert all("[json-pointer:/blocks" in problem for problem in found)


@pytest.mark.parametrize("block", [block for blocks in TAKEN for block in blocks if block["type"] not in NEW_BLOCKS])
def test_no_limit_is_wider_than_that_of_slacks_sdk(block):
    read = Block.parse(block)
    assert read is not None
    assert read.to_dict() == block


def test_blocks_made_by_slacks_sdk_are_taken():
    section = SectionBlock(text="*x*", accessory=ButtonElement(text="Go", action_id="go", value="1"))
    assert block_problems([HeaderBlock(text="Result").to_dict(), section.to_dict()]) == []


@pytest.mark.parametrize(
    "block", [_table(), _chart(), _container()], ids=["data_table", "data_visualization", "container"]
)
def test_new_blocks_are_refused_by_a_workspace_that_lacks_them(block):
    assert block_problems([block], refused=NEW_BLOCKS) == [
        f"unsupported type: {block['type']} [json-pointer:/blocks/0/type]"
    ]


def test_shown_characters_count_texts_and_not_types():
    assert shown_characters([_header(10), _section(fields=[_mrkdwn(5), _mrkdwn(5)], block_id="long-id")]) == 20


def test_modal_with_an_input_needs_a_submit_button():
    view = {"type": "modal", "title": _plain(24), "blocks": [_input({"type": "plain_text_input", "action_id": "a"})]}
    assert view_problems(view, "modal") == ["missing required field: submit [json-pointer:/view]"]
    assert view_problems({**view, "submit": _plain(24)}, "modal") == []


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("must be less than 25 characters", {"title": _plain(25)}),
        ("must be less than 3001 characters", {"private_metadata": "x" * 3001}),
        ("no more than 100 items", {"blocks": [{"type": "divider"}] * 101}),
        ("must be one of ['modal']", {"type": "home"}),
        ("invalid additional property: colour", {"colour": "red"}),
    ],
)
def test_view_over_a_limit_is_refused(message, fields):
    view = {"type": "modal", "title": _plain(), "blocks": [{"type": "divider"}], **fields}
    assert any(message in problem for problem in view_problems(view, "modal"))


scalars: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


def _mutations(value: Any) -> st.SearchStrategy[Any]:
    """The value with any part of it replaced by anything at all."""
    if isinstance(value, dict) and value:
        parts: st.SearchStrategy[Any] = st.fixed_dictionaries({key: _mutations(inner) for key, inner in value.items()})
    elif isinstance(value, list) and value:
        parts = st.tuples(*map(_mutations, value[:3])).map(list)
    else:
        parts = st.just(value)
    return st.one_of(parts, parts, parts, anything)


@given(anything)
def test_block_problems_never_raises_on_any_json(blocks):
    assert isinstance(block_problems(blocks), list)
    assert isinstance(view_problems(blocks, "modal"), list)
    assert shown_characters(blocks) >= 0


@given(st.sampled_from(TAKEN).flatmap(_mutations))
def test_block_problems_never_raises_on_blocks_that_are_nearly_right(blocks):
    assert all(isinstance(problem, str) for problem in block_problems(blocks))


@given(_mutations(_table(3, 2)), _mutations(_chart()))
def test_data_blocks_never_raise(table, chart):
    assert all(isinstance(problem, str) for problem in block_problems([table, chart]))

"""Promises of the stand-ins: Slack's limits, at the edge and beyond, signatures, cursors, and plausible racing."""

from datetime import UTC, date, datetime, timedelta

import pytest
from slack_sdk.models.blocks import Block

from sandbox.racing_day import meetings_on
from sandbox.slack.block_rules import NEW_BLOCKS, block_problems, view_problems
from sandbox.slack.calls import Refused
from sandbox.slack.limits import RateLimiter, SlackLimits
from sandbox.slack.timestamps import Timestamps, format_ts, parse_ts
from sandbox.slack.workspace import SlackWorkspace
from tests.rows import over

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


def _plain(length=1):
    return {"type": "plain_text", "text": "x" * length}


def _mrkdwn(length=1):
    return {"type": "mrkdwn", "text": "x" * length}


def _head(length):
    return {"type": "header", "text": _plain(length)}


def _section(**fields):
    return {"type": "section", **fields}


def _button(**fields):
    return {"type": "button", "text": _plain(), "action_id": "a", **fields}


def _actions(*elements):
    return {"type": "actions", "elements": list(elements)}


def _option(value="v"):
    return {"text": _plain(), "value": value}


def _select(**fields):
    return {"type": "multi_static_select", "action_id": "a", **fields}


def _table(rows=2, columns=1, **fields):
    cells = [[{"type": "raw_text", "text": "x"}] * columns for _ in range(rows)]
    return {"type": "data_table", "caption": "Runners", "rows": cells, **fields}


def _container(**fields):
    return {"type": "container", "title": _plain(150), "child_blocks": [_section(text=_mrkdwn())], **fields}


def _chart(**fields):
    series = [{"name": "used", "data": [{"label": "Mon", "value": 1}]}]
    axis = {"categories": ["Mon"], "x_label": "day"}
    return {
        "type": "data_visualization",
        "title": "Usage",
        "chart": {"type": "line", "series": series, "axis_config": axis, **fields},
    }


def _rich(*parts):
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(parts)}]}


def _input(element):
    return {"type": "input", "label": _plain(), "element": element}


TEXT_CELL = {"type": "raw_text", "text": "x"}
TAKEN = [
    [_head(150)],
    [_section(text=_mrkdwn(3000))],
    [_section(fields=[_mrkdwn(1)] * 9 + [_mrkdwn(2000)])],
    [_section(text=_mrkdwn(), accessory=_button(value="x" * 2000))],
    [_section(text={"type": "mrkdwn", "text": "x", "verbatim": True}, block_id="b" * 255)],
    [{"type": "context", "elements": [_mrkdwn(), _plain()] + [_mrkdwn()] * 8}],
    [{"type": "divider"}],
    [_actions(*[_button(action_id=f"a{n}") for n in range(25)])],
    [_actions(_button(text=_plain(75), style="danger"))],
    [_input(_select(options=[_option(f"{n}") for n in range(100)], placeholder=_plain(150)))],
    [_input(_select(options=[_option()], initial_options=[_option()]))],
    [_input(_select(option_groups=[{"label": _plain(75), "options": [_option()]}]))],
    [_input({"type": "multi_users_select", "action_id": "a", "placeholder": _plain()})],
    [_input({"type": "plain_text_input", "action_id": "a", "max_length": 3000})],
    [_table(101, 20), _chart()],
    [_table(page_size=100, row_header_column_index=0)],
    [_chart(), _chart()],
    [_container(is_collapsible=True, default_collapsed=True)],
    [_container(child_blocks=[_section(text=_mrkdwn(3000))] * 10)],
    [{"type": "divider"}] * 50,
]
REFUSED = [
    ("must be less than 151 characters [json-pointer:/blocks/0/text/text]", [_head(151)]),
    ("must be more than 0 characters [json-pointer:/blocks/0/text/text]", [_head(0)]),
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
    ("no more than 100 items allowed", [_input(_select(options=[_option()] * 101))]),
    ("exactly one of options and option_groups", [_input(_select())]),
    ("must exactly match", [_input(_select(options=[_option("a")], initial_options=[_option("b")]))]),
    ("unsupported type: plain_text_input", [_actions({"type": "plain_text_input", "action_id": "a"})]),
    ("unsupported type: button", [_input(_button())]),
    ("unsupported type: wheel", [{"type": "wheel"}]),
    ("unsupported type: multi_static_select", [_actions(_select(options=[_option()]))]),
    ("unsupported type: ['header']", [{"type": ["header"]}]),
    ("must be a boolean", [_section(text={**_mrkdwn(), "verbatim": 1})]),
    ("must be a number", [_chart(series=[{"name": "used", "data": [{"label": "Mon", "value": float("nan")}]}])]),
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
    ("must be an integer from 1 to 100", [_table(page_size=101)]),
    ("tables must have less than 10001", [_table(101, 50)] * 2),
    ("must be less than 51 characters", [{**_chart(), "title": "x" * 51}]),
    ("must be less than 151 characters [json-pointer:/blocks/0/title/text]", [_container(title=_plain(151))]),
    ("unsupported text type", [_container(title=_mrkdwn())]),
    ("no more than 10 items allowed", [_container(child_blocks=[{"type": "divider"}] * 11)]),
    ("no fewer than 1 items allowed", [_container(child_blocks=[])]),
    ("unsupported type: data_table", [_container(child_blocks=[_table()])]),
    ("invalid additional property: width", [_container(width="wide")]),
    ("labels must match the categories", [_chart(axis_config={"categories": ["Tue"]})]),
    ("must be less than 21 characters", [_chart(series=[{"name": "x" * 21, "data": [{"label": "Mon", "value": 1}]}])]),
    ("value must be one of", [_chart(type="radar")]),
    ("no more than 2 data_visualization", [_chart()] * 3),
]


@over(("message", "blocks"), REFUSED)
def test_blocks_over_a_limit_are_refused_with_a_pointer(message, blocks):
    found = block_problems(blocks)
    assert any(message in problem for problem in found), found
    assert all("[json-pointer:/blocks" in problem for problem in found)


@over("blocks", TAKEN)
def test_blocks_within_the_limits_are_taken_and_no_limit_is_wider_than_that_of_slacks_sdk(blocks):
    assert block_problems(blocks) == []
    for block in (block for block in blocks if block["type"] not in NEW_BLOCKS):
        read = Block.parse(block)
        assert read is not None, block
        assert read.to_dict() == block


def test_new_blocks_are_refused_by_a_workspace_that_lacks_them():
    for block in (_table(), _chart(), _container()):
        [refused] = block_problems([block], refused=NEW_BLOCKS)
        assert refused.startswith(f"unsupported type: {block['type']}, value must be one of ['header', ")
        assert refused.endswith("[json-pointer:/blocks/0/type]")


@over(
    ("problem", "fields"),
    [
        (None, {"submit": _plain(24)}),
        ("missing required field: submit [json-pointer:/view]", {}),
        ("must be less than 25 characters", {"title": _plain(25)}),
        ("must be less than 3001 characters", {"private_metadata": "x" * 3001}),
        ("no more than 100 items", {"blocks": [{"type": "divider"}] * 101}),
        ("must be one of ['modal']", {"type": "home"}),
        ("invalid additional property: colour", {"colour": "red"}),
    ],
)
def test_view_is_taken_within_the_limits_and_refused_over_one(problem, fields):
    asked = _input({"type": "plain_text_input", "action_id": "a"})
    found = view_problems({"type": "modal", "title": _plain(24), "blocks": [asked], **fields}, "modal")
    assert problem in " ".join(found) if problem else found == []


# Calls


IN_FIVE_CHANNELS = [("chat.postMessage", f"C{number}", 0) for number in range(5)]
ONE_OF_EACH = SlackLimits(update_per_minute=1, history_per_minute=1)
METHODS = [("chat.update", "C1", 0), ("chat.update", "C2", 0), ("conversations.history", "C1", 0)]
METHODS += [("chat.postMessage", "C1", 0), ("auth.test", "", 0)]


@over(
    ("limits", "calls", "waits"),
    [
        (SlackLimits(burst=2), [("chat.postMessage", "C1", at_s) for at_s in (0, 0, 0, 1, 1.5, 2)], [0, 0, 1, 0, 1, 0]),
        (SlackLimits(burst=1), IN_FIVE_CHANNELS, [0] * 5),
        (SlackLimits(workspace_per_minute=3), IN_FIVE_CHANNELS, [0, 0, 0, 20, 20]),
        (ONE_OF_EACH, METHODS, [0, 60, 0, 0, 0]),
    ],
    ids=["burst", "channels", "workspace", "methods"],
)
def test_calls_are_limited_by_channel_workspace_and_method(limits, calls, waits):
    limiter, found = RateLimiter(), []
    for method, channel, at_s in calls:
        try:
            limiter.take(limits, method, channel, NOW + timedelta(seconds=at_s))
        except Refused as refusal:
            found.append(int(refusal.headers["Retry-After"]))
        else:
            found.append(0)
    assert found == waits


@over("token", ["xoxb-123456789012-1234567890123-AbCdEf", "", "xoxp-1"])
def test_workspace_takes_made_up_tokens_only(token):
    assert SlackWorkspace(bot_token="XOXB-TEST").bot_token == "XOXB-TEST"
    with pytest.raises(ValueError, match="made-up tokens only"):
        SlackWorkspace(bot_token=token)


def test_timestamps_increase_although_the_clock_goes_back_and_are_read_back():
    moments = iter([NOW - timedelta(seconds=number) for number in range(5)])
    timestamps = Timestamps(lambda: next(moments))
    issued = [timestamps.issue() for _ in range(5)]
    assert issued == sorted(set(issued), key=parse_ts)
    assert [format_ts(parse_ts(one)) for one in issued] == issued


# Racing


DAY = date(2025, 11, 20)


def drawn(meetings):
    """All but ids and dates."""
    return [
        (meeting.course, [(race.off_time, race.title, race.runners) for race in meeting.races]) for meeting in meetings
    ]


def test_racing_of_a_seed_is_the_same_whatever_the_date_is_but_for_ids_and_dates():
    before = meetings_on(7, DAY, 0)
    meetings_on.cache_clear()
    other = meetings_on(7, DAY + timedelta(days=100), 0)
    assert meetings_on(7, DAY, 0) == before
    assert drawn(other) == drawn(before) != drawn(meetings_on(8, DAY, 0))
    assert not {meeting.meeting_id for meeting in other} & {meeting.meeting_id for meeting in before}

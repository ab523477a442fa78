"""The blocks and views that Slack takes, each field with its limits, and Slack's complaints with a json-pointer.

Only types and fields that the bot may use. Limits: docs.slack.dev/reference/block-kit/blocks; slack_sdk,
`models/blocks`. Record 0045.
"""

from collections.abc import Collection
from typing import Any

from sandbox.slack.value_rules import (
    Rule,
    also,
    array,
    by_type,
    choice,
    distinct,
    flag,
    holds,
    number,
    problem,
    shape,
    text,
    whole,
)
from sandbox.slack.values import texts_in

TABLE_ROWS = 101
"""Slack's page now says 201 rows and 20,000 characters, but workspaces get changes at different times."""
TABLE_CHARACTERS = 10_000

ID = text(255)
ANY_LIST = holds(lambda value: isinstance(value, list), "must be an array")
BLOCK_ID = {"block_id": ID}


# Text objects, docs.slack.dev/reference/block-kit/composition-objects


def _plain(longest: int) -> Rule:
    return by_type({"plain_text": shape({"text": text(longest)}, {"emoji": flag})}, "text ")


def _text(longest: int) -> Rule:
    words = {"text": text(longest)}
    return by_type({"plain_text": shape(words, {"emoji": flag}), "mrkdwn": shape(words, {"verbatim": flag})}, "text ")


# Elements, docs.slack.dev/reference/block-kit/block-elements


def _offers_its_initial(menu: Any) -> bool:
    offered = [*menu.get("options", ()), *(one for group in menu.get("option_groups", ()) for one in group["options"])]
    return all(option in offered for option in menu.get("initial_options", ()))


CONFIRM = shape({"title": _plain(100), "text": _text(300), "confirm": _plain(30), "deny": _plain(30)})
STYLE = choice("primary", "danger")
BUTTON = by_type(
    {"button": shape({"text": _plain(75)}, {"action_id": ID, "value": text(2000), "style": STYLE, "confirm": CONFIRM})}
)
OPTIONS = array(shape({"text": _plain(75), "value": text(150)}), 1, 100)
GROUPS = array(shape({"label": _plain(75), "options": OPTIONS}), 1, 100)
TICKS = array(shape({"text": _text(75), "value": text(150)}), 1, 10)
IDS = array(ID, 1, 100)
KINDS = shape({"include": array(choice("public", "private", "im", "mpim"), 1, 4)})
MENU = {"action_id": ID, "placeholder": _plain(150), "max_selected_items": whole(1, 100)}
OFFERED = holds(_offers_its_initial, "initial option must exactly match a provided option")
GROUPED = holds(
    lambda menu: ("options" in menu) != ("option_groups" in menu),
    "exactly one of options and option_groups is required",
)
FIELD = by_type(
    {
        "plain_text_input": shape({}, {"action_id": ID, "initial_value": text(3000), "max_length": whole(1, 3000)}),
        "checkboxes": also(shape({"options": TICKS}, {"action_id": ID, "initial_options": TICKS}), OFFERED),
        "multi_static_select": also(
            shape({}, {**MENU, "options": OPTIONS, "option_groups": GROUPS, "initial_options": OPTIONS}),
            GROUPED,
            OFFERED,
        ),
        "multi_external_select": shape({}, {**MENU, "min_query_length": whole(0, 3000), "initial_options": ANY_LIST}),
        "multi_users_select": shape({}, {**MENU, "initial_users": IDS}),
        "multi_conversations_select": shape({}, {**MENU, "initial_conversations": IDS, "filter": KINDS}),
    }
)


# Tables and charts, docs.slack.dev/reference/block-kit/blocks: data-table-block, data-visualization-block


def _labels_its_axis(chart: Any) -> bool:
    labels = [[point["label"] for point in series["data"]] for series in chart["series"]]
    return all(one == chart["axis_config"]["categories"] for one in labels)


LABEL, TITLE = text(20), text(50)
CELL = by_type({"raw_text": shape({"text": text(TABLE_CHARACTERS)})}, "cell ")
ROWS = also(
    array(array(CELL, 1, 20), 2, TABLE_ROWS),
    holds(lambda rows: len({len(row) for row in rows}) == 1, "all rows must have the same number of cells"),
)
SERIES = shape({"name": LABEL, "data": array(shape({"label": LABEL, "value": number}), 1, 20)})
AXES = shape({"categories": array(LABEL, 1, 20)}, {"x_label": TITLE})
LINES = also(
    shape({"series": array(SERIES, 1, 6), "axis_config": AXES}),
    holds(_labels_its_axis, "labels must match the categories"),
)


# Blocks


OLDER_BLOCKS = {
    "header": shape({"text": _plain(150)}, BLOCK_ID),
    "divider": shape({}, BLOCK_ID),
    "section": also(
        shape({}, {**BLOCK_ID, "text": _text(3000), "fields": array(_text(2000), 1, 10), "accessory": BUTTON}),
        holds(lambda section: bool({"text", "fields"} & section.keys()), "missing required field: text"),
    ),
    "context": shape({"elements": array(_text(3000), 1, 10)}, BLOCK_ID),
    "actions": shape({"elements": also(array(BUTTON, 1, 25), distinct("action_id"))}, BLOCK_ID),
    "input": shape({"label": _plain(2000), "element": FIELD}, {**BLOCK_ID, "hint": _plain(2000), "optional": flag}),
}
NEWER_BLOCKS = {
    # Native tables and charts are not among the blocks that Slack takes inside.
    "container": shape(
        {"title": _plain(150), "child_blocks": array(by_type(OLDER_BLOCKS), 1, 10)},
        {**BLOCK_ID, "is_collapsible": flag, "default_collapsed": flag},
    ),
    "data_table": shape(
        {"caption": text(3000), "rows": ROWS},
        {**BLOCK_ID, "page_size": whole(1, 100), "row_header_column_index": whole(0, 19)},
    ),
    "data_visualization": shape({"title": TITLE, "chart": by_type({"line": LINES})}, BLOCK_ID),
}


# Views, docs.slack.dev/reference/views. `view_problems` checks their blocks too.


def _can_be_submitted(modal: Any) -> bool:
    kinds = [block.get("type") for block in modal["blocks"] if isinstance(block, dict)]
    return "submit" in modal or "input" not in kinds


PRIVATE = {"private_metadata": text(3000, 0), "callback_id": text(255, 0)}
VIEWS = {
    "home": shape({"type": choice("home"), "blocks": ANY_LIST}, PRIVATE),
    "modal": also(
        shape(
            {"type": choice("modal"), "title": _plain(24), "blocks": ANY_LIST},
            {**PRIVATE, "submit": _plain(24), "close": _plain(24)},
        ),
        holds(_can_be_submitted, "missing required field: submit"),
    ),
}


MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MESSAGE_CHARACTERS = 13_200
"""Undocumented: github.com/slackapi/bolt-js/issues/2509 says "about 13,200"."""
MESSAGE_CHARTS = 2
NEW_BLOCKS = frozenset(NEWER_BLOCKS)
_NOT_SHOWN = frozenset({"type", "block_id", "action_id"})


def block_problems(blocks: Any, *, most: int = MESSAGE_BLOCKS, refused: Collection[str] = ()) -> list[str]:
    """Empty if Slack would take the blocks.

    `refused`: kinds of blocks that the workspace does not know yet.
    """
    known = {kind: rule for kind, rule in {**OLDER_BLOCKS, **NEWER_BLOCKS}.items() if kind not in refused}
    found = list(array(by_type(known), 0, most)(blocks, "/blocks"))
    if isinstance(blocks, list):
        found += distinct("block_id")(blocks, "/blocks")
        if len(_of_type(blocks, "data_visualization")) > MESSAGE_CHARTS:
            found.append(problem(f"no more than {MESSAGE_CHARTS} data_visualization blocks allowed", "/blocks"))
        if shown_characters([table.get("rows") for table in _of_type(blocks, "data_table")]) > TABLE_CHARACTERS:
            words = f"tables must have less than {TABLE_CHARACTERS + 1} characters together"
            found.append(problem(words, "/blocks"))
    return found


def view_problems(view: Any, kind: str, *, refused: Collection[str] = ()) -> list[str]:
    """`kind` is "modal" or "home"."""
    found = list(VIEWS[kind](view, "/view"))
    blocks = view.get("blocks") if isinstance(view, dict) else None
    return found if blocks is None else found + block_problems(blocks, most=VIEW_BLOCKS, refused=refused)


def shown_characters(blocks: Any) -> int:
    """All characters, links and values included: the measure for "too long"."""
    return sum(map(len, texts_in(blocks, _NOT_SHOWN)))


def _of_type(blocks: list[Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]

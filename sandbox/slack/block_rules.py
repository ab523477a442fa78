"""Slack's complaints about blocks and views, each with a json-pointer."""

from collections.abc import Collection
from typing import Any

from sandbox.slack.block_shapes import NEWER_BLOCKS, OLDER_BLOCKS, TABLE_CHARACTERS, VIEWS
from sandbox.slack.value_rules import array, by_type, distinct, problem
from sandbox.slack.values import texts_in

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

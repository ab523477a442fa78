"""Whether Slack would take these blocks. The rules of each type, and those of a whole message or view.

Known are the types that the bot may use: any other is "unsupported", though Slack has more.
docs.slack.dev/reference/block-kit/blocks
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from bot.sandbox.slack.block_checks import (
    ID_LIMIT,
    TEXT_LIMIT,
    Problems,
    counted,
    objects,
    only,
    plain_in,
    problem,
    string,
    text_in,
    text_object,
)
from bot.sandbox.slack.block_data import TABLE_CHARACTERS, data_table, data_visualization, table_characters
from bot.sandbox.slack.block_elements import ACTION_TYPES, INPUT_TYPES, element, image_source
from bot.sandbox.slack.block_rich_text import rich_text

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
# github.com/slackapi/bolt-js/issues/2509: undocumented, "about 13,200".
MESSAGE_CHARACTERS = 13_200
MESSAGE_CHARTS = 2
HEADER_LIMIT = 150
FIELD_LIMIT = 2000
NEW_BLOCKS = frozenset({"data_table", "data_visualization"})
_NOT_SHOWN = frozenset({"type", "block_id", "action_id"})


def block_problems(blocks: Any, *, most: int = MESSAGE_BLOCKS, refuse_new: bool = False) -> list[str]:
    """What Slack would complain about, each with its json-pointer; empty where the blocks are fine.

    `most` is 50 for a message and 100 for a view. `refuse_new` is a workspace that has not got data_table and
    data_visualization yet.
    """
    if not isinstance(blocks, list):
        return [problem("must be an array", "/blocks")]
    found = [*_each(blocks, refuse_new=refuse_new), *_together(blocks)]
    if len(blocks) > most:
        found.append(problem(f"no more than {most} items allowed", "/blocks"))
    return found


def shown_characters(blocks: Any) -> int:
    """How many characters the blocks show together, links and values included: what "too long" is measured by."""
    total, waiting = 0, [blocks]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(inner for key, inner in value.items() if key not in _NOT_SHOWN)
    return total


def _each(blocks: list[Any], *, refuse_new: bool) -> Iterator[str]:
    for index, block in enumerate(blocks):
        path = f"/blocks/{index}"
        kind = block.get("type") if isinstance(block, dict) else None
        rule = _BLOCKS.get(kind) if isinstance(kind, str) else None
        if rule is None or (refuse_new and kind in NEW_BLOCKS):
            yield problem(f"unsupported type: {kind}", f"{path}/type")
            continue
        yield from string(block, "block_id", path, ID_LIMIT)
        yield from rule(block, path)


def _together(blocks: list[Any]) -> Iterator[str]:
    known = [block for block in blocks if isinstance(block, dict)]
    ids = Counter(block["block_id"] for block in known if isinstance(block.get("block_id"), str))
    for block_id in (block_id for block_id, times in ids.items() if times > 1):
        yield problem(f"block_id {block_id!r} already exists", "/blocks")
    if sum(block.get("type") == "data_visualization" for block in known) > MESSAGE_CHARTS:
        yield problem(f"no more than {MESSAGE_CHARTS} data_visualization blocks allowed", "/blocks")
    tables = [block for block in known if block.get("type") == "data_table"]
    if sum(map(table_characters, tables)) > TABLE_CHARACTERS:
        yield problem(f"tables must have less than {TABLE_CHARACTERS + 1} characters together", "/blocks")


def _header(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "text")
    yield from plain_in(block, "text", path, HEADER_LIMIT)


def _divider(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id")


def _section(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "text", "fields", "accessory", "expand")
    if not {"text", "fields"} & block.keys():
        yield problem("missing required field: text", path)
    yield from text_in(block, "text", path, required=False)
    yield from counted(block, "fields", path, 1, 10, required=False)
    for index, field in enumerate(objects(block, "fields")):
        yield from text_object(field, f"{path}/fields/{index}", FIELD_LIMIT)
    if "accessory" in block:
        yield from element(block["accessory"], f"{path}/accessory")


def _context(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "elements")
    yield from counted(block, "elements", path, 1, 10)
    for index, part in enumerate(objects(block, "elements")):
        below = f"{path}/elements/{index}"
        is_image = isinstance(part, dict) and part.get("type") == "image"
        yield from element(part, below) if is_image else text_object(part, below, TEXT_LIMIT)


def _actions(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "elements")
    yield from counted(block, "elements", path, 1, 25)
    seen: set[str] = set()
    for index, part in enumerate(objects(block, "elements")):
        below = f"{path}/elements/{index}"
        yield from _interactive(part, below, ACTION_TYPES)
        action_id = part.get("action_id") if isinstance(part, dict) else None
        if isinstance(action_id, str):
            if action_id in seen:
                yield problem(f"action_id {action_id!r} already exists", below)
            seen.add(action_id)


def _image(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "image_url", "slack_file", "alt_text", "title")
    yield from image_source(block, path)
    yield from plain_in(block, "title", path, FIELD_LIMIT, required=False)


def _input(block: dict[str, Any], path: str) -> Problems:
    yield from only(block, path, "block_id", "label", "element", "hint", "optional", "dispatch_action")
    yield from plain_in(block, "label", path, FIELD_LIMIT)
    yield from plain_in(block, "hint", path, FIELD_LIMIT, required=False)
    yield from _interactive(block.get("element"), f"{path}/element", INPUT_TYPES)


def _interactive(part: Any, path: str, allowed: frozenset[str]) -> Problems:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in allowed:
        yield problem(f"unsupported type: {kind}", f"{path}/type")
        return
    yield from element(part, path)


_BLOCKS: dict[str, Callable[[dict[str, Any], str], Problems]] = {
    "header": _header,
    "divider": _divider,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "image": _image,
    "input": _input,
    "rich_text": rich_text,
    "data_table": data_table,
    "data_visualization": data_visualization,
}

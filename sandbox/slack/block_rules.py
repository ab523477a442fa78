"""Slack's complaints about blocks and views, each with a json-pointer."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sandbox.slack.block_models import BLOCKS, TABLE_CHARACTERS, VIEWS

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MESSAGE_CHARACTERS = 13_200
"""Undocumented: github.com/slackapi/bolt-js/issues/2509 says "about 13,200"."""
MESSAGE_CHARTS = 2
NEW_BLOCKS = frozenset({"container", "data_table", "data_visualization"})
_NOT_SHOWN = frozenset({"type", "block_id", "action_id"})

Error = dict[str, Any]


def block_problems(blocks: Any, *, most: int = MESSAGE_BLOCKS, refused: Collection[str] = ()) -> list[str]:
    """Empty if Slack would take the blocks.

    `refused`: kinds of blocks that the workspace does not know yet.
    """
    found = _problems(BLOCKS, blocks, "/blocks")
    if isinstance(blocks, list):
        found += _together([block for block in blocks if isinstance(block, dict)])
        found += _new_blocks(blocks, refused)
        if len(blocks) > most:
            found.append(problem(f"no more than {most} items allowed", "/blocks"))
    return found


def view_problems(view: Any, kind: str, *, refused: Collection[str] = ()) -> list[str]:
    """`kind` is "modal" or "home"."""
    found = _problems(VIEWS[kind], view, "/view")
    blocks = view.get("blocks") if isinstance(view, dict) else None
    return found if blocks is None else found + block_problems(blocks, most=VIEW_BLOCKS, refused=refused)


def shown_characters(blocks: Any) -> int:
    """All characters, links and values included: the measure for "too long"."""
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


def problem(words: str, path: str) -> str:
    return f"{words} [json-pointer:{path}]"


def _together(blocks: list[dict[str, Any]]) -> Iterator[str]:
    ids = Counter(block["block_id"] for block in blocks if isinstance(block.get("block_id"), str))
    for block_id in (block_id for block_id, times in ids.items() if times > 1):
        yield problem(f"block_id {block_id!r} already exists", "/blocks")
    if sum(block.get("type") == "data_visualization" for block in blocks) > MESSAGE_CHARTS:
        yield problem(f"no more than {MESSAGE_CHARTS} data_visualization blocks allowed", "/blocks")
    cells = [block.get("rows") for block in blocks if block.get("type") == "data_table"]
    if shown_characters(cells) > TABLE_CHARACTERS:
        yield problem(f"tables must have less than {TABLE_CHARACTERS + 1} characters together", "/blocks")


def _new_blocks(blocks: list[Any], refused: Collection[str]) -> Iterator[str]:
    for index, block in enumerate(blocks):
        if isinstance(block, dict) and block.get("type") in refused:
            yield problem(f"unsupported type: {block['type']}", f"/blocks/{index}/type")


def _problems(shape: TypeAdapter[Any], value: Any, path: str) -> list[str]:
    try:
        shape.validate_python(value)
    except ValidationError as error:
        return [_in_slacks_words(each, value, path) for each in error.errors(include_url=False)]
    return []


def _in_slacks_words(error: Any, value: Any, path: str) -> str:
    say = _WORDS.get(error["type"])
    words = say(error) if say else error["msg"]
    return problem(words, path + _pointer(error, value) + _BELOW.get(error["type"], ""))


def _pointer(error: Error, value: Any) -> str:
    """Skip the names of union members in pydantic's way: the value does not have them."""
    way = ""
    for name in error["loc"]:
        is_item = isinstance(value, list) and isinstance(name, int) and name < len(value)
        is_field = isinstance(value, dict) and name in value and error["type"] != "extra_forbidden"
        if is_item or is_field:
            value = value[name]
            way += f"/{name}"
    return way


def _unsupported(error: Error) -> str:
    said = error.get("ctx", {})
    allowed = said.get("expected_tags") or said.get("expected") or ""
    words = f"value must be one of [{allowed}]"
    if error["type"] == "literal_error" and error["loc"][-1] != "type":
        return words
    what = "text " if "plain_text'" in allowed else "cell " if "raw_text" in allowed else ""
    return f"unsupported {what}type: {said.get('tag', error['input'] if error['loc'][-1] == 'type' else None)}, {words}"


_WORDS: dict[str, Callable[[Error], str]] = {
    "missing": lambda error: f"missing required field: {error['loc'][-1]}",
    "extra_forbidden": lambda error: f"invalid additional property: {error['loc'][-1]}",
    "union_tag_invalid": _unsupported,
    "union_tag_not_found": _unsupported,
    "literal_error": _unsupported,
    "string_too_long": lambda error: f"must be less than {error['ctx']['max_length'] + 1} characters",
    "string_too_short": lambda _: "must be more than 0 characters",
    "text_too_long": lambda error: f"must be less than {error['ctx']['max_length'] + 1} characters",
    "too_long": lambda error: f"no more than {error['ctx']['max_length']} items allowed",
    "too_short": lambda error: f"no fewer than {error['ctx']['min_length']} items allowed",
    "list_type": lambda _: "must be an array",
    "dict_type": lambda _: "must be an object",
    "model_attributes_type": lambda _: "must be an object",
    "string_type": lambda _: "must be a string",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a number",
    "int_type": lambda _: "must be an integer",
    "greater_than": lambda error: f"must be greater than {error['ctx']['gt']:g}",
}
_BELOW = {"union_tag_invalid": "/type", "union_tag_not_found": "/type", "text_too_long": "/text"}
"""Added to pydantic's way for these errors."""

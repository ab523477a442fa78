"""Rules of the rich_text block. docs.slack.dev/reference/block-kit/blocks/rich-text-block."""

from typing import Any

from bot.sandbox.slack.block_checks import Problems, counted, integer, objects, one_of, only, problem, string

MANY = 10_000
_LONG = 13_200
_SECTIONS = frozenset({"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"})
_NEEDED = {
    "text": "text",
    "link": "url",
    "emoji": "name",
    "user": "user_id",
    "channel": "channel_id",
    "usergroup": "usergroup_id",
    "broadcast": "range",
    "color": "value",
    "date": "format",
}


def rich_text(block: dict[str, Any], path: str) -> Problems:
    """Messages about a rich_text block, or about a cell of a table that is one."""
    yield from only(block, path, "block_id", "elements")
    yield from counted(block, "elements", path, 1, MANY)
    for index, section in enumerate(objects(block, "elements")):
        yield from _section(section, f"{path}/elements/{index}", _SECTIONS)


def _section(section: Any, path: str, allowed: frozenset[str]) -> Problems:
    kind = section.get("type") if isinstance(section, dict) else None
    if not isinstance(kind, str) or kind not in allowed:
        yield problem(f"unsupported type: {kind}", f"{path}/type")
        return
    yield from only(section, path, "elements", "style", "indent", "offset", "border", "language")
    yield from counted(section, "elements", path, 0, MANY)
    is_list = kind == "rich_text_list"
    if is_list:
        yield from one_of(section, "style", path, {"bullet", "ordered"}, required=True)
        yield from integer(section, "indent", path, 0, 8)
    for index, part in enumerate(objects(section, "elements")):
        below = f"{path}/elements/{index}"
        yield from _section(part, below, frozenset({"rich_text_section"})) if is_list else _part(part, below)


def _part(part: Any, path: str) -> Problems:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _NEEDED:
        yield problem(f"unsupported type: {kind}", f"{path}/type")
        return
    yield from string(part, _NEEDED[kind], path, _LONG, required=True)
    style = part.get("style", {})
    if not isinstance(style, dict) or not all(isinstance(value, bool) for value in style.values()):
        yield problem("must be an object of booleans", f"{path}/style")

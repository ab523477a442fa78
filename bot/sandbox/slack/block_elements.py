"""Rules of interactive elements: buttons, menus, pickers and inputs. Limits: slack_sdk, `models/blocks`."""

from collections.abc import Callable
from typing import Any

from bot.sandbox.slack.block_checks import (
    ID_LIMIT,
    Problems,
    counted,
    integer,
    objects,
    one_of,
    only,
    plain_in,
    problem,
    string,
    text_in,
)

URL_LIMIT = 3000
ALT_TEXT_LIMIT = 2000
BUTTON_TEXT_LIMIT = 75
BUTTON_VALUE_LIMIT = 2000
PLACEHOLDER_LIMIT = 150
OPTION_VALUE_LIMIT = 150
SELECT_OPTIONS = 100
CHOICES = 10
OVERFLOW_OPTIONS = 5

_SHARED = ("action_id", "confirm", "focus_on_load")
_PICKERS = {
    "datepicker": ("initial_date", "placeholder"),
    "timepicker": ("initial_time", "placeholder", "timezone"),
    "datetimepicker": ("initial_date_time",),
}
_LIVE_SELECTS = ("users", "conversations", "channels", "external")


def element(value: Any, path: str) -> Problems:
    """Messages about one interactive element or image, of whatever type."""
    kind = value.get("type") if isinstance(value, dict) else None
    rule = _ELEMENTS.get(kind) if isinstance(kind, str) else None
    if rule is None:
        yield problem(f"unsupported type: {kind}", f"{path}/type")
        return
    yield from rule(value, path)
    yield from string(value, "action_id", path, ID_LIMIT)
    if "confirm" in value:
        yield from _confirm(value["confirm"], f"{path}/confirm")


def image_element(value: dict[str, Any], path: str) -> Problems:
    """Messages about an image inside a section or context."""
    yield from only(value, path, "image_url", "slack_file", "alt_text")
    yield from image_source(value, path)


def image_source(value: dict[str, Any], path: str) -> Problems:
    """Messages about what image blocks and image elements share."""
    if ("image_url" in value) == ("slack_file" in value):
        yield problem("exactly one of image_url and slack_file is required", path)
    yield from string(value, "image_url", path, URL_LIMIT)
    yield from string(value, "alt_text", path, ALT_TEXT_LIMIT, required=True)


def _button(value: dict[str, Any], path: str) -> Problems:
    yield from only(value, path, *_SHARED, "text", "value", "url", "style", "accessibility_label")
    yield from plain_in(value, "text", path, BUTTON_TEXT_LIMIT)
    yield from string(value, "value", path, BUTTON_VALUE_LIMIT)
    yield from string(value, "url", path, URL_LIMIT)
    yield from string(value, "accessibility_label", path, BUTTON_TEXT_LIMIT)
    yield from one_of(value, "style", path, {"primary", "danger"})


def _select(value: dict[str, Any], path: str) -> Problems:
    fields = ("placeholder", "options", "option_groups", "initial_option", "initial_options", "max_selected_items")
    yield from only(value, path, *_SHARED, *fields)
    yield from plain_in(value, "placeholder", path, PLACEHOLDER_LIMIT, required=False)
    if ("options" in value) == ("option_groups" in value):
        yield problem("exactly one of options and option_groups is required", path)
    yield from _options(value, path, SELECT_OPTIONS)
    yield from counted(value, "option_groups", path, 1, SELECT_OPTIONS, required=False)
    for index, group in enumerate(objects(value, "option_groups")):
        yield from _option_group(group, f"{path}/option_groups/{index}")
    yield from integer(value, "max_selected_items", path, 1, SELECT_OPTIONS)
    yield from _initial(value, path)


def _option_group(group: Any, path: str) -> Problems:
    if not isinstance(group, dict):
        yield problem("must be an object", path)
        return
    yield from plain_in(group, "label", path, BUTTON_TEXT_LIMIT)
    yield from _options(group, path, SELECT_OPTIONS, required=True)


def _initial(value: dict[str, Any], path: str) -> Problems:
    chosen = [value["initial_option"]] if "initial_option" in value else objects(value, "initial_options")
    groups = [group for group in objects(value, "option_groups") if isinstance(group, dict)]
    offered = objects(value, "options") + [option for group in groups for option in objects(group, "options")]
    for option in chosen:
        if option not in offered:
            yield problem("initial option must exactly match a provided option", path)


def _options(
    holder: dict[str, Any], path: str, most: int, *, kinds: tuple[str, ...] = ("plain_text",), required: bool = False
) -> Problems:
    yield from counted(holder, "options", path, 1, most, required=required)
    for index, option in enumerate(objects(holder, "options")):
        yield from _option(option, f"{path}/options/{index}", kinds)


def _option(option: Any, path: str, kinds: tuple[str, ...]) -> Problems:
    if not isinstance(option, dict):
        yield problem("must be an object", path)
        return
    yield from only(option, path, "text", "value", "description", "url")
    yield from text_in(option, "text", path, BUTTON_TEXT_LIMIT, kinds=kinds)
    yield from string(option, "value", path, OPTION_VALUE_LIMIT, required=True)
    yield from text_in(option, "description", path, BUTTON_TEXT_LIMIT, kinds=kinds, required=False)


def _overflow(value: dict[str, Any], path: str) -> Problems:
    yield from only(value, path, *_SHARED, "options")
    yield from _options(value, path, OVERFLOW_OPTIONS, required=True)


def _choices(value: dict[str, Any], path: str) -> Problems:
    yield from only(value, path, *_SHARED, "options", "initial_option", "initial_options")
    yield from _options(value, path, CHOICES, kinds=("plain_text", "mrkdwn"), required=True)
    yield from _initial(value, path)


def _text_input(value: dict[str, Any], path: str) -> Problems:
    fields = ("initial_value", "multiline", "min_length", "max_length", "dispatch_action_config", "placeholder")
    yield from only(value, path, *_SHARED, *fields)
    yield from plain_in(value, "placeholder", path, PLACEHOLDER_LIMIT, required=False)
    yield from string(value, "initial_value", path, 3000)
    yield from integer(value, "min_length", path, 0, 3000)
    yield from integer(value, "max_length", path, 1, 3000)


def _picker(value: dict[str, Any], path: str) -> Problems:
    yield from only(value, path, *_SHARED, *_PICKERS[value["type"]])
    yield from plain_in(value, "placeholder", path, PLACEHOLDER_LIMIT, required=False)


def _live_select(value: dict[str, Any], path: str) -> Problems:
    # Their many initial_… and filter fields are Slack's own data: only what carries our text is checked.
    yield from plain_in(value, "placeholder", path, PLACEHOLDER_LIMIT, required=False)


def _confirm(value: Any, path: str) -> Problems:
    if not isinstance(value, dict):
        yield problem("must be an object", path)
        return
    yield from only(value, path, "title", "text", "confirm", "deny", "style")
    yield from plain_in(value, "title", path, 100)
    yield from text_in(value, "text", path, 300)
    yield from plain_in(value, "confirm", path, 30)
    yield from plain_in(value, "deny", path, 30)


_ELEMENTS: dict[str, Callable[[dict[str, Any], str], Problems]] = {
    "button": _button,
    "image": image_element,
    "overflow": _overflow,
    "checkboxes": _choices,
    "radio_buttons": _choices,
    "plain_text_input": _text_input,
    "static_select": _select,
    "multi_static_select": _select,
    **dict.fromkeys(_PICKERS, _picker),
    **{f"{prefix}{what}_select": _live_select for prefix in ("", "multi_") for what in _LIVE_SELECTS},
}

ACTION_TYPES = frozenset(_ELEMENTS) - {"image", "plain_text_input"}
INPUT_TYPES = frozenset(_ELEMENTS) - {"image", "button", "overflow"}

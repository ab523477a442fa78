"""Filling in an open modal, and the effect of the bot's answer. docs.slack.dev/surfaces/modals."""

import json
from dataclasses import replace
from typing import Any

from sandbox.slack.answers import Answer
from sandbox.slack.block_rules import view_problems
from sandbox.slack.methods import store_view
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json, elements_of

_FIELDS = {
    **dict.fromkeys(("multi_static_select", "multi_external_select", "checkboxes"), "selected_options"),
    "multi_users_select": "selected_users",
    "multi_conversations_select": "selected_conversations",
    "plain_text_input": "value",
}
"""The field of an input's state that has what is filled in."""


def filled_in(view: Json, values: Json) -> Json:
    """The state after somebody filled in `values`, by label or action_id.

    An option is chosen by its text or value; an option from `Person.looks_up` is given as offered. Raises LookupError
    for an unknown input, and ValueError for an empty input that Slack requires.
    """
    left = dict(values)
    state: Json = {}
    for block, element in _inputs(view):
        names = (element.get("action_id"), (block.get("label") or {}).get("text"))
        name = next((name for name in names if name in left), None)
        entry = _entry(element, left.pop(name)) if name is not None else _initial(element)
        is_empty = not any(value for name, value in entry.items() if name != "type")
        if block["type"] == "input" and not block.get("optional") and is_empty:
            raise ValueError(f"{names} must be filled in")
        state.setdefault(block["block_id"], {})[element["action_id"]] = entry
    if left:
        raise LookupError(f"the modal has no input {sorted(left)}")
    return state


def carry_out(state: WorkspaceState, view_id: str, answer: Answer) -> Answer:
    """`error` is set if Slack can't use the answer."""
    if answer.error is not None:
        return answer
    view = state.views[view_id]
    said: Any = json.loads(answer.body) if answer.body else {}
    match said.get("response_action"):
        case None:
            del state.views[view_id]
        case "errors":
            blocks = {block["block_id"] for block, _ in _inputs(view) if block["type"] == "input"}
            if not said.get("errors") or not set(said["errors"]) <= blocks:
                return replace(answer, error="invalid_errors")
        case "update":
            if view_problems(said.get("view"), "modal", refused=state.refused_blocks):
                return replace(answer, error="invalid_view")
            store_view(state, said["view"], view_id)
        case _:
            return replace(answer, error="invalid_response_action")
    state.changes.notify()
    return answer


def _inputs(view: Json) -> list[tuple[Json, Json]]:
    """The elements with a state: inputs, menus and pickers."""
    return [(block, element) for block, element in elements_of(view["blocks"]) if element["type"] in _FIELDS]


def _entry(element: Json, value: Any) -> Json:
    is_listed = "options" in element or "option_groups" in element
    chosen = [_option(element, one) for one in value] if is_listed else value
    return {"type": element["type"], _FIELDS[element["type"]]: chosen}


def _initial(element: Json) -> Json:
    field = _FIELDS[element["type"]]
    initial = element.get(f"initial_{field.removeprefix('selected_')}")
    return {"type": element["type"], field: [] if initial is None and field == "selected_options" else initial}


def _option(element: Json, wanted: str) -> Json:
    groups = [group["options"] for group in element.get("option_groups", [])]
    for option in [*element.get("options", []), *(one for group in groups for one in group)]:
        if wanted in {option.get("value"), option["text"]["text"]}:
            return dict(option)
    raise LookupError(f"no option {wanted!r} in {element.get('action_id')!r}")

"""Filling in an open modal, and the effect of the bot's answer. docs.slack.dev/surfaces/modals."""

import json
from dataclasses import replace
from typing import Any

from sandbox.slack.answers import Answer
from sandbox.slack.block_rules import view_problems
from sandbox.slack.methods.views import store_view
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json, elements_of

_SEVERAL = {"multi_static_select", "checkboxes"}
_IDS = {
    "multi_users_select": "selected_users",
    "multi_conversations_select": "selected_conversations",
    "plain_text_input": "value",
}
_LOOKED_UP = "multi_external_select"
_STATEFUL = _SEVERAL | set(_IDS) | {_LOOKED_UP}


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
        if block["type"] == "input" and not block.get("optional") and _is_empty(entry):
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
    return [(block, element) for block, element in elements_of(view["blocks"]) if element["type"] in _STATEFUL]


def _entry(element: Json, value: Any) -> Json:
    kind = element["type"]
    if kind in _SEVERAL:
        return {"type": kind, "selected_options": [_option(element, one) for one in value]}
    if kind == _LOOKED_UP:
        return {"type": kind, "selected_options": list(value)}
    return {"type": kind, _IDS[kind]: value}


def _initial(element: Json) -> Json:
    kind = element["type"]
    if kind in _SEVERAL or kind == _LOOKED_UP:
        return {"type": kind, "selected_options": element.get("initial_options", [])}
    field = _IDS[kind]
    return {"type": kind, field: element.get(field.replace("selected_", "initial_").replace("value", "initial_value"))}


def _option(element: Json, wanted: str) -> Json:
    groups = [group["options"] for group in element.get("option_groups", [])]
    for option in [*element.get("options", []), *(one for group in groups for one in group)]:
        if wanted in {option.get("value"), option["text"]["text"]}:
            chosen: Json = option
            return chosen
    raise LookupError(f"no option {wanted!r} in {element.get('action_id')!r}")


def _is_empty(entry: Json) -> bool:
    return not any(value for name, value in entry.items() if name != "type")

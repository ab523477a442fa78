"""views.*: modals and the App Home."""

import json

from sandbox.slack.arguments import Arguments
from sandbox.slack.block_rules import view_problems
from sandbox.slack.methods.shapes import blocks_with_ids
from sandbox.slack.refused_calls import Refused, refused_for
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

# docs.slack.dev/reference/views/modal-views
VIEW_BYTES = 250_000


def open_modal(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/views.open."""
    trigger_id = args.required("trigger_id", "invalid_trigger_id")
    view = read_view(state, args, "modal")
    state.triggers.exchange(trigger_id)
    return {"view": store_view(state, view, f"V{next(state.numbers):06d}")}


def update(state: WorkspaceState, args: Arguments) -> Json:
    """Refused if the call's hash is not the hash of the open view."""
    view = read_view(state, args, "modal")
    found = state.views.get(args.required("view_id", "not_found"))
    if found is None:
        raise Refused("not_found")
    if args.text("hash") not in {None, found["hash"]}:
        raise Refused("hash_conflict")
    return {"view": store_view(state, view, found["id"])}


def publish(state: WorkspaceState, args: Arguments) -> Json:
    user = args.required("user_id", "invalid_arguments")
    if user not in state.users:
        raise Refused("user_not_found")
    return {"view": store_view(state, read_view(state, args, "home"), f"VHOME{user}")}


def read_view(state: WorkspaceState, args: Arguments, kind: str) -> Json:
    view = args.structure("view", "invalid_arguments")
    problems = view_problems(view, kind, refused=state.refused_blocks)
    if problems:
        raise refused_for("invalid_arguments", problems)
    if len(json.dumps(view)) > VIEW_BYTES:
        raise Refused("view_too_large")
    assert isinstance(view, dict)
    return view


def store_view(state: WorkspaceState, view: Json, view_id: str) -> Json:
    stored = {
        "callback_id": "",
        "private_metadata": "",
        **view,
        "blocks": blocks_with_ids(view["blocks"]),
        "id": view_id,
        "root_view_id": view_id,
        "team_id": state.team_id,
        "app_id": state.app_id,
        "bot_id": state.bot_id,
        "hash": f"{next(state.numbers)}.sandbox",
        "state": {"values": {}},
    }
    state.views[view_id] = stored
    state.changes.notify()
    return stored

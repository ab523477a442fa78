"""users.*: the people of the workspace, and who is an admin."""

from bot.sandbox.slack.arguments import Arguments
from bot.sandbox.slack.methods.access import need_scope
from bot.sandbox.slack.methods.paging import page_of
from bot.sandbox.slack.methods.shapes import user_shape
from bot.sandbox.slack.refused_calls import Refused
from bot.sandbox.slack.state import WorkspaceState
from bot.sandbox.slack.values import Json


def info(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/users.info."""
    need_scope(state, "users:read")
    user = state.users.get(args.required("user", "user_not_found"))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user_shape(state, user)}


def list_all(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/users.list."""
    need_scope(state, "users:read")
    page, following = page_of(sorted(state.users), args.text("cursor"), args.number("limit", 100, 1000))
    return {"members": [user_shape(state, state.users[user_id]) for user_id in page], **following}

"""auth.test, users.info and usergroups.list: the people of the workspace."""

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods.access import need_scope
from sandbox.slack.methods.shapes import user_shape
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json


def auth_test(state: WorkspaceState, _args: Arguments) -> Json:
    return {
        "url": f"https://{state.team_domain}.slack.com/",
        "team": "Sandbox",
        "user": "racing-bot",
        "team_id": state.team_id,
        "user_id": state.bot_user_id,
        "bot_id": state.bot_id,
        "is_enterprise_install": False,
    }


def info(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/users.info."""
    need_scope(state, "users:read")
    user = state.users.get(args.required("user", "user_not_found"))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user_shape(state, user)}


def list_groups(state: WorkspaceState, _args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/usergroups.list."""
    need_scope(state, "usergroups:read")
    return {
        "usergroups": [
            {"id": group_id, "team_id": state.team_id, "handle": handle, "name": handle, "is_usergroup": True}
            for group_id, handle in state.user_groups.items()
        ]
    }

"""usergroups.list: the groups of people that can be mentioned."""

from bot.sandbox.slack.arguments import Arguments
from bot.sandbox.slack.methods.access import need_scope
from bot.sandbox.slack.state import WorkspaceState
from bot.sandbox.slack.values import Json


def list_all(state: WorkspaceState, _args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/usergroups.list."""
    need_scope(state, "usergroups:read")
    return {
        "usergroups": [
            {"id": group_id, "team_id": state.team_id, "handle": handle, "name": handle, "is_usergroup": True}
            for group_id, handle in state.user_groups.items()
        ]
    }

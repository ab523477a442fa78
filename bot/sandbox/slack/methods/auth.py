"""auth.test: the owner of the token."""

from bot.sandbox.slack.arguments import Arguments
from bot.sandbox.slack.state import WorkspaceState
from bot.sandbox.slack.values import Json


def test(state: WorkspaceState, _args: Arguments) -> Json:
    return {
        "url": f"https://{state.team_domain}.slack.com/",
        "team": "Sandbox",
        "user": "racing-bot",
        "team_id": state.team_id,
        "user_id": state.bot_user_id,
        "bot_id": state.bot_id,
        "is_enterprise_install": False,
    }

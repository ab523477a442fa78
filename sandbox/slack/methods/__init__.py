"""The methods of the Web API that the bot calls."""

from collections.abc import Callable

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods import chat, conversations, history, people, views
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

Method = Callable[[WorkspaceState, Arguments], Json]

METHODS: dict[str, Method] = {
    "auth.test": people.auth_test,
    "chat.postMessage": chat.post_message,
    "chat.update": chat.update,
    "conversations.info": conversations.info,
    "conversations.members": conversations.members,
    "conversations.history": history.history,
    "conversations.replies": history.replies,
    "usergroups.list": people.list_groups,
    "users.info": people.info,
    "views.open": views.open_modal,
    "views.update": views.update,
    "views.publish": views.publish,
}

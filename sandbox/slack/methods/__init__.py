"""The Web API's methods."""

from collections.abc import Callable

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods import chat, conversations, history, people, views
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

Method = Callable[[WorkspaceState, Arguments], Json]

METHODS: dict[str, Method] = {
    "auth.test": people.auth_test,
    "chat.postMessage": chat.post_message,
    "chat.postEphemeral": chat.post_ephemeral,
    "chat.update": chat.update,
    "chat.getPermalink": chat.get_permalink,
    "conversations.info": conversations.info,
    "conversations.list": conversations.list_all,
    "conversations.members": conversations.members,
    "conversations.open": conversations.open_dm,
    "conversations.history": history.history,
    "conversations.replies": history.replies,
    "usergroups.list": people.list_groups,
    "users.info": people.info,
    "users.list": people.list_all,
    "views.open": views.open_modal,
    "views.update": views.update,
    "views.publish": views.publish,
}

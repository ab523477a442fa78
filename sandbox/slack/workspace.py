"""The stand-in workspace.

`app` is Slack as the bot sees Slack. The methods are Slack as people see Slack.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from starlette.applications import Starlette

from sandbox.loopback_server import serve
from sandbox.slack.interactions import Interactions
from sandbox.slack.person import Person
from sandbox.slack.web_api import build_app


class SlackWorkspace(Interactions):
    @cached_property
    def app(self) -> Starlette:
        return build_app(self)

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        async with serve(self.app, port) as address, self.sockets.running():
            self.address = address
            yield address

    @property
    def api_url(self) -> str:
        if self.address is None:
            raise RuntimeError("the workspace is not running")
        return f"{self.address}/api/"

    def person(self, user_id: str, bot_url: str) -> Person:
        return Person(self, self.users[user_id].id, bot_url)

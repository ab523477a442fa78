"""The stand-ins at a clock that the test moves: the data service without a socket, Slack with Slack's own client."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.racing_service import RacingService
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import real_clock
from tests.integration.conftest import Moment

TODAY = date(2025, 11, 20)


@pytest.fixture
def real_time() -> Iterator[None]:
    """The real time: Bolt goes by no other clock, and neither does a bot that the demo starts."""
    with real_clock():
        yield


@pytest.fixture
def clock():
    return Moment(datetime(2025, 11, 20, 12, 0, 15, tzinfo=UTC))


class Receiver:
    """Takes each delivery, or gives the next of `statuses`. `look` is called meanwhile."""

    def __init__(self):
        self.got, self.statuses, self.look = [], [], lambda: None

    def __call__(self, request):
        self.got.append(request)
        self.look()
        return httpx.Response(self.statuses.pop(0) if self.statuses else 200, text="x" * 2_000)


@pytest.fixture
def receiver():
    return Receiver()


@pytest.fixture
async def service(clock, receiver):
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as deliveries,
        RacingService(TODAY, clock=clock, delivery_client=deliveries, days_back=1, days_ahead=3) as running,
    ):
        yield running


@pytest.fixture
async def reader(service):
    """A client with the service's key."""
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


@pytest.fixture
async def workspace(clock):
    slack = SlackWorkspace(clock=clock)
    slack.add_user("U1", "ann")
    slack.add_user("U2", "bob", is_admin=True)
    slack.add_channel("C1", "gb-racing")
    slack.add_channel("C2", "elsewhere", bot_is_member=False, members=("U1",))
    slack.add_channel("G1", "desk", is_private=True)
    slack.add_channel("G2", "secret", is_private=True, bot_is_member=False)
    async with slack.running():
        yield slack


@pytest.fixture
def client(workspace):
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])

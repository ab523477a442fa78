"""The address that commands are answered through: how often, how long, and what it takes."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from sandbox.slack.workspace import SlackWorkspace


class _Clock:
    def __init__(self):
        self.now = datetime(2025, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return _Clock()


@pytest.fixture
async def workspace(clock):
    slack = SlackWorkspace(clock=clock)
    slack.add_user("U1", "ann")
    slack.add_channel("C1", "gb-racing")
    async with slack.running():
        yield slack


async def _respond(url, body):
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(url, json=body)


async def test_response_address_is_good_for_five_uses(workspace):
    url = workspace.response_urls.issue("C1", "U1")
    answers = [await _respond(workspace.address + url.path, {"text": f"{n}"}) for n in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert answers[-1].json()["error"] == "used_url"
    assert [response.text for response in url.responses] == ["0", "1", "2", "3", "4"]


async def test_response_address_is_good_for_thirty_minutes(workspace, clock):
    url = workspace.response_urls.issue("C1", "U1")
    clock.now += timedelta(minutes=31)
    answer = await _respond(workspace.address + url.path, {"text": "late"})
    assert (answer.status_code, answer.json()["error"]) == (404, "expired_url")
    assert (await _respond(f"{workspace.address}/commands/99", {"text": "x"})).json()["error"] == "invalid_url"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "x", "response_type": "loud"}, "invalid_response_type"),
        ({"text": "x", "blocks": [{"type": "header"}]}, "invalid_blocks"),
        ({"text": "x", "replace_original": "yes"}, "invalid_arguments"),
    ],
)
async def test_response_that_slack_would_not_take_is_a_400(workspace, body, error):
    url = workspace.response_urls.issue("C1", "U1")
    answer = await _respond(workspace.address + url.path, body)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert url.responses == []

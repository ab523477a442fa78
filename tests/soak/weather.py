"""What Slack's side of a soak is like: a share of all calls meets one of the failures there are."""

from collections.abc import Iterator
from random import Random

from bot.sandbox.slack import failures
from bot.sandbox.slack.failures import Failure
from bot.sandbox.slack.workspace import SlackWorkspace
from tests.soak.life import Times

METHODS = {"chat.postMessage": 0.4, "chat.update": 0.6, "conversations.history": 0.15, "auth.test": 0.15}
"""The share of a method's calls that meet a failure; blocks are refused only where there are some.

Of six looks that fail, one post would be repeated blindly.
"""

CALLS = 20_000
LAG_S = 0.4


def bad_weather(slack: SlackWorkspace, random: Random, times: Times) -> None:
    """Have calls fail, by a script that is long enough for the whole soak."""
    slack.history_lag_s = LAG_S
    for method, share in METHODS.items():
        slack.script(method, [*_calls(random, times, share)])


def fair_weather(slack: SlackWorkspace) -> None:
    """Let every call pass again; history goes on lagging."""
    for method in METHODS:
        slack.script(method, [])


def _calls(random: Random, times: Times, share: float) -> Iterator[Failure]:
    kinds = _kinds(times)
    for _ in range(CALLS):
        yield random.choice(kinds) if random.random() < share else failures.passes()


def _kinds(times: Times) -> list[Failure]:
    return [
        failures.drop_before(),
        failures.drop_after(),
        failures.delay_after(times.call_s + 0.2),
        # Accepted when we have given up: what a look that comes too early would not find.
        failures.delay_before(times.call_s + 0.2),
        *[failures.rate_limited(1)] * 8,
        failures.http_error(503),
        failures.http_error(500).accepted(),
        failures.html(502),
        failures.html(200).accepted(),
        failures.truncated(),
        failures.slack_error("internal_error").accepted(),
        # Often, because of a native table it takes two in a row: the bot answers the first at once, in sections.
        *[failures.blocks_refused()] * 10,
    ]

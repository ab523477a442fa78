"""The clock of the tests stands in the place of the real one."""

import inspect
import sys

from bot.ports import Ports
from sandbox.racing_service.racing_standin import RacingService
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import START, now


def test_bot_and_stand_ins_have_the_clock_of_the_tests():
    clocks = {name: module.utc_now for name, module in sys.modules.items() if hasattr(module, "utc_now")}
    assert {"bot.ports", "sandbox.slack.workspace"} <= clocks.keys()
    assert {name for name, clock in clocks.items() if clock is not now} == set()
    assert Ports().clock is now
    for made in (SlackWorkspace, RacingService):
        assert inspect.signature(made).parameters["clock"].default is now


def test_run_begins_at_noon_and_never_sees_midnight():
    assert START <= now() < START.replace(hour=23)

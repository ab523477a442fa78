"""An event as told to the only channel."""

from bot.desk.decide import Telling
from tests.clock import START


def told(number, kind, **state):
    return Telling(number, "C1", kind, f"{kind}:rc_1", "rc_1", 1, START, None, **state)

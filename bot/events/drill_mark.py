"""Drills: marked test alerts, sent by the bot through the bot's own public address.

Recipients and words stand in the bot's database alone, so a stranger's drill tells no channel. The body is fixed byte
for byte, so no delivery of the data service is taken for a drill.
"""

import re

from bot.events.races import Value

DRILL_EVENT = "racing-bot.drill"

KIND = "drill"

_BODY = re.compile(rb'\{"event":"racing-bot\.drill","drill":"([0-9a-f]{16})"\}')


class Drill(Value):
    """`drill_id`: 16 hex digits. `begun_by` is None for an unknown drill.

    `only_channel` None: all channels with abandonments are told. `is_open`: channels are still to be told.
    """

    drill_id: str
    begun_by: str | None = None
    only_channel: str | None = None
    is_open: bool = False


def key_of(drill_id: str) -> str:
    return f"{KIND}:{drill_id}"


def body_of(drill_id: str) -> bytes:
    return f'{{"event":"{DRILL_EVENT}","drill":"{drill_id}"}}'.encode()


def read_body(body: bytes) -> str | None:
    """The id in a drill's body; None for every other body."""
    found = _BODY.fullmatch(body)
    return found[1].decode() if found else None

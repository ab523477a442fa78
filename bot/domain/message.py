"""A message on its way to Slack: the value that builders return and posts carry."""

from typing import Any

from bot.domain.races import Value

Block = dict[str, Any]


class Message(Value):
    """What is posted: `text` for notifications and screen readers, `blocks` for the eye (both already escaped)."""

    text: str
    blocks: tuple[Block, ...] = ()

"""Cursors, as Slack's lists have them: opaque, and refused when they are not ours."""

import base64
import binascii

from bot.sandbox.slack.refused_calls import Refused
from bot.sandbox.slack.values import Json


def make_cursor(mark: str) -> str:
    """The cursor that stands for a place in a list."""
    return base64.urlsafe_b64encode(f"next:{mark}".encode()).decode()


def read_cursor(cursor: str | None) -> str | None:
    """The place that a cursor stands for, or None at the start; refuses what was not made here."""
    if cursor is None:
        return None
    try:
        kind, _, mark = base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise Refused("invalid_cursor") from error
    if kind != "next":
        raise Refused("invalid_cursor")
    return mark


def page_of(items: list[str], cursor: str | None, limit: int) -> tuple[list[str], Json]:
    """One page of a sorted list of ids, and the `response_metadata` that leads to the next."""
    mark = read_cursor(cursor)
    rest = items if mark is None else [item for item in items if item >= mark]
    following = make_cursor(rest[limit]) if len(rest) > limit else ""
    return rest[:limit], {"response_metadata": {"next_cursor": following}}

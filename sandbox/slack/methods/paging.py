"""Opaque cursors of Slack's lists. Foreign cursors are refused."""

import base64
import binascii

from sandbox.slack.refused_calls import Refused
from sandbox.slack.values import Json


def make_cursor(mark: str) -> str:
    return base64.urlsafe_b64encode(f"next:{mark}".encode()).decode()


def read_cursor(cursor: str | None) -> str | None:
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
    mark = read_cursor(cursor)
    rest = items if mark is None else [item for item in items if item >= mark]
    following = make_cursor(rest[limit]) if len(rest) > limit else ""
    return rest[:limit], {"response_metadata": {"next_cursor": following}}

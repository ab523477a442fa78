"""Pages of Slack's lists, with cursors. Foreign cursors are refused."""

from collections.abc import Sequence
from typing import TypeVar

from sandbox.slack.arguments import Arguments
from sandbox.slack.refused_calls import Refused

LIMIT = 100
LIMIT_MAX = 999
Item = TypeVar("Item")


def page_of(items: Sequence[tuple[str, Item]], args: Arguments) -> tuple[list[Item], str]:
    """The items of a page, each given with its mark, and the cursor of the next page or nothing."""
    cursors = [f"next:{mark}" for mark, _ in items]
    asked, limit = args.text("cursor"), args.number("limit", LIMIT, LIMIT_MAX)
    if asked is not None and asked not in cursors:
        raise Refused("invalid_cursor")
    start = 0 if asked is None else cursors.index(asked)
    page = [item for _, item in items[start : start + limit]]
    return page, (cursors[start + limit] if start + limit < len(items) else "")

"""The order of the tests: what waits long is begun first, on all workers at once, and what is short fills the gaps."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")


def spread(
    items: list[Item], workers: int, *, is_long: Callable[[Item], bool], bot_of: Callable[[Item], str | None]
) -> list[Item]:
    """The items in an order of which each worker gets a fair piece: xdist cuts as many pieces as there are workers.

    A piece has long tests at its beginning, then files that run bots, then the rest. `bot_of` names the file of a test
    that runs a bot: tests that may share a bot stay together.
    """
    hands: list[list[Item]] = [[] for _ in range(workers)]
    for number, item in enumerate(item for item in items if is_long(item)):
        hands[number % workers].append(item)
    short = [item for item in items if not is_long(item)]
    files = groupby((item for item in short if bot_of(item) is not None), key=bot_of)
    for those in sorted((list(those) for _, those in files), key=len, reverse=True):
        min(hands, key=len).extend(those)
    rest = iter([item for item in short if bot_of(item) is None])
    return [item for hand in _filled(hands, rest, len(items)) for item in hand]


def _filled(hands: list[list[Item]], rest: Iterator[Item], count: int) -> Iterator[list[Item]]:
    """The hands, each with so many of the rest that it is a worker's piece."""
    for number, hand in enumerate(hands):
        size = (count + number) // len(hands)
        yield hand + [item for _, item in zip(range(size - len(hand)), rest, strict=False)]
    yield list(rest)

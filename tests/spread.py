"""The order of the tests: long tests begin first, on all workers at once, and short tests fill the gaps."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")


def spread(
    items: list[Item], workers: int, *, is_long: Callable[[Item], bool], bot_of: Callable[[Item], str | None]
) -> list[Item]:
    """The items in a new order. xdist cuts the order into pieces of the same length, a piece for each worker.

    A piece has long tests at its beginning, then tests that run bots, then all other tests. `bot_of` names the file of
    a test that runs a bot. The tests of a file stay together, because they may share a bot. Only half of the workers
    run bots: each further worker would load the bots' modules once more.
    """
    hands: list[list[Item]] = [[] for _ in range(workers)]
    for number, item in enumerate(item for item in items if is_long(item)):
        hands[number % workers].append(item)
    short = [item for item in items if not is_long(item)]
    files = groupby((item for item in short if bot_of(item) is not None), key=bot_of)
    for those in sorted((list(those) for _, those in files), key=len, reverse=True):
        min(hands[: max(2, workers // 2)], key=len).extend(those)
    rest = iter([item for item in short if bot_of(item) is None])
    return [item for hand in _filled(hands, rest, len(items)) for item in hand]


def _filled(hands: list[list[Item]], rest: Iterator[Item], count: int) -> Iterator[list[Item]]:
    """The hands, each filled up with other tests to the length of a piece."""
    for number, hand in enumerate(hands):
        size = (count + number) // len(hands)
        yield hand + [item for _, item in zip(range(size - len(hand)), rest, strict=False)]
    yield list(rest)

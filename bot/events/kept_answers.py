"""A memory of what short texts mean. A text of a delivery may be as long as the delivery, and is not kept."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

LONGEST_KEPT = 100
"""Characters. Longer than any name, status or time of racing."""

S = TypeVar("S", str, str | None)
T = TypeVar("T")


def kept(most: int) -> Callable[[Callable[[S], T]], Callable[[S], T]]:
    """Keeps the last `most` answers."""

    def decorate(read: Callable[[S], T]) -> Callable[[S], T]:
        known = lru_cache(maxsize=most)(read)

        @wraps(read)
        def answer(text: S) -> T:
            return known(text) if text is None or len(text) <= LONGEST_KEPT else read(text)

        return answer

    return decorate

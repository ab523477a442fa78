"""A value that is made when first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """`cached_property` without a lock: on Python 3.11 the reading of a large payload holds up that of all others."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __get__(self, holder: Any, _: type) -> T:
        value = holder.__dict__[self._make.__name__] = self._make(holder)
        return value

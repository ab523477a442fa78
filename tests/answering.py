"""A part that gives the same answer, or fails in the same way, whatever is asked."""

from collections.abc import Callable, Coroutine
from typing import Any

Asked = Callable[..., Coroutine[Any, Any, Any]]


def answering(answer: Any = None) -> Asked:
    async def answers(*_asked: Any, **_more: Any) -> Any:
        return answer

    return answers


def failing(error: Exception) -> Asked:
    async def fails(*_asked: Any, **_more: Any) -> Any:
        raise error

    return fails

"""Rows of a table within one test: a test for each row costs pytest more time than most rows take."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def over(
    names: str | Iterable[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """As `pytest.mark.parametrize`, for a test without fixtures. Tries every row, and names each failed row."""
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [row if len(named) > 1 else (row,) for row in rows]
    labels = table if ids is None else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            failed: list[BaseException] = []
            for label, row in zip(labels, table, strict=True):
                try:
                    test(**dict(zip(named, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  told below, with the other rows
                    error.add_note(f"The row: {label}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows", failed)

        # No `functools.wraps`: pytest would look for the rows' names among the fixtures.
        run.__name__ = test.__name__
        return run

    return decorate

"""Rows of a table within one test: a test for each row costs pytest more time than most rows take."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest
import yaml


def over(
    names: str | Iterable[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `pytest.mark.parametrize`, but the rows share the test's fixtures. Tries all, and names each failed row."""
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        def tries() -> Iterator[tuple[Any, dict[str, Any]]]:
            table = [row if len(named) > 1 else (row,) for row in rows]
            assert table, "no rows"
            labels = table if ids is None else list(ids)
            return ((label, dict(zip(named, row, strict=True))) for label, row in zip(labels, table, strict=True))

        def run(**others: Any) -> None:
            failures = _Failures()
            for label, row in tries():
                with failures.of(label):
                    test(**others, **row)
            failures.tell()

        async def run_async(**others: Any) -> None:
            failures = _Failures()
            for label, row in tries():
                with failures.of(label):
                    await test(**others, **row)
            failures.tell()

        asked = inspect.signature(test)
        made: Any = run_async if inspect.iscoroutinefunction(test) else run
        made.__name__ = test.__name__
        # pytest looks up the names left as fixtures.
        left = [one for name, one in asked.parameters.items() if name not in named]
        made.__signature__ = asked.replace(parameters=left)
        return cast("Callable[..., Any]", made)

    return decorate


class _Failures:
    """Counts rows, and keeps the errors of failed rows."""

    def __init__(self) -> None:
        self._failed: list[BaseException] = []
        self._count = 0

    @contextmanager
    def of(self, label: Any) -> Iterator[None]:
        self._count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  told below, with the other rows
            error.add_note(f"The row: {label}")
            self._failed.append(error)

    def tell(self) -> None:
        if self._failed:
            raise BaseExceptionGroup(f"{len(self._failed)} of {self._count} rows", self._failed)


class Answers:
    """Rows of a section of a YAML file, as (question, answer). The file is read when the rows are tried.

    A section is answer → questions, or answer → name → question. `!each [a, b]` in place of a value or of a key makes
    a row of each. `off`, `13:00` and `2025-06-17` are texts without quotes.
    """

    def __init__(self, file: Path, section: str) -> None:
        self._file, self._section = file, section

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for answer, questions in _read(self._file)[self._section].items():
            named = questions if isinstance(questions, list) else questions.values()
            yield from ((question, answer) for one in named for question in _each(one))


class _Each(tuple[Any, ...]):
    """Values that a row has in turn."""

    __slots__ = ()


class _Loader(yaml.CSafeLoader):
    """YAML whose plain words are texts, but for the values of JSON."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern in (
    ("null", "null"),
    ("bool", "true|false"),
    ("int", "-?(0|[1-9][0-9]*)"),
    ("float", r"-?(0|[1-9][0-9]*)\.[0-9]+|\.nan"),
    ("merge", "<<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), None)
_Loader.add_constructor(
    "!each", lambda loader, node: _Each(map(partial(loader.construct_object, deep=True), node.value))
)


@cache
def _read(file: Path) -> Any:
    loader = _Loader(file.read_bytes())
    read = loader.get_single_node()
    _check_names(read)
    return loader.construct_document(read)


def _check_names(node: yaml.Node | None) -> None:
    """YAML would forget the rows of the first of two sections of one name."""
    if isinstance(node, yaml.MappingNode):
        names = [name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
        assert len(names) == len(set(names)), f"A name stands twice in the mapping at{node.start_mark}"
        for _, item in node.value:
            _check_names(item)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_names(item)


def _each(value: Any) -> list[Any]:
    match value:
        case _Each():
            return [one for each in value for one in _each(each)]
        case dict():
            pairs = ([(key, one) for key in _each(name) for one in _each(item)] for name, item in value.items())
            return [dict(chosen) for chosen in product(*pairs)]
        case list():
            return [list(chosen) for chosen in product(*map(_each, value))]
    return [value]

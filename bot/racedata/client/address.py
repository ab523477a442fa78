"""Paths below the service's base address."""

from urllib.parse import parse_qsl, quote

Params = tuple[tuple[str, str | int], ...]
"""The names and values of a query. A name may stand in a query more than once."""


def fill_path(template: str, **values: str) -> tuple[str, Params]:
    """The path and the query, each `{name}` replaced. ValueError for an empty value, or a value of dots alone."""
    if any(value in {"", ".", ".."} for value in values.values()):
        raise ValueError("an empty value, or one of dots, can't stand in a path")
    path, _, query = template.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    return (
        path.format(**{name: quote(value, safe="") for name, value in values.items()}),
        tuple((name.format(**values), value.format(**values)) for name, value in pairs),
    )

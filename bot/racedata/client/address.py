"""The service's base address, and paths below the address."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

Params = tuple[tuple[str, str | int], ...]
"""The names and values of a query. A name may stand in a query more than once."""


def check_base_url(url: str) -> str | None:
    """The problem with the address, or None. Valid: https (http on loopback), with the version as last segment."""
    if not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        return "must be a whole address without spaces, such as https://api.example.com/v1"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not an address"
    if port == 0 or not parts.hostname or parts.scheme not in {"http", "https"}:
        return "must be a whole address, such as https://api.example.com/v1"
    return _check_parts(parts, url)


def _check_parts(parts: SplitResult, url: str) -> str | None:
    if "@" in parts.netloc:
        return "must not carry a user name or password"
    if "?" in url or "#" in url:
        return "must not carry a query or a fragment"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "must be https (http is taken on loopback only)"
    segments = parts.path.rstrip("/").split("/")
    if "." in segments or ".." in segments or not re.fullmatch(r"v\d+(\.\d+)*", segments[-1]):
        return "must end in the version segment, such as https://api.example.com/v1"
    return None


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


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

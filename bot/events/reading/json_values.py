"""A JSON value of any type, read as text, an identifier, a count or a flag, or None (Spec gap G2)."""

import math
import re
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import Any

from bot.events.reading.fields import LONGEST_NAME, Fields, fields_of, first_of

LONGEST_READ = 2_000
"""Characters. The rest is cut off."""

MOST_NOTES = 100
"""Entries of an annotation."""

LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def text(value: Any) -> str | None:
    """White space is collapsed, and HTML is unescaped; an object is its name, and a list of one value the value.

    NUL and lone surrogates are removed for the databases. Message builders deal with other odd characters.
    """
    if isinstance(value, str):
        return _short(value) if len(value) <= LONGEST_NAME else _storable(value)
    if isinstance(value, dict):
        name = value.get("name")
        return text(name) if isinstance(name, str) and name else _spoken(fields_of(value))
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict | list):
        return text(value[0])
    return _digits(value)


def string(value: Any) -> str | None:
    return text(value) if isinstance(value, str) else None


def note_text(value: Any, deepest: int = 3) -> str | None:
    """A free annotation: an object as "name: value", lists and objects with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, dict | list):
        return text(value)
    if not deepest:
        return None
    named = value.items() if isinstance(value, dict) else [("", item) for item in value]
    parts = [(_storable(str(name)), note_text(item, deepest - 1)) for name, item in islice(named, MOST_NOTES)]
    said = [f"{name}: {shown}" if name else shown for name, shown in parts if shown]
    return ", ".join(said) or None


def identifier(value: Any) -> str | None:
    """An integer is an id; a fraction, a flag or an object is none. A list of one value, as from XML, is the value."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict | list):
        return identifier(value[0])
    if isinstance(value, float) and not value.is_integer():
        return None
    return _digits(value)


def count(value: Any) -> int | None:
    """A whole number of up to three digits."""
    digits = identifier(value) or ""
    return int(digits) if re.fullmatch("[0-9]{1,3}", digits) else None


def flag(value: Any) -> bool | None:
    """True also for a moment or a reason in the place of a flag: "withdrawn_at": "2026-11-25T09:10Z"."""
    if isinstance(value, dict | list):
        return None
    return _flag_word(value) not in _NO_FLAG


def flag_in(value: Any) -> bool | None:
    """The flag of a value, or of an object with particulars: {"cancellation": {"reason": …}}."""
    if not isinstance(value, dict):
        return flag(value)
    told = [flag(one) for one in value.values() if one is not None and not isinstance(one, dict | list)]
    return False if False in told else True if True in told else None


def is_yes(value: Any) -> bool:
    """True for a flag that says yes, False for a winner's name or a moment."""
    return _flag_word(value) in _YES


def is_no(value: Any) -> bool:
    """True for a flag that says no, False for an unknown flag."""
    return _flag_word(value) in _NO


def _flag_word(value: Any) -> str:
    return str(value).strip()[:LONGEST_NAME].casefold()


_YES = frozenset({"true", "yes", "y", "1", "1.0"})
_NO = frozenset({"false", "no", "n", "0", "0.0", "not"})
_NO_FLAG = _NO | {"none", "null", "nil", "na", "n/a", "-", "unknown", ""}


def _storable(value: str) -> str | None:
    collapsed = " ".join(unescape(value[:LONGEST_READ]).split())
    if not collapsed.isprintable():
        collapsed = " ".join(collapsed.replace("\x00", "").split())
        collapsed = LONE_SURROGATES.sub("\ufffd", collapsed)
    return collapsed or None


_short = lru_cache(maxsize=4096)(_storable)
"""Names, words and prices are the same in one delivery after another."""


def _digits(value: Any) -> str | None:
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


_TOGETHER = (("numerator", "/", "denominator"), ("firstname", " ", "lastname"), ("value", " ", "unit"))
"""Fields of an object that are one text: {"value": 1200, "unit": "m"}."""


def _spoken(fields: Fields) -> str | None:
    for first, between, last in _TOGETHER:
        if first in fields and last in fields:
            return f"{_plain_text(fields[first])}{between}{_plain_text(fields[last])}"
    names = (_plain_text(said) for name, said in fields.items() if name.endswith("name"))
    return first_of([fields], "text.spoken", _plain_text) or next(filter(None, names), None)


def _plain_text(value: Any) -> str | None:
    return None if isinstance(value, dict) else text(value)

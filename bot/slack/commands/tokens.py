"""The words of a command: quotes of every kind keep what they enclose together, and spaces of every kind part words."""

import re
import unicodedata

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»\u2039\u203a\u301d\u301e\u301f\uff02", '"'))
_TOKEN = re.compile(r'[^\s"]*"[^"]*"?|[^\s"]+')
_PAGE = re.compile("page:([0-9]{1,3})", re.IGNORECASE | re.ASCII)
_UNSEEN = frozenset({"Cf", "Cc", "Cs"})
"""Unicode categories that nobody types on purpose: marks of direction, zero-width characters, controls, surrogates."""


def split(text: str) -> list[str]:
    """The words of a text, quotes removed: `GB course:"Ascot Heath"` is `GB` and `course:Ascot Heath`."""
    words = (word.replace('"', "") for word in _TOKEN.findall(_visible(text).translate(_QUOTES)))
    return [" ".join(word.split()) for word in words if word.strip()]


def read_page(word: str) -> int | None:
    """The page that a button's command asks for ("page:2"); None for any other word."""
    found = _PAGE.fullmatch(word)
    return max(1, int(found[1])) if found else None


def _visible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c.isspace() or unicodedata.category(c) not in _UNSEEN)

"""The words of a command: quotes of every kind keep what they enclose together, and spaces of every kind part words."""

import re
import unicodedata
from collections.abc import Iterable

SINGLE_QUOTES = "'‘’‚‛`´"  # noqa: RUF001  as phones and habits type them
"""Quotes only at the ends of what they enclose, or of a word: within it they are apostrophes."""

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»\u2039\u203a\u301d\u301e\u301f\uff02", '"'))
_TOKEN = re.compile(
    rf"""(?P<name>[^\s"{SINGLE_QUOTES}:]*:)?[{SINGLE_QUOTES}](?P<single>[^"]{{1,100}}?)[{SINGLE_QUOTES}](?=\s|$)"""
    r"""|[^\s"]*"[^"]*"?|[^\s"]+"""
)
_NAMED = re.compile("[-−–]?course:|region:|date:", re.IGNORECASE)  # noqa: RUF001  as phones type a minus
_PAGE = re.compile("page:([0-9]{1,3})", re.IGNORECASE | re.ASCII)
_UNSEEN = frozenset({"Cf", "Cc", "Cs"})
"""Unicode categories that nobody types on purpose: marks of direction, zero-width characters, controls, surrogates."""


def split(text: str) -> list[str]:
    """The words of a text, quotes removed: `GB course:"Ascot Heath"` is `GB` and `course:Ascot Heath`."""
    words = (_unquoted(token) for token in _TOKEN.finditer(_visible(text).translate(_QUOTES)))
    return [" ".join(word.split()) for word in words if word.strip()]


def join(words: Iterable[str]) -> str:
    """A text of which `split` makes these words, as long as they have no double quotes in them."""
    return " ".join(map(_quoted, words))


def parted(word: str) -> tuple[str, str]:
    """A word's name with its colon, where it has one that words are called by, and the rest: "course:", "Ascot"."""
    found = _NAMED.match(word)
    name = found[0] if found else ""
    return name, word[len(name) :].strip()


def read_page(word: str) -> int | None:
    """The page that a button's command asks for ("page:2"); None for any other word."""
    found = _PAGE.fullmatch(word)
    return max(1, int(found[1])) if found else None


def _unquoted(token: "re.Match[str]") -> str:
    return (token["name"] or "") + token["single"] if token["single"] else token[0].replace('"', "")


def _quoted(word: str) -> str:
    if not any(character.isspace() or character in SINGLE_QUOTES for character in word):
        return word
    name, colon, value = word.partition(":")
    return f'{name}:"{value}"' if colon and name.strip(SINGLE_QUOTES) == name and " " not in name else f'"{word}"'


def _visible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c.isspace() or unicodedata.category(c) not in _UNSEEN)

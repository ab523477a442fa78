"""The words of a command: quotes of every kind keep what they enclose together, and spaces of every kind part words."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from bot.slack.messages.conditions.table import TYPED_AS

SINGLE_QUOTES = "'‘’‚‛`´"  # noqa: RUF001  as phones and habits type them
"""Quotes only at the ends of what they enclose, or of a word: within it they are apostrophes."""

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»\u2039\u203a\u301d\u301e\u301f\uff02", '"'))
_TOKEN = re.compile(
    rf"""(?P<name>[^\s"{SINGLE_QUOTES}:]*:)?[{SINGLE_QUOTES}](?P<single>[^"]{{1,100}}?)[{SINGLE_QUOTES}](?=\s|$)"""
    r"""|[^\s"]*"[^"]*"?|[^\s"]+"""
)
NAMES = frozenset({*TYPED_AS, "date:"})
"""The names that stand before a word, with their colons."""

_MINUS = "[-\u2212\u2013]"
"""As phones type a minus."""

_NAMED = re.compile(f"{_MINUS}course:|{'|'.join(map(re.escape, sorted(NAMES)))}", re.IGNORECASE)
_PAGE = re.compile("page:([0-9]{1,3})", re.IGNORECASE | re.ASCII)
_UNSEEN = frozenset({"Cf", "Cc", "Cs"})
"""Unicode categories that nobody types on purpose: marks of direction, zero-width characters, controls, surrogates."""


class Word(NamedTuple):
    """A word as it was typed: in quotes or bare, with a comma after it or without."""

    text: str
    is_quoted: bool = False
    has_comma: bool = False


def split(text: str) -> list[str]:
    """The words of a text, quotes removed: `GB course:"Ascot Heath"` is `GB` and `course:Ascot Heath`."""
    return [text for text, _ in _tokens(text)]


def words_of(text: str) -> list[Word]:
    """The words of a text, parted by commas too, but for what is in quotes or named: `GB,IRE` is two words."""
    found: list[Word] = []
    for typed, is_quoted in _tokens(text):
        whole = typed.rstrip(",")
        if is_quoted or parted(typed)[0]:
            found.append(Word(whole or typed, is_quoted, whole != typed))
            continue
        parts = typed.split(",")
        if not parts[0] and found:
            found[-1] = found[-1]._replace(has_comma=True)
        found += [Word(part, has_comma=number < len(parts)) for number, part in enumerate(parts, 1) if part]
    return found


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


def _tokens(text: str) -> list[tuple[str, bool]]:
    """The words of a text, each with whether it was in quotes."""
    found = ((_unquoted(token), _is_quoted(token)) for token in _TOKEN.finditer(_visible(text).translate(_QUOTES)))
    return [(" ".join(word.split()), is_quoted) for word, is_quoted in found if word.strip()]


def _is_quoted(token: "re.Match[str]") -> bool:
    return bool(token["single"]) or '"' in token[0]


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

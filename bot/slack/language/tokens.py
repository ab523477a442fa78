"""The words of a command. Quotes keep words together, and spaces part words.

The text is tidy (bot.events.typed_text).
"""

import re
from typing import NamedTuple

from bot.channels.conditions.table import TYPED_AS
from bot.events.days import MONTHS

_TOKEN = re.compile(
    r"""(?P<name>[^\s"':]*:)?'(?P<single>[^"]{1,100}?)'(?=\s|$)"""
    r"""|[^\s"]*"[^"]*"?|[^\s"]+"""
)
_PARTED = re.compile("""["',:]""")
_NAMED = re.compile("|".join(map(re.escape, TYPED_AS)), re.IGNORECASE)
_MONTH = "|".join(month[:3] for month in MONTHS)
_PAGE = re.compile(rf"(?<!\S)page[: ]([0-9]{{1,3}})(?!\S| (?:{_MONTH}))", re.IGNORECASE | re.ASCII)


class Word(NamedTuple):
    text: str
    is_quoted: bool = False
    has_comma: bool = False


def words_of(text: str) -> list[Word]:
    """The words of a text; a comma parts them: `GB,IRE` is two words, and `course:York,Bath` two courses."""
    if not _PARTED.search(text):
        return list(map(Word, text.split()))
    found: list[Word] = []
    for token in _TOKEN.finditer(text):
        single = token["single"]
        typed = " ".join((f"{token['name'] or ''}{single}" if single else token[0].replace('"', "")).split())
        if single or '"' in token[0]:
            whole = typed.rstrip(", ")
            found += [Word(whole or typed, is_quoted=True, has_comma=whole != typed)] if typed else []
            continue
        name, value = parted(typed)
        parts = value.split(",")
        if not typed.strip(",") or (not parts[0] and not name and found):
            found[-1:] = [one._replace(has_comma=True) for one in found[-1:]]
        each = [f"{name}{part}" for part in parts if part] or ([name] if name else [])
        found += [Word(one, has_comma=number < len(each) or not parts[-1]) for number, one in enumerate(each, 1)]
    return found


def parted(word: str) -> tuple[str, str]:
    """A word's name with its colon, or "", and the rest: "course:" and "Ascot"."""
    found = _NAMED.match(word) if ":" in word else None
    name = found[0] if found else ""
    return name, word[len(name) :].strip()


def without_page(text: str) -> tuple[str, int]:
    """The text without the page, and the page: "page:2" or "page 2"."""
    pages = _PAGE.findall(text)
    return " ".join(_PAGE.sub("", text).split()), max(1, int(pages[-1])) if pages else 1


def read_list_words(text: str) -> tuple[str, int]:
    """The words of a command that lists something, and the page."""
    words, page = without_page(text)
    return " ".join(one.text for one in words_of(words)), page

"""Text as people type and copy text, in plain characters: cleaned once, where the text comes in."""

import re
import unicodedata
from collections.abc import Iterable
from string import ascii_uppercase

_SPELLED = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»‹›″〝〞〟", '"'),  # noqa: RUF001  as phones and habits type them
        **dict.fromkeys("‘’‚‛`´ʹʻʼ′", "'"),  # noqa: RUF001
        "\N{RATIO}": ":",
        "\N{MINUS SIGN}": "-",
        "\N{BRAILLE PATTERN BLANK}": " ",
        # Marks and letters by Unicode, invisible in every font: fillers, joiners, variation selectors.
        **dict.fromkeys((0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0)),
        **dict.fromkeys((*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))),
    }
)
"""A colon copied from an answer is a ratio, because `:18:` would be an emoji."""

SINGLE_QUOTE = "'"
"""A quote at the ends of a word, and an apostrophe within a word."""

_PARTING = re.compile(r"[\s',]")

_UNSEEN = frozenset({"Cf", "Cc", "Cs", "Co"})
"""Unicode categories: zero width, soft hyphen, direction marks, controls, surrogates, private use."""


def tidy(text: str) -> str:
    """The text with plain spaces, dashes and quotes, and without invisible characters."""
    if text.isascii() and text.isprintable() and "`" not in text:
        return text
    # Once before NFKC, which takes an acute accent for a blank with a mark, and once for the characters of NFKC.
    return _plain(unicodedata.normalize("NFKC", _plain(text)))


# Slack names some flags by the code alone. Other short names are no flags: ":ok:".
_FLAG = re.compile(":(?:flag-[a-z]{2}|cn|de|es|fr|gb|it|jp|kr|ru|uk|us):|[\U0001f1e6-\U0001f1ff]{2}")
_LETTERS_OF_FLAGS = dict(enumerate(ascii_uppercase, 0x1F1E6))


def with_flags_in_words(text: str) -> str:
    """The text with "region:IE" for the flag of Ireland. Emoji other than flags have no meaning."""
    return _FLAG.sub(lambda flag: f" region:{flag[0].strip(':')[-2:].translate(_LETTERS_OF_FLAGS).upper()} ", text)


def folded(name: str) -> str:
    """A name for comparing: published names may have curly quotes and long dashes too."""
    return tidy(name).casefold()


def typed_line(words: Iterable[str | None]) -> str:
    """The words as a command line, each in quotes where a reader would part the word."""
    return " ".join(_quoted(word.replace('"', "")) for word in words if word)


def _quoted(word: str) -> str:
    if not _PARTING.search(word):
        return word
    name, colon, value = word.partition(":")
    return f'{name}:"{value}"' if colon and name.strip(SINGLE_QUOTE) == name and " " not in name else f'"{word}"'


def _plain(text: str) -> str:
    return "".join(map(_plain_character, text.translate(_SPELLED)))


def _plain_character(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    return "" if category in _UNSEEN else character

"""Tables of words and sentences: an .ini file with a row for each meaning."""

import re
from collections.abc import Mapping, Sequence
from configparser import ConfigParser, ExtendedInterpolation
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter


@cache
def sentence_rows(package: str, name: str, *, interpolated: bool = False) -> dict[str, dict[str, str]]:
    """By section: each name in small letters, with its text on one line.

    `interpolated`: "${section:name}" stands for another text.
    """
    table = ConfigParser(delimiters=("=",), interpolation=ExtendedInterpolation() if interpolated else None)
    table.read_string(files(package).joinpath(name).read_text(encoding="utf-8"))
    return {
        section: {name: text.replace("\n", " ") for name, text in table[section].items()}
        for section in table.sections()
    }


def word_rows(package: str, name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """By section: each meaning in small letters, with the words."""
    return {
        section: {meaning: tuple(words.split(", ")) for meaning, words in row.items()}
        for section, row in sentence_rows(package, name).items()
    }


def phrases_by_role(roles: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Each role with a pattern of its phrases, phrases of more words first. A role comes again for shorter phrases."""
    each = [(-phrase.count(" "), role, phrase) for role, phrases in roles.items() for phrase in phrases]
    groups = groupby(sorted(each, key=itemgetter(0)), key=itemgetter(0, 1))
    return [(role, re.sub(r"\((?!\?)", "(?:", "|".join(phrase for *_, phrase in group))) for (_, role), group in groups]

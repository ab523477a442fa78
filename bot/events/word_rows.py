"""Tables of words: an .ini file with a row for each meaning."""

import re
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from importlib.resources import files
from itertools import groupby
from operator import itemgetter


def word_rows(package: str, name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """By section: each meaning in small letters, with the words."""
    table = ConfigParser(delimiters=("=",), interpolation=None)
    table.read_string(files(package).joinpath(name).read_text(encoding="utf-8"))
    return {
        section: {meaning: tuple(words.replace("\n", " ").split(", ")) for meaning, words in table[section].items()}
        for section in table.sections()
    }


def phrases_by_role(roles: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Each role with a pattern of its phrases, phrases of more words first. A role comes again for shorter phrases."""
    each = [(-phrase.count(" "), role, phrase) for role, phrases in roles.items() for phrase in phrases]
    groups = groupby(sorted(each, key=itemgetter(0)), key=itemgetter(0, 1))
    return [(role, re.sub(r"\((?!\?)", "(?:", "|".join(phrase for *_, phrase in group))) for (_, role), group in groups]

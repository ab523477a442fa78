"""Tables of words: an .ini file with a row for each meaning."""

from configparser import ConfigParser
from importlib.resources import files


def word_rows(package: str, name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """By section: each meaning in small letters, with the words."""
    table = ConfigParser(delimiters=("=",), interpolation=None)
    table.read_string(files(package).joinpath(name).read_text(encoding="utf-8"))
    return {
        section: {meaning: tuple(words.replace("\n", " ").split(", ")) for meaning, words in table[section].items()}
        for section in table.sections()
    }

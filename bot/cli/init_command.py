"""`racing-bot init`: writes `.env`, with a comment for each line and a key made for secrets at rest."""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from cryptography.fernet import Fernet
from dotenv import dotenv_values
from dotenv.parser import parse_stream

from bot.errors import SettingsError
from bot.events.word_rows import sentence_rows
from bot.settings import Settings, load_settings, read_env_file, wrong_lines

PLACEHOLDER = re.compile(
    r"[<>…]|\.\.\.|\b\w[\w-]*\.example\.(?:com|org|net)\b|C0123456789|U0123ABCD|\bchange[-_ ]?me\b|\byour[-_ ]",
    re.IGNORECASE,
)
"""The README's own examples, and the words of other samples."""

FROM_ENVIRONMENT = "From the environment."

READ_BACK = "can't stand in a .env: take line breaks, quotes, # and ${ out of the value"


class Asked(NamedTuple):
    """A setting whose value a person gives. The value is not asked for where the setting `instead` has a value."""

    name: str
    comment: str
    is_secret: bool
    is_needed: bool
    instead: str | None


ASKED = tuple(
    Asked(name, row["comment"], "secret" in row, "optional" not in row, row.get("instead"))
    for name, row in sentence_rows("bot.cli", "init.ini").items()
)
MADE = {
    "ENCRYPTION_KEYS": (
        "Encrypts stored secrets. Keep a copy: without the key stored secrets are lost.",
        Fernet.generate_key,
    ),
    "POSTGRES_PASSWORD": ("For compose.yaml alone: PostgreSQL's password.", lambda: token_hex(16).encode()),
}


def problem_with(name: str, value: str) -> str | None:
    """The problem of one value, by the settings' own checks."""
    if found := PLACEHOLDER.search(value):
        return f"{name} still has a placeholder, {found[0]}: give your own value."
    if read(_line(name, value)).get(name) != value:
        return f"{name} {READ_BACK}."
    try:
        load_settings(None, **{name.lower(): value})
    except SettingsError as error:
        return next((one for one in error.problems if re.match(rf"{name}\b", one)), None)
    return None


def ask_all(ask: Callable[[Asked, str], str], told: Callable[[str], None], kept: Mapping[str, str]) -> dict[str, str]:
    """The values by name. `ask` gets the kept value, and is called again after each problem."""
    given: dict[str, str] = {}
    for asked in ASKED:
        if asked.instead in given and asked.name not in kept:
            continue
        while True:
            value = ask(asked, kept.get(asked.name, "")).strip()
            problem = problem_with(asked.name, value) if value else asked.is_needed and f"{asked.name} is needed."
            if not problem:
                break
            told(problem)
        if value:
            given[asked.name] = value
    return given


def taken_from(environment: Mapping[str, str], kept: Mapping[str, str]) -> dict[str, str]:
    """All settings of the environment, else the kept values. Raises SettingsError with every problem."""
    others = [name for name in map(str.upper, Settings.model_fields) if name not in MADE and environment.get(name)]
    names = dict.fromkeys([*(one.name for one in ASKED), *others])
    found = {name: environment.get(name, "").strip() or kept.get(name, "") for name in names}
    given = {name: value for name, value in found.items() if value}
    problems = [problem for name, value in given.items() if (problem := problem_with(name, value))]
    problems += [
        f"{' or '.join(filter(None, (one.instead, one.name)))} is missing. "
        + " ".join(each.comment for each in ASKED if each.name in {one.instead, one.name})
        for one in ASKED
        if one.is_needed and one.name not in given and one.instead not in given
    ]
    if problems:
        raise SettingsError(problems)
    return given


def read_before(path: Path) -> str:
    """The earlier file. Raises SettingsError for a file that `write` would not keep whole."""
    before = read_env_file(path)
    if problems := wrong_lines(parse_stream(StringIO(before)), path):
        raise SettingsError(problems)
    return before


def write(path: Path, given: Mapping[str, str], kept: Mapping[str, str], before: str) -> None:
    """Write the file, readable by your own user alone. Keys of the text before stay, and its other lines as typed.

    Raises SettingsError.
    """
    made = {name: kept.get(name) or make().decode() for name, (_, make) in MADE.items()}
    changed = [name for name, value in made.items() if read(_line(name, value)) != {name: value}]
    if changed:
        raise SettingsError([f"{name} {READ_BACK}." for name in changed])
    comments = {one.name: one.comment for one in ASKED}
    lines = [f"# {comments.get(name, FROM_ENVIRONMENT)}\n{_line(name, value)}" for name, value in given.items()]
    lines += [f"# {comment}\n{_line(name, made[name])}" for name, (comment, _) in MADE.items()]
    ours = comments.keys() | MADE.keys() | given.keys()
    others = [one for one in parse_stream(StringIO(before)) if one.value is not None and one.key not in ours]
    lines += [f"# Kept from the file before.\n{one.original.string.strip()}\n" for one in others]
    load_settings(
        None, **{name.lower(): value for name, value in {**given, **made}.items() if name != "POSTGRES_PASSWORD"}
    )
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write("# The settings of racing-bot; docs/settings.md has all of them.\n\n" + "\n".join(lines))
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise SettingsError([f"The file {path} can't be written: {error.strerror}."]) from error


def read(text: str) -> dict[str, str]:
    """The values of the text of a `.env`."""
    return {name: value for name, value in dotenv_values(stream=StringIO(text)).items() if value}


def _line(name: str, value: str) -> str:
    return f"{name}={value}\n"

"""The pages of the documentation and the modules of the bot, as tests compare them."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

from bot.settings import Settings

ROOT = Path(__file__).parents[2]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def rows(path, heading):
    """The rows of the first table below a heading, each a list of cells."""
    below = re.split(rf"^#+ {re.escape(heading)}$", text(path), maxsplit=1, flags=re.MULTILINE)[1]
    table = re.search(r"(?:^ *\|.*\n)+", below, flags=re.MULTILINE)
    assert table, f"{path} has no table below {heading!r}"
    lines = table[0].splitlines()[2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def code_in(cell):
    return re.findall(r"`([^`]+)`", cell)


@cache
def production():
    return tuple((ROOT / "bot").rglob("*.py"))


@cache
def source(path):
    """The text of a module, and the module parsed."""
    code = path.read_text(encoding="utf-8")
    return code, ast.parse(code)


@cache
def nodes(path):
    return tuple(ast.walk(source(path)[1]))


def settings(**changes: Any) -> Settings:
    """Made-up settings of a bot, without a file of the environment."""
    made: dict[str, Any] = {
        "racing_api_url": "https://api.example.com/v1",
        "racing_api_key": "key-of-a-test",
        "slack_bot_token": "xoxb-test",
        "slack_signing_secret": "secret-of-a-test",
    }
    return Settings(_env_file=None, **made | changes)

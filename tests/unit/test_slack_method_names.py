"""Slack's methods are named in bot/slack alone, and where the app and the doctor put the bot together."""

import ast
import re
from pathlib import Path

import pytest

from bot.outbox.messenger import Call
from bot.slack.web_client import METHOD_OF, METHODS

ROOT = Path(__file__).parents[2]
MAY_NAME = ("bot/slack/", "bot/app.py", "bot/doctor/", "bot/db/migrations/")
METHOD = re.compile(
    r"\b(apps|auth|chat|conversations|files|reactions|team|usergroups|users|views)(\.[a-z]+)+[A-Za-z]*\b"
)


def named_methods(source):
    """Slack's methods in the strings of a module, docstrings left out."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        f"{node.lineno}: {node.value}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and METHOD.search(node.value)
    ]


def test_only_slack_and_the_app_name_methods_of_slack():
    found = {}
    for path in sorted((ROOT / "bot").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(MAY_NAME) and (named := named_methods(path.read_text(encoding="utf-8"))):
            found[name] = named
    assert found == {}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_found_in_a_string(method):
    assert named_methods(f"HOLD = '{method}'")
    assert named_methods(f"hold(f'slack {method}: {{code}}')")


def test_every_call_of_the_outbox_has_a_method():
    assert set(METHOD_OF) == set(Call)
    assert set(METHOD_OF.values()) <= set(METHODS)

"""Rules of the bot's source: names, who reads the clock and opens what, and nothing at import."""

import ast
import re
import tomllib
from collections import Counter
from importlib.metadata import packages_distributions

import pytest

from bot.outbox.messenger import Call
from bot.slack.web_client import METHOD_OF, METHODS
from tests.unit.pages import ROOT, production, text

# Names

TYPE_VARIABLES = {"T", "V"}
NAME_OF_COMMAND = "NAME"


def public_names(path):
    """Classes, constants and type aliases of a module's top level."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        for target in assigned(node):
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and part.id[0].isupper())


def assigned(node):
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def test_no_two_modules_define_the_same_public_name():
    defined_in = [(name, path) for path in production() for name in {*public_names(path)} - TYPE_VARIABLES]
    assert {path.parent.name for name, path in defined_in if name == NAME_OF_COMMAND} == {"commands"}
    counted = Counter(name for name, _ in defined_in if name != NAME_OF_COMMAND)
    assert {"Settings", "EVENT_MESSAGES"} <= set(counted)
    assert [(name, path) for name, path in defined_in if counted[name] > 1] == []


def defined(path):
    module = ast.parse(text(path)).body
    functions = {node.name for node in module if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    parts = [part for node in module for target in assigned(node) for part in ast.walk(target)]
    return functions | {*public_names(ROOT / path)} | {part.id for part in parts if isinstance(part, ast.Name)}


def test_every_name_that_contributing_places_in_a_file_stands_there():
    placed = re.findall(r"`(\w+)`(?: and `(\w+)`)? of\s+`((?:bot|sandbox)/[\w/]+\.py)`", text("CONTRIBUTING.md"))
    assert len(placed) > 20
    assert [(name, path) for *names, path in placed for name in names if name and name not in defined(path)] == []


OPENERS = {"Database", "open_client", "make_web_client", "make_session"}
WIRING = ("bot/app.py", "bot/cli/", "bot/doctor/deployment.py")


def test_only_the_wiring_opens_a_database_or_a_client():
    calls = {
        (node.func.id, path.relative_to(ROOT).as_posix())
        for path in production()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPENERS
    }
    assert {opener for opener, path in calls if path == "bot/app.py"} == OPENERS - {"make_session"}  # of Ports
    assert {path for _, path in calls if not path.startswith(WIRING)} == set()


READERS_OF_THE_REAL = ("bot/clock.py", "bot/ports.py", "bot/settings.py", "bot/cli/", "bot/db/migrations/")
REAL = {"time", "random", "secrets", "uuid", "utc_now", "environ", "getenv"}
UNREAD = {("bot/outbox/live_meetings.py", "secrets")}
"""A key that need only be new, many calls below the parts that know Ports."""


def names_used(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module, *(alias.name for alias in node.names if node.module != "datetime"))
        elif isinstance(node, ast.Attribute):
            yield from [node.attr] if node.attr in {"environ", "getenv"} else []


def test_only_the_wiring_reads_the_time_chance_and_the_environment():
    found = {(path.relative_to(ROOT).as_posix(), name) for path in production() for name in names_used(path)}
    read = {(path, name) for path, name in found if name in REAL}
    assert ("bot/ports.py", "time") in read
    assert {(path, name) for path, name in read if not path.startswith(READERS_OF_THE_REAL)} == UNREAD


# Storage


def test_nothing_happens_at_import():
    """No module of the bot calls anything at its top level that opens, reads or starts something."""
    starters = {"open", "create_engine", "Database", "AsyncClient", "AsyncWebClient", "AsyncIOScheduler", "Settings"}
    for path in production():
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
                calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
                names = {getattr(called, "id", getattr(called, "attr", "")) for called in calls}
                assert not names & starters, f"{path} at line {statement.lineno}"


IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
LOADED_BY_OTHERS = {"httptools": "uvicorn's parser of HTTP", "tzdata": "data of zoneinfo"}


def test_service_depends_on_exactly_the_packages_that_it_imports():
    declared = tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]
    names = {re.split(r"[\[>=<; ]", one)[0] for one in declared}
    by_module = packages_distributions()
    modules = {match[1] for path in production() for match in IMPORT.finditer(path.read_text(encoding="utf-8"))}
    imported = {name.lower().replace("_", "-") for module in modules for name in by_module.get(module, ())}
    # pydantic pins its core.
    assert (imported | set(LOADED_BY_OTHERS)) - {"racing-bot", "pydantic-core"} == names


# No two modules of the bot share a name


BOT = ROOT / "bot"

STANDARD = {"__init__", "table", "endpoint"}


def test_no_two_modules_share_a_name():
    paths = [path for path in BOT.rglob("*.py") if "versions" not in path.parts]
    twice = {name for name, count in Counter(path.stem for path in paths).items() if count > 1}
    assert twice <= STANDARD


# Slack's methods are named in bot/slack alone, and where the app and the doctor put the bot together


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

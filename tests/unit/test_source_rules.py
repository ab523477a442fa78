"""Rules of the bot's source: names, readers of the clock, openers of databases, patterns, and nothing at import."""

import ast
import pkgutil
import re
import tomllib
from collections import Counter
from importlib import import_module
from importlib.metadata import packages_distributions

import bot.events
from bot.db.named_values import Mark
from bot.outbox.message import Call
from bot.slack.web_client import METHOD_OF, METHODS
from tests.rows import over
from tests.unit.pages import ROOT, nodes, production, source, text

TYPE_VARIABLES = {"T", "V"}
NAME_OF_COMMAND = "NAME"
MODULES_OF_ONE_NAME = {"__init__", "table", "endpoint"}


def places(found, *allowed):
    """The findings outside the allowed places. A finding is a path with something found there."""
    pairs = {(path.relative_to(ROOT).as_posix(), one) for path, one in found}
    return {pair for pair in pairs if not pair[0].startswith(allowed)}


# Names


def assigned(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def public_names(path):
    """Classes, constants and type aliases of a module's top level."""
    body = source(path)[1].body
    classes = {node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    return classes | {name for node in body for name in assigned(node) if name[0].isupper()}


def test_no_two_modules_share_a_name_or_define_the_same_public_name():
    modules = Counter(path.stem for path in production() if "versions" not in path.parts)
    assert {name for name, count in modules.items() if count > 1} <= MODULES_OF_ONE_NAME
    defined_in = [(name, path) for path in production() for name in public_names(path) - TYPE_VARIABLES]
    assert {path.parent.name for name, path in defined_in if name == NAME_OF_COMMAND} == {"commands"}
    counted = Counter(name for name, _ in defined_in if name != NAME_OF_COMMAND)
    assert {"Settings", "EVENT_MESSAGES"} <= set(counted)
    assert [(name, path) for name, path in defined_in if counted[name] > 1] == []


def test_every_stored_name_is_a_mark_and_every_mark_is_used():
    code = {path: path.read_text(encoding="utf-8") for path in production() if "versions" not in path.parts}
    used = {name for text in code.values() for name in re.findall(r"\bMark\.([A-Z_]+)", text)}
    assert used == {*Mark.__members__}
    bare = r"""named_values\.(?:get|put|text|drop)(?:, name=|\(session, (?:name=)?)f?["']"""
    assert [path for path, text in code.items() if re.search(bare, text.replace('f"{Mark.', "Mark.("))] == []


def defined(path):
    body = source(ROOT / path)[1].body
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return functions | public_names(ROOT / path) | {name for node in body for name in assigned(node)}


def test_every_name_that_contributing_places_in_a_file_stands_there():
    placed = re.findall(r"`(\w+)`(?: and `(\w+)`)? of\s+`((?:bot|sandbox)/[\w/]+\.py)`", text("CONTRIBUTING.md"))
    assert len(placed) > 15
    assert [(name, path) for *names, path in placed for name in names if name and name not in defined(path)] == []


# Openers and readers


OPENERS = {"Database", "open_client", "make_web_client", "make_session"}


def test_only_the_wiring_opens_a_database_or_a_client():
    calls = [(path, node.func) for path in production() for node in nodes(path) if isinstance(node, ast.Call)]
    opened = [(path, one.id) for path, one in calls if isinstance(one, ast.Name) and one.id in OPENERS]
    assert {opener for path, opener in opened if path == ROOT / "bot/app.py"} == OPENERS - {"make_session"}  # of Ports
    assert places(opened, "bot/app.py", "bot/cli/", "bot/doctor/deployment.py") == set()


READERS_OF_THE_REAL = (
    *("bot/clock.py", "bot/logs.py", "bot/ports.py", "bot/settings.py", "bot/cli/", "bot/db/migrations/"),
    # The receiver has wiring of its own: the imports of the bot's ports would double the memory.
    *("bot/receiver/program.py", "bot/receiver/options.py", "bot/receiver/door.py", "bot/receiver/bot_process.py"),
)
REAL = {"time", "random", "secrets", "uuid", "utc_now", "environ", "getenv"}


def names_used(path):
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module, *(alias.name for alias in node.names if node.module != "datetime"))
        elif isinstance(node, ast.Attribute):
            yield from [node.attr] if node.attr in {"environ", "getenv"} else []


def test_only_the_wiring_reads_the_time_chance_and_the_environment():
    read = [(path, name) for path in production() for name in names_used(path) if name in REAL]
    assert (ROOT / "bot/ports.py", "time") in read
    assert places(read, *READERS_OF_THE_REAL) == set()


STARTERS = {"open", "create_engine", "Database", "AsyncClient", "AsyncWebClient", "AsyncIOScheduler", "Settings"}


def test_nothing_happens_at_import():
    """No module of the bot opens, reads or starts anything at the top level."""
    for path in production():
        for statement in source(path)[1].body:
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
                calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
                names = {getattr(called, "id", getattr(called, "attr", "")) for called in calls}
                assert not names & STARTERS, f"{path} at line {statement.lineno}"


def test_service_without_an_app_token_loads_no_socket_client():
    """The service imports the socket client only with a token. Only the doctor's command loads the doctor."""
    importing = {
        path.name
        for path in production()
        for statement in source(path)[1].body
        if isinstance(statement, ast.Import | ast.ImportFrom) and "socket_mode" in ast.unparse(statement)
    }
    assert importing == {"slack_checks.py", "socket_mode.py"}


IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
LOADED_BY_OTHERS = {"httptools": "uvicorn's parser of HTTP", "tzdata": "data of zoneinfo"}


def test_service_depends_on_exactly_the_packages_that_it_imports():
    declared = tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]
    names = {re.split(r"[\[>=<; ]", one)[0] for one in declared}
    by_module = packages_distributions()
    modules = {match[1] for path in production() for match in IMPORT.finditer(source(path)[0])}
    imported = {name.lower().replace("_", "-") for module in modules for name in by_module.get(module, ())}
    # pydantic pins its core.
    assert (imported | set(LOADED_BY_OTHERS)) - {"racing-bot", "pydantic-core"} == names


# Slack's methods


METHOD = re.compile(
    r"\b(apps|auth|chat|conversations|files|reactions|team|usergroups|users|views)(\.[a-z]+)+[A-Za-z]*\b"
)


def named_methods(parsed):
    """Strings of a module with a method of Slack's, docstrings left out."""
    prose = {id(node.value) for node in parsed if isinstance(node, ast.Expr)}
    strings = (node for node in parsed if isinstance(node, ast.Constant) and id(node) not in prose)
    return [f"{one.lineno}: {one.value}" for one in strings if isinstance(one.value, str) and METHOD.search(one.value)]


def test_only_slack_the_app_and_the_doctor_name_methods_of_slack():
    found = [(path, named) for path in production() for named in named_methods(nodes(path))]
    assert places(found, "bot/slack/", "bot/app.py", "bot/doctor/", "bot/db/migrations/") == set()
    for method in METHODS:
        for code in (f"HOLD = '{method}'", f"hold(f'slack {method}: {{code}}')"):
            assert named_methods(tuple(ast.walk(ast.parse(code)))), code


def test_every_call_of_the_outbox_has_a_method():
    assert set(METHOD_OF) == set(Call)
    assert set(METHOD_OF.values()) <= set(METHODS)


# No pattern takes exponential time: a stranger's text would hold the bot up


PARSER = import_module("re._parser")
ENDLESS = {"MAX_REPEAT", "MIN_REPEAT"}


def within(item):
    """The sequences within an item of a parsed pattern."""
    name, told = str(item[0]), item[1]
    if name == "BRANCH":
        return told[1]
    return [one for one in (told if isinstance(told, tuple) else [told]) if isinstance(one, PARSER.SubPattern)]


def is_endless(item):
    return str(item[0]) in ENDLESS and item[1][1] == PARSER.MAXREPEAT


def may_be_one_repeat(sequence):
    """True for "(a+)" and "x?a+": all else may be empty."""
    needed = [item for item in sequence if PARSER.SubPattern(sequence.state, [item]).getwidth()[0]]
    is_repeat = len(needed) == 1 and is_endless(needed[0])
    return is_repeat or (len(needed) == 1 and any(map(may_be_one_repeat, within(needed[0]))))


def is_exponential(sequence):
    """True if a repeat may repeat one repeat alone, which splits a text in all ways: "(x?[0-9]+y?)+"."""
    return any(
        (is_endless(item) and any(map(may_be_one_repeat, within(item)))) or any(map(is_exponential, within(item)))
        for item in sequence
    )


@over(
    ("pattern", "is_slow"),
    [("(?:第?[0-9]+場?)+x", True), ("(?:a|(b+))*x", True), ("(?:第?[0-9]++場?)+x", False), (r"(?:\w+ )+x", False)],
)
def test_repeat_of_a_lone_repeat_is_exponential(pattern, is_slow):
    assert is_exponential(PARSER.parse(pattern)) == is_slow


def test_no_pattern_of_the_reading_of_events_is_exponential():
    modules = [import_module(one.name) for one in pkgutil.walk_packages(bot.events.__path__, "bot.events.")]
    found = [value for module in modules for value in vars(module).values()]
    found += [one for value in found if isinstance(value, dict) for one in value.values()]
    patterns = {one for one in found if isinstance(one, re.Pattern)}
    assert len(patterns) > 50
    assert [one.pattern for one in patterns if is_exponential(PARSER.parse(one.pattern))] == []

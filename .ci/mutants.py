"""Makes small changes (mutants) in the riskiest files, one at a time, and names each that no near test notices.

A forked process imports the changed module, so nothing on disk changes. Tests run on SQLite alone. Fails where more
mutants survive than `TABLE` allows. Usage: uv run .ci/mutants.py [part of a path]...
"""

import ast
import importlib
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import Phase, settings

UNIT, PIPELINE = "tests/unit/", "tests/integration/pipeline/test_"
CLIENT = f"{UNIT}racedata/test_circuit_breakers.py {UNIT}racedata/test_client_calls.py"
BUCKETS = f"{UNIT}outbox/test_resolver.py {PIPELINE}pace.py {PIPELINE}sent_at_once.py {PIPELINE}round_trips.py"
ANSWERS = f"{UNIT}outbox/test_claim_sender.py {PIPELINE}answers_to_messages.py {PIPELINE}answers_to_edits.py"
TAKEN = f"{PIPELINE}admin_fallback.py::test_refusal_of_direct_messages_ends_with_a_post_that_is_taken"
TRACED = f"{PIPELINE}ledger.py::test_every_version_of_every_event_of_a_race_is_traced"
OVERRAN = f"{PIPELINE}round_trips.py::test_message_whose_rendering_overran_is_next_sent_in_its_plain_form"

TABLE: dict[str, tuple[int | None, str]] = {
    "bot/channels/filters.py": (1, f"{UNIT}channels/test_filters.py {UNIT}commands/test_filter_kinds.py"),
    "bot/deliveries/signature.py": (2, "tests/integration/deliveries/test_door.py"),
    "bot/desk/decide.py": (6, f"{UNIT}desk/test_decide.py"),
    "bot/events/race_state.py": (0, f"{UNIT}events/test_days_and_states.py"),
    "bot/fanout/plan.py": (None, f"{PIPELINE}meetings.py {PIPELINE}filters.py {PIPELINE}quiet_hours.py"),
    "bot/operations/overdue.py": (0, f"{UNIT}operations/test_failed_records.py"),
    "bot/outbox/claim_outcomes.py": (
        None,
        f"{ANSWERS} {PIPELINE}dead_letters.py {PIPELINE}reopening.py {TAKEN} {TRACED} {OVERRAN}",
    ),
    "bot/outbox/claim_sender.py": (3, f"{UNIT}outbox/test_claim_sender.py {PIPELINE}answers_to_edits.py"),
    "bot/outbox/pace.py": (8, BUCKETS),
    "bot/outbox/resolve.py": (13, f"{UNIT}outbox/test_resolver.py {UNIT}outbox/test_claim_sender.py"),
    "bot/racedata/client/circuit_breakers.py": (17, f"{UNIT}racedata/test_pace.py {CLIENT}"),
    "bot/racedata/month_quota.py": (4, f"{UNIT}racedata/test_quota_use.py {UNIT}racedata/test_quota_book.py"),
}
"""File → how many mutants may survive, because they change nothing that counts; and the nearest tests, in order.

None: nobody has judged the survivors yet. They are named, and fail nothing.
"""

AT_ONCE = 2

IMPORTED = (
    *("aiohttp", "alembic", "certifi", "httpx", "psycopg", "slack_bolt", "sqlmodel", "uvicorn"),
    *("_hypothesis_pytestplugin", "anyio.pytest_plugin", "pytest_asyncio.plugin", "pytest_timeout", "xdist.plugin"),
    *("hypothesis.strategies", "respx", "unittest.mock", "xml.etree.ElementTree"),
)
"""Once, before the forks: a quarter of the time."""

_PAIRS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.In: ast.NotIn}
_PAIRS |= {ast.Add: ast.Sub, ast.Mult: ast.Div, ast.BitOr: ast.BitAnd}
OPERATORS = _PAIRS | {second: first for first, second in _PAIRS.items()}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
DROPPED = (ast.AugAssign, ast.Break, ast.Continue, ast.Delete, ast.Expr, ast.For, ast.If, ast.Raise)


def others(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901  the list of all changes
    """What a node may be changed into."""
    match node:
        case ast.Compare(ops=[op]):
            yield ast.Compare(node.left, [OPERATORS[type(op)]()], node.comparators)
        case ast.BoolOp(values=values):
            for dropped in values:
                rest = [value for value in values if value is not dropped]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield ast.BinOp(node.left, OPERATORS[type(op)](), node.right)
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield ast.Call(ast.Name(FUNCTIONS[name], ast.Load()), node.args, node.keywords)
        case ast.Call(func=ast.Name(id="reversed"), args=[same]) | ast.Call(func=ast.Attribute(same, "desc")):
            yield same
        case ast.If():
            yield ast.If(ast.Constant(value=True), node.body, node.orelse)
    if isinstance(node, DROPPED) or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
        yield ast.Pass()


def mutants(parent: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Line and words of each, and the change of the tree."""
    for field, value in ast.iter_fields(parent):
        many = value if isinstance(value, list) else [value]
        for index, node in enumerate(many):
            if field in {"annotation", "returns", "decorator_list"} or not isinstance(node, ast.AST) or _is_words(node):
                continue
            put = partial(many.__setitem__, index) if many is value else partial(setattr, parent, field)
            for other in others(node):
                ast.fix_missing_locations(ast.copy_location(other, node))
                yield f"{getattr(node, 'lineno', 0)}: {_short(node)} → {_short(other)}", partial(put, other)
            yield from mutants(node)


def _is_words(node: ast.AST) -> bool:
    """A docstring, or a line of the log."""
    return isinstance(node, ast.Expr) and (isinstance(node.value, ast.Constant) or _short(node).startswith("log."))


def _short(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:80]


class Quick:
    """No PostgreSQL, and no smaller example than the first that fails."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [one for one in items if "postgres_server" not in getattr(one, "fixturenames", ())]

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        suite = settings.get_profile("suite")
        settings.register_profile("mutants", suite, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")


def begin(file: str, tree: ast.Module, tests: str, cpu_s: int, change: Callable[[], None] = lambda: None) -> int:
    """The process that runs the tests with the changed file."""
    if child := os.fork():
        return child
    change()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    usual, module = SourceFileLoader.get_code, _module(file)

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return compile(tree, file, "exec") if name == module else usual(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    options = ["-xq", "-n0", "--tb=no", "-p", "no:cacheprovider", "-k", "not postgresql"]
    arguments = [*options, "-W", "ignore:Module already imported", *tests.split()]
    os._exit(pytest.main(arguments, plugins=[Quick()]))


def survivors(file: str, tests: str) -> list[str]:
    tree = ast.parse(Path(file).read_text())
    import_the_rest(file)
    _, status, used = os.wait4(begin(file, tree, tests, 600), 0)
    if status:
        sys.exit(f"{file}: the tests fail without a change")
    # For what never ends.
    cpu_s = 10 + 3 * round(used.ru_utime + used.ru_stime)
    waiting = list(mutants(tree))
    count, running, passed = len(waiting), dict[int, str](), list[str]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            words, change = waiting.pop(0)
            running[begin(file, tree, tests, cpu_s, change)] = words
        child, status = os.wait()
        name = running.pop(child)
        if status == 0:
            passed.append(name)
            print(f"{file}:{name}", flush=True)
    print(f"{file}: {count - len(passed)} of {count} killed", flush=True)
    return passed


def import_the_rest(file: str) -> None:
    """All modules that do without the file, whose import fails for now. The tests' clock is set before."""
    importlib.import_module("tests.clock")
    sys.modules[_module(file)] = None  # type: ignore[assignment]
    for other in [*Path("bot").rglob("*.py"), *Path("sandbox").rglob("*.py")]:
        if "migrations" not in other.parts:
            with suppress(ModuleNotFoundError):
                importlib.import_module(_module(str(other)))
    del sys.modules[_module(file)]


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def too_many(file: str) -> bool:
    """In a process of its own: a file whose module is imported already stays unchanged."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] != 0
    allowed, tests = TABLE[file]
    found = survivors(file, tests)
    os._exit(allowed is not None and len(found) > allowed)


def main(parts: list[str]) -> int:
    sys.path.insert(0, ".")
    for name in IMPORTED:
        importlib.import_module(name)
    chosen = [file for file in TABLE if not parts or any(part in file for part in parts)]
    return sum(map(too_many, chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

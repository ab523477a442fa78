"""Fails when only half of an addition was done: what stands in two places is compared. See CONTRIBUTING.md."""

import ast
import re
import tomllib
from collections import Counter
from dataclasses import fields
from datetime import date
from enum import Enum
from importlib.metadata import packages_distributions
from inspect import getmembers, isclass
from pathlib import Path
from typing import Any, get_args

import pytest
from annotated_types import Ge
from pydantic import SecretStr
from starlette.routing import Route
from typer.core import TyperGroup
from typer.main import get_command

from bot import errors as our_errors
from bot.app import Service
from bot.cli.main import Event
from bot.cli.main import app as command_line
from bot.db.engine import table_of
from bot.db.tables import WHERE, InboxDelivery
from bot.deliveries.payload import read_payload
from bot.doctor.slack_checks import LOSS_WITHOUT_SCOPE
from bot.doctor.table import CHECKS
from bot.events.event import TOPIC_OF, EventKind, Topic
from bot.events.kinds import ABANDONMENTS, DECLARATIONS, ToldField
from bot.events.races import Race
from bot.events.reading.fields import NAMES_OF as NAMES_OF_FACTS
from bot.manifest import read_manifest
from bot.operations.jobs.table import JOBS
from bot.racedata.client import service_errors
from bot.racedata.client.envelope import BY_STATUS
from bot.racedata.plans import PLANS
from bot.settings import Settings
from bot.slack import api_errors
from bot.slack.body_shapes import EVENT_SHAPES
from bot.slack.commands.filter_words_typed import TOPIC_WORDS
from bot.slack.commands.table import RACING_COMMANDS, SLASH_COMMANDS, help_message
from bot.slack.listeners import direct_messages
from bot.slack.messages import EVENT_MESSAGES
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.conditions.topic_view import TOPIC_LABELS
from sandbox.demo_stage import COMMANDS
from sandbox.racing_service.account_endpoints import EventName
from sandbox.racing_service.racing_standin import RacingService

ROOT = Path(__file__).parents[2]
GAPS = [f"G{number}" for number in range(1, 17)]
NAMED_GAPS = re.compile(r"Spec gaps? (G\d+(?:(?:, | and )G\d+)*)")
CODES = {"unauthorized", "upgrade_required", "outside_window", "invalid_param"} | {
    *("rate_limited", "quota_exceeded", "server_error")
}
"""Interface, Errors."""

NO_EFFECT = "no effect yet"


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


def production():
    return list((ROOT / "bot").rglob("*.py"))


def settings():
    return Settings(
        _env_file=None,
        racing_api_url="https://api.example.com/v1",
        racing_api_key="key-of-a-test",
        slack_bot_token="xoxb-test",
        slack_signing_secret="secret-of-a-test",
    )


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


# Events


def test_every_event_has_declaration_message_and_row_in_the_message_rules():
    assert set(DECLARATIONS) == set(TOPIC_OF) == set(EventKind)
    assert set(EVENT_MESSAGES) == set(EventKind)
    documented = {name for row in rows("docs/messages.md", "What is said") for name in code_in(row[0])}
    assert documented == {*EventKind}


@pytest.mark.parametrize("kind", EventKind)
def test_every_declaration_of_an_event_is_whole(kind):
    declared = DECLARATIONS[kind]
    empty = [field.name for field in fields(declared) if getattr(declared, field.name) in ("", None)]
    assert set(empty) <= {"contradicts"}
    assert len({*declared.counted, ""}) == 3
    assert declared.contradicts is None or DECLARATIONS[declared.contradicts].contradicts is kind
    assert set(declared.from_book) <= set(Race.model_fields)
    assert not declared.has_placings or any(path.startswith("runner.") for path in told(declared))


@pytest.mark.parametrize("part", ["title", "counted", "contradicted"])
def test_no_two_events_share_their_words(part):
    said = [getattr(declared, part) for declared in DECLARATIONS.values()]
    assert len(set(said)) == len(said) == len(EventKind)


def told(declared):
    return [path for path, entry in declared.fields.items() if isinstance(entry, ToldField)]


def test_every_topic_has_an_event_words_a_label_and_names_of_its_time():
    assert set(TOPIC_WORDS.values()) == set(TOPIC_LABELS) == set(TOPIC_OF.values()) == set(Topic)
    assert [topic for topic in Topic if f"event.occurred_at.{topic}" not in NAMES_OF_FACTS] == []


def test_every_topic_is_typed_in_singular_and_plural_and_stands_in_the_usage():
    assert [topic for topic in Topic if {topic.value, topic.value.removesuffix("s")} - set(TOPIC_WORDS)] == []
    for name in ("subscribe", "unsubscribe"):
        usage = re.findall(r"[a-z]+", RACING_COMMANDS[name].usage)
        assert set(Topic) <= set(usage), f"the usage of {name} lacks a topic"


def test_index_of_urgent_deliveries_has_exactly_the_abandonments():
    """A further abandonment needs a migration of the index, else no statement uses the index."""
    (urgent,) = [index.info[WHERE] for index in table_of(InboxDelivery).indexes if index.name == "ix_inbox_urgent"]
    assert set(re.findall(r"'([a-z]+\.[a-z]+)'", urgent)) == set(ABANDONMENTS)


def test_every_event_is_read_from_a_payload_of_its_name():
    for kind in EventKind:
        body = f'{{"event": "{kind}", "data": {{"race": {{"race_id": "rc_1"}}}}}}'
        assert read_payload(body.encode()).kind is kind


async def test_stand_in_publishes_every_event():
    today = date(2026, 11, 20)
    async with RacingService(today) as service:
        service.subscribe("https://bot.example.com/webhooks/racing", frozenset(EventKind))
        first, second = service.racing.meetings(today)[:2]
        service.settle(first.races[0].race_id)
        service.abandon_race(first.races[1].race_id, "Frozen track")
        service.abandon_meeting(second.meeting_id, "Waterlogged")
        service.publish_racecards(service.racing.last_day)
        published = {delivery.happening.event for delivery in service.deliveries}
    assert published == {*EventKind} == set(get_args(EventName))


# Settings, commands, endpoints, scopes: code and pages


def default_of(field):
    value = field.default
    if field.is_required():
        return "needed"
    if value is None or value == ():
        return "unset"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    value = value.value if isinstance(value, Enum) else value
    value = str(value).lower() if isinstance(value, bool) else value
    return "`" + (",".join(map(str, value)) if isinstance(value, tuple) else str(value)) + "`"


def test_every_setting_is_documented_with_its_default():
    documented = {code_in(name)[0]: default for name, default, _ in rows("docs/settings.md", "Settings")}
    assert documented == {name.upper(): default_of(field) for name, field in Settings.model_fields.items()}
    assert all(field.description for field in Settings.model_fields.values())


def test_every_number_among_the_settings_has_a_least_value():
    numbers = {
        name: field.metadata
        for name, field in Settings.model_fields.items()
        if {int, float} & {field.annotation, *get_args(field.annotation)}
    }
    assert len(numbers) > 5
    assert [name for name, limits in numbers.items() if not any(isinstance(one, Ge) for one in limits)] == []


def test_page_says_of_exactly_the_unread_settings_that_they_have_no_effect_yet():
    code = "\n".join(path.read_text(encoding="utf-8") for path in production() if path.name != "settings.py")
    unread = {name.upper() for name in Settings.model_fields if not re.search(rf"\.{name}\b", code)}
    marked = {code_in(name)[0] for name, _, meaning in rows("docs/settings.md", "Settings") if NO_EFFECT in meaning}
    assert marked == unread


def test_every_command_is_documented_as_in_the_table():
    own = {name: command for name, command in SLASH_COMMANDS.items() if command}
    spelled = own | {
        f"/racing {name}": command for name, command in RACING_COMMANDS.items() if command not in own.values()
    }
    documented = {code_in(usage)[0]: summary for usage, summary in rows("docs/commands.md", "Commands")}
    assert documented == {f"{name} {one.usage}".strip(): one.summary for name, one in spelled.items()}


def test_every_command_has_two_examples_of_its_own_and_what_people_get_wrong():
    for name, command in RACING_COMMANDS.items():
        named = [line for line in command.examples if name in line.split()]
        assert len(set(named)) == len(command.examples) == 2, f"{name} has no two examples"
        assert command.mistakes.endswith("."), f"{name} does not say what people get wrong"


def test_every_command_stands_in_a_group_of_the_help_that_begins_with_an_example():
    assert [name for name, command in RACING_COMMANDS.items() if command.group is None] == []
    sections = [block["text"]["text"] for block in help_message().blocks if block["type"] == "section"]
    for group, said in zip(HelpGroup, sections, strict=False):
        first, *lines = said.split("\n")
        of_group = [name for name, command in RACING_COMMANDS.items() if command.group is group]
        assert first.startswith(f"*{group}*, for example `/racing {of_group[0]}")
        assert [re.findall(r"^• `/racing ([a-z]+)` — ", line) for line in lines] == [[name] for name in of_group]


def test_words_of_every_command_can_be_checked_before_a_line_is_offered():
    assert [name for name, command in RACING_COMMANDS.items() if command.check is None] == []


def test_demo_takes_the_registered_commands():
    assert set(COMMANDS) == set(SLASH_COMMANDS)


def test_manifest_has_exactly_the_registered_commands_with_their_hints():
    manifest = {one["command"]: one for one in read_manifest()["features"]["slash_commands"]}
    assert set(manifest) == set(SLASH_COMMANDS)
    for name, command in SLASH_COMMANDS.items():
        if command is not None:
            assert (manifest[name]["usage_hint"], manifest[name]["description"]) == (command.usage, command.summary)
    hinted = set(re.findall(r"[a-z]+", manifest["/racing"]["usage_hint"]))
    alone = {name for name in RACING_COMMANDS if f"/{name}" not in SLASH_COMMANDS}
    assert alone <= hinted, "a command of /racing is not in its usage hint"


def test_manifest_has_exactly_the_events_that_are_listened_to():
    heard = {f"{name}.im" if name == direct_messages.EVENT else name for name in EVENT_SHAPES}
    assert set(read_manifest()["settings"]["event_subscriptions"]["bot_events"]) == heard


def test_scopes_of_the_manifest_are_documented():
    scopes = read_manifest()["oauth_config"]["scopes"]
    optional = set(scopes["bot_optional"])
    documented = {code_in(scope)[0]: need for scope, need, _ in rows("docs/scopes.md", "Scopes")}
    assert documented == {scope: "optional" if scope in optional else "needed" for scope in scopes["bot"]}


def options_of(command):
    names = [name for one in command.params for name in one.opts + one.secondary_opts]
    return {name for name in names if name.startswith("--")}


def commands_of(group, before=""):
    """Every command of a group, by the words that are typed for it."""
    assert isinstance(group, TyperGroup)
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        is_group = isinstance(command, TyperGroup)
        found |= commands_of(command, f"{name} ") if is_group else {f"{before}{name}": command}
    return found


def test_every_shell_command_is_documented_with_its_options():
    typed = re.compile("racing-bot((?: [a-z]+)+)")
    table = {typed.findall(code_in(row[0])[0])[0].strip(): row for row in rows("docs/command-line.md", "Command line")}
    documented = {name: set(re.findall(r"--[a-z-]+", row[1])) for name, row in table.items()}
    commands = commands_of(get_command(command_line))
    assert documented == {name: options_of(command) for name, command in commands.items()}
    assert all(getattr(parameter, "help", None) for command in commands.values() for parameter in command.params)


def test_command_line_knows_the_events():
    assert [*Event] == [*EventKind]


def test_every_http_endpoint_is_documented():
    routes = [route for route in Service(settings()).app.routes if isinstance(route, Route)]
    served = {f"{min((route.methods or set()) - {'HEAD'})} {route.path.rstrip('/')}" for route in routes}
    assert {code_in(row[0])[0] for row in rows("docs/http.md", "HTTP")} == served


# The doctor


def codes_of_findings():
    """The codes in the calls that make findings."""
    found: set[str] = set()
    for path in (ROOT / "bot/doctor").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name() | ast.IfExp() as makes, args=[ast.Constant(value=str(code)), *_]):
                    # "commits_slow" is made by whichever of the two is chosen: `(failed if … else warning)(…)`.
                    if {"failed", "warning", "Finding"} & set(re.findall(r"\w+", ast.unparse(makes))):
                        found.add(code)
    return found


def test_every_finding_of_the_doctor_is_documented_under_a_check_of_the_table():
    documented = {
        code_in(code)[0]: "".join(code_in(check)) for code, check, _ in rows("docs/operations/README.md", "Findings")
    }
    assert set(documented) == codes_of_findings()
    assert set(documented.values()) - {""} == {check.id for check in CHECKS}


def test_every_finding_of_the_doctor_has_a_test():
    places = [*(ROOT / "tests").glob("*/doctor/test_*.py"), ROOT / "tests/acceptance/test_doctor.py"]
    tested = set(re.findall(r'"([a-z_]+)"', "".join(place.read_text(encoding="utf-8") for place in places)))
    assert codes_of_findings() <= tested


def test_doctor_says_of_each_scope_what_the_page_says():
    costs = {code_in(scope)[0]: cost for scope, _, cost in rows("docs/scopes.md", "Scopes")}
    assert set(LOSS_WITHOUT_SCOPE) == set(costs)
    assert [scope for scope, cost in LOSS_WITHOUT_SCOPE.items() if not costs[scope].startswith(cost)] == []


# Errors


def tree(module):
    """Class name → name of the class it stands below, as the module's docstring draws it."""
    drawn: dict[str, str | None] = {}
    path: list[str] = []
    for line in module.__doc__.splitlines():
        found = re.match(r"((?:│   |    )*)(├── |└── )?([A-Z][A-Za-z]+)(?: {2,}|$)", line)
        if found:
            depth = len(found[1]) // 4 + bool(found[2])
            path[depth:] = [found[3]]
            drawn[found[3]] = path[depth - 1] if depth else None
    return drawn


@pytest.mark.parametrize("module", [our_errors, service_errors])
def test_error_tree_in_the_docstring_is_the_tree_of_the_classes(module):
    defined = {
        name: one.mro()[1].__name__
        for name, one in getmembers(module, isclass)
        if issubclass(one, our_errors.RacingBotError) and one.__module__ == module.__name__
    }
    drawn = tree(module)
    assert set(defined) <= set(drawn), "a class that the tree lacks"
    assert {name: drawn[name] for name in defined if drawn[name]} == {
        name: base for name, base in defined.items() if drawn[name]
    }
    assert {name for name, below in drawn.items() if below} <= set(defined), "the tree has a class that is none"


def test_every_error_code_of_the_interface_has_a_class_of_its_own():
    assert set(service_errors.BY_CODE) == CODES
    assert len(set(service_errors.BY_CODE.values())) == len(CODES)
    assert BY_STATUS[404] is service_errors.NotFound


def test_no_error_code_of_slacks_is_in_two_sets():
    sets = [value for _, value in getmembers(api_errors) if isinstance(value, frozenset)]
    assert len(sets) >= 5
    assert sum(map(len, sets)) == len(frozenset().union(*sets))


# Documents


def test_every_spec_gap_has_a_row_whose_paths_deal_with_it():
    documented = {row[0]: row for row in rows("docs/spec-gaps.md", "What the specification does not show")}
    assert list(documented) == GAPS
    named = {
        path: set(re.findall(r"G\d+", " ".join(NAMED_GAPS.findall(path.read_text("utf-8"))))) for path in production()
    }
    assert set().union(*named.values()) <= set(GAPS), "the code names a gap that docs/spec-gaps.md lacks"
    for gap, row in documented.items():
        assert all(row), f"{gap} has an empty cell"
        where = {ROOT / path for path in code_in(row[-1])}
        assert where <= set(production()), f"{gap} points to a file that is not there"
        dealing = {path for path, gaps in named.items() if gap in gaps}
        assert not dealing or where & dealing, f"{gap} is dealt with in {sorted(map(str, dealing))}"


def test_every_job_is_documented():
    assert {code_in(row[0])[0] for row in rows("docs/design/jobs.md", "Jobs")} == {job.id for job in JOBS}


DECISIONS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/decisions").glob("*.md"))


PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path.name != "messages.md")


@pytest.mark.parametrize("path", ["CONTRIBUTING.md", "README.md", "bench/README.md", *PAGES])
def test_paths_named_in_documents_exist(path):
    named = re.findall(r"`((?:bot|docs|tests|bench|\.ci)/[\w./-]*)`", text(path))
    linked = [str(Path(path).parent / link) for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text(path))]
    # The recipes make up names of files that are yet to be written.
    invented = {"bot/slack/messages/alerts/race_delayed.py", "bot/slack/commands/jockeys.py"} | {
        "bot/channels/conditions/going_condition.py",
        "bot/slack/messages/conditions/going_view.py",
        "bot/db/migrations/versions/NNNN_what_it_does.py",
    }
    assert [one for one in [*named, *linked] if one not in invented and not (ROOT / one).exists()] == []


def test_every_decision_is_listed_and_linked():
    """A decision stands in the list under its own title, and the architecture says where the decision bears."""
    listed = re.findall(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+) \|$", text("docs/decisions/README.md"), flags=re.MULTILINE)
    records = [Path(path).name for path in DECISIONS if not path.endswith("README.md")]
    assert [name for _, name, _ in listed] == records
    for number, name, title in listed:
        assert text(f"docs/decisions/{name}").splitlines()[0] == f"# {number}. {title}"
        assert name.startswith(f"{int(number):04}-")
    assert [name for name in records if f"decisions/{name}" not in text("docs/architecture.md")] == []


def test_first_pages_are_short():
    assert len(text("docs/architecture.md").split()) <= 1_500
    assert len(text("README.md").splitlines()) <= 200


def test_checks_run_the_test_command_of_the_readme():
    (command,) = re.findall(r"^readonly TEST_COMMAND='(.+)'$", text(".ci/run"), flags=re.MULTILINE)
    assert command in text("README.md").splitlines()
    assert command.replace("uv run pytest", "uv run racing-bot demo") in text("README.md").splitlines()


def test_every_package_of_the_bot_stands_in_the_map():
    drawn = text("docs/architecture.md").split("## Map", 1)[1]
    packages = {path.parent.name for path in (ROOT / "bot").glob("*/__init__.py")}
    assert {name for name in packages if f"  {name}/" not in drawn} == set()


def test_plans_are_those_of_the_interface():
    assert set(PLANS) == {"free", "live", "archive", "complete", "analyst"}


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
LOADED_BY_OTHERS = {
    "httptools": "uvicorn's parser of HTTP",
    "tzdata": "data of zoneinfo",
}


def test_service_depends_on_exactly_the_packages_that_it_imports():
    declared = tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]
    names = {re.split(r"[\[>=<; ]", one)[0] for one in declared}
    by_module = packages_distributions()
    modules = {match[1] for path in production() for match in IMPORT.finditer(path.read_text(encoding="utf-8"))}
    imported = {name.lower().replace("_", "-") for module in modules for name in by_module.get(module, ())}
    # pydantic pins its core.
    assert (imported | set(LOADED_BY_OTHERS)) - {"racing-bot", "pydantic-core"} == names

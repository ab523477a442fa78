"""Fails when only half of an addition was done: what stands in two places is compared. See CONTRIBUTING.md."""

import ast
import importlib
import re
from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, date, datetime
from enum import Enum
from runpy import run_path
from string import Formatter
from typing import Any, get_args

from annotated_types import Ge
from pydantic import SecretStr
from starlette.routing import Route
from typer.core import TyperGroup
from typer.main import get_command

from bot.app import Service
from bot.channels.conditions.table import TOPICS
from bot.channels.filters import Abandonments, Meeting
from bot.cli import main
from bot.cli.main import app as command_line
from bot.db.engine import table_of
from bot.db.tables import WHERE, InboxDelivery
from bot.deliveries.payload import read_payload
from bot.doctor.check_run import finding_rows
from bot.doctor.slack_checks import LOSS_WITHOUT_SCOPE
from bot.doctor.table import CHECKS
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import TOPIC_OF, EventKind, Topic
from bot.events.kinds import ABANDONMENTS, DECLARATIONS, ToldField
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, Race
from bot.events.reading.fields import NAMES_OF as NAMES_OF_FACTS
from bot.events.word_rows import sentence_rows
from bot.fanout.drills import KeptDrill
from bot.manifest import read_manifest
from bot.operations import metrics
from bot.operations.drill_run import DrillReport, Stop
from bot.operations.public_url import AddressAnswer
from bot.operations.repair import outage
from bot.outbox.ledger import LedgerLine
from bot.outbox.ledger import LedgerOutcome as PostOutcome
from bot.outbox.message_store import HELD_STATE
from bot.outbox.states import UNSENT
from bot.racedata.client import service_errors
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes
from bot.racedata.month_quota import QuotaSource
from bot.settings import Settings, descriptions
from bot.slack.bolt_app import EVENTS_HEARD
from bot.slack.commands.invocation import COMMIT_S, as_typed
from bot.slack.commands.table import (
    BUTTON_COMMANDS,
    COMMAND_GROUPS,
    HELPED,
    RACING_COMMANDS,
    SLASH_COMMANDS,
    help_message,
)
from bot.slack.language.words import TOPIC_WORDS
from bot.slack.listeners.ways_in import DIRECT_MESSAGE_EVENT, UNDER_WAY_FOR
from bot.slack.messages import EVENT_MESSAGES
from bot.slack.messages.alerts import backlog_summary
from bot.slack.messages.answers import listings, pause_and_mute, races_of_day, trace_answer
from bot.slack.messages.answers.day_answer import DayQuestion, DayView
from bot.web.plain_answers import WEBHOOK_PATH
from sandbox.demo_stage import COMMANDS
from sandbox.racing_service.endpoints import EventName
from sandbox.racing_service.racing_standin import RacingService
from tests.rows import over
from tests.unit.pages import ROOT, code_in, nodes, production, rows, settings

NO_EFFECT = "no effect yet"


# Events


def test_every_event_has_declaration_message_and_row_in_the_message_rules_and_words_of_its_own():
    assert set(DECLARATIONS) == set(TOPIC_OF) == set(EVENT_MESSAGES) == set(EventKind)
    documented = {name for row in rows("docs/messages.md", "What is said") for name in code_in(row[0])}
    assert documented == {*EventKind}
    for part in ("title", "counted", "contradicted"):
        assert len({getattr(declared, part) for declared in DECLARATIONS.values()}) == len(EventKind), part


@over("kind", EventKind)
def test_every_declaration_of_an_event_is_whole(kind):
    declared = DECLARATIONS[kind]
    empty = [field.name for field in fields(declared) if getattr(declared, field.name) in ("", None)]
    assert set(empty) <= {"contradicts"}
    assert len({*declared.counted, ""}) == 3
    assert declared.contradicts is None or DECLARATIONS[declared.contradicts].contradicts is kind
    assert set(declared.from_book) <= set(Race.model_fields)
    assert not declared.has_placings or any(path.startswith("runner.") for path in told(declared))


def told(declared):
    return [path for path, entry in declared.fields.items() if isinstance(entry, ToldField)]


def test_every_topic_has_an_event_words_a_label_names_of_its_time_and_a_place_in_the_usage():
    assert set(TOPIC_WORDS.values()) == set(TOPICS.labels) == set(TOPIC_OF.values()) == set(Topic)
    assert [topic for topic in Topic if f"event.occurred_at.{topic}" not in NAMES_OF_FACTS] == []
    assert [topic for topic in Topic if {topic.value, topic.value.removesuffix("s")} - set(TOPIC_WORDS)] == []
    for name in ("subscribe", "unsubscribe"):
        usage = re.findall(r"[a-z]+", HELPED[name].usage)
        assert set(Topic) <= set(usage), f"the usage of {name} lacks a topic"


def test_index_of_urgent_deliveries_has_exactly_the_abandonments():
    """A further abandonment needs a migration of the index, else no statement uses the index."""
    (urgent,) = [index.info[WHERE] for index in table_of(InboxDelivery).indexes if index.name == "ix_inbox_urgent"]
    assert set(re.findall(r"'([a-z]+\.[a-z]+)'", urgent)) == set(ABANDONMENTS)


async def test_every_event_is_read_and_the_stand_in_publishes_it():
    for kind in EventKind:
        body = f'{{"event": "{kind}", "data": {{"race": {{"race_id": "rc_1"}}}}}}'
        assert read_payload(body.encode()).kind is kind
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


def test_every_setting_is_documented_with_its_default_and_every_number_has_a_least_value():
    documented = {code_in(name)[0]: default for name, default, _ in rows("docs/settings.md", "Settings")}
    assert documented == {name.upper(): default_of(field) for name, field in Settings.model_fields.items()}
    assert descriptions().keys() == Settings.model_fields.keys()
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
    alone = {f"/racing {name.removeprefix('/')}": name for name, command in SLASH_COMMANDS.items() if command}
    each = {f"/racing {name}": helped for name, helped in HELPED.items()}
    spelled = {alone.get(name, name): helped for name, helped in each.items()}
    documented = {code_in(usage)[0]: summary for usage, summary in rows("docs/commands.md", "Commands")}
    assert documented == {f"{name} {one.usage}".strip(): one.summary for name, one in spelled.items()}


def test_every_command_reads_its_words_and_has_two_examples_and_a_mistake():
    assert set(HELPED) == set(RACING_COMMANDS)
    for name, command in RACING_COMMANDS.items():
        assert command.plan is not as_typed, f"the words of {name} can't be checked before a line is offered"
        named = [line for line in HELPED[name].examples if name in line.split()]
        assert len(set(named)) == len(HELPED[name].examples) == 2, f"{name} has no two examples"
        assert HELPED[name].mistakes.endswith("."), f"{name} does not say what people get wrong"


def test_every_group_of_the_help_begins_with_an_example():
    sections = [block["text"]["text"] for block in help_message().blocks if block["type"] == "section"]
    for (group, commands), said in zip(COMMAND_GROUPS.items(), sections, strict=False):
        first, *lines = said.split("\n")
        of_group = [command.name for command in commands]
        assert first.startswith(f"*{group}*, for example `/racing {of_group[0]}")
        assert [re.findall(r"^• `/racing ([a-z]+)` — ", line) for line in lines] == [[name] for name in of_group]


def test_manifest_has_exactly_the_registered_commands_with_their_hints():
    manifest = {one["command"]: one for one in read_manifest()["features"]["slash_commands"]}
    assert set(manifest) == set(SLASH_COMMANDS)
    for name, command in SLASH_COMMANDS.items():
        if command is not None:
            helped = HELPED[command.name]
            assert (manifest[name]["usage_hint"], manifest[name]["description"]) == (helped.usage, helped.summary)
    hinted = set(re.findall(r"[a-z]+", manifest["/racing"]["usage_hint"]))
    alone = {name for name in RACING_COMMANDS if f"/{name}" not in SLASH_COMMANDS}
    assert alone <= hinted, "a command of /racing is not in its usage hint"


def test_manifest_has_exactly_the_events_that_are_listened_to_and_the_documented_scopes():
    heard = {f"{name}.im" if name == DIRECT_MESSAGE_EVENT else name for name in EVENTS_HEARD}
    assert set(read_manifest()["settings"]["event_subscriptions"]["bot_events"]) == heard
    scopes = read_manifest()["oauth_config"]["scopes"]
    optional = set(scopes["bot_optional"])
    documented = {code_in(scope)[0]: (need, cost) for scope, need, cost in rows("docs/scopes.md", "Scopes")}
    needs = {scope: need for scope, (need, _) in documented.items()}
    assert needs == {scope: "optional" if scope in optional else "needed" for scope in scopes["bot"]}
    # The doctor says of each scope what the page says.
    assert set(LOSS_WITHOUT_SCOPE) == set(documented)
    assert [scope for scope, cost in LOSS_WITHOUT_SCOPE.items() if not documented[scope][1].startswith(cost)] == []


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
    table["demo"] = ["", " ".join(row[0] for row in rows("docs/demo.md", "The demo"))]
    documented = {name: set(re.findall(r"--[a-z-]+", row[1])) for name, row in table.items()}
    commands = commands_of(get_command(command_line))
    assert documented == {name: options_of(command) for name, command in commands.items()}
    assert all(getattr(parameter, "help", None) for command in commands.values() for parameter in command.params)


def test_every_http_endpoint_is_documented():
    routes = [route for route in Service(settings()).app.routes if isinstance(route, Route)]
    served = {f"{min((route.methods or set()) - {'HEAD'})} {route.path.rstrip('/')}" for route in routes}
    assert {code_in(row[0])[0] for row in rows("docs/http.md", "HTTP")} == served | {f"POST {WEBHOOK_PATH}"}


# The doctor


CODES_OF_FINDINGS = {name.partition(" ")[0] for name in finding_rows()}


def test_every_finding_of_the_doctor_is_documented_under_a_check_of_the_table_and_has_a_test():
    documented = {code_in(code)[0]: code_in(of) for code, of, _ in rows("docs/operations/README.md", "Findings")}
    assert set(documented) == CODES_OF_FINDINGS
    assert {name for names in documented.values() for name in names} == {check.id for check in CHECKS}
    places = [*(ROOT / "tests").glob("*/doctor/test_*.py"), ROOT / "tests/acceptance/test_doctor.py"]
    tested = set(re.findall(r'"([a-z_]+)"', "".join(place.read_text(encoding="utf-8") for place in places)))
    assert tested >= CODES_OF_FINDINGS


SENTENCES = {
    "findings.ini": ("bot.doctor", {"finding"}),
    "notices.ini": ("bot.operations", {"notice_words", "tell_today"}),
    "public_url.ini": ("bot.operations", {"_of_row"}),
}
"""Tables of sentences, each with the package and the functions that fill the rows."""


def code_of(package: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (ROOT / package.replace(".", "/")).rglob("*.py")]


@over("name", SENTENCES)
def test_every_row_of_sentences_is_named_in_the_code(name):
    package, _ = SENTENCES[name]
    code = "".join(code_of(package))
    named = [(f'"{row}"', f'f"{row.partition(" ")[0]} {{') for row in sentence_rows(package, name) if not row.isdigit()]
    assert [ways for ways in named if not any(way in code for way in ways)] == []


@over("name", SENTENCES)
def test_call_gives_each_fact_that_its_sentences_name(name):
    """Checks calls that write out the row and the facts: a lacking fact would fail when the fault appears."""
    package, functions = SENTENCES[name]
    rows, filled = sentence_rows(package, name), 0
    for call in (one for code in code_of(package) for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Call)):
        row = getattr(call.args[0], "value", None) if call.args else None
        given = {one.arg for one in call.keywords} | {"reinstall"}
        is_filling = not {getattr(call.func, "id", None), getattr(call.func, "attr", None)}.isdisjoint(functions)
        if row not in rows or not is_filling or None in given:
            continue
        words = {**rows.get(row.partition(" ")[0], {}), **rows[row]}.values()
        wanted = {fact for said in words for _, fact, _, _ in Formatter().parse(said) if fact}
        assert {re.split(r"[.\[]", fact)[0] for fact in wanted} <= given, row
        filled += 1
    assert filled


def test_mutation_gate_names_files_that_exist():
    table = run_path(str(ROOT / ".ci" / "mutants.py"))["TABLE"]
    named = {path for file, (_, tests) in table.items() for path in (file, *tests.split())}
    assert {path for path in named if not (ROOT / path.partition("::")[0]).exists()} == set()


# Tables with a line for every event, state or finding


NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
RACE = Race(race_id="rc_1", course=Course(name="Ascot"))

QUESTION = DayQuestion(now=NOW)
KEPT = KeptDrill(drill=Drill(drill_id="d1", begun_by="U1"), begun_at=NOW)

TABLES: dict[str, tuple[Iterable[Any], Iterable[Any]]] = {
    "Event of the command line": (main.Event, [*EventKind]),
    "COMMANDS of the demo": (COMMANDS, [*SLASH_COMMANDS]),
    "backlog_summary.COUNTED": (backlog_summary.COUNTED, [*EventKind, None]),
    "trace_answer.KINDS": (trace_answer.KINDS_IN_WORDS, [*EventKind, drill_mark.KIND]),
    "outage.IN_WORDS": (outage.IN_WORDS, [*EventKind, None]),
    "listings.HOW_SURE": (listings.HOW_SURE, [*QuotaSource]),
    "listings.LOWER_BOUND": (listings.LOWER_BOUND, [*QuotaSource]),
    "metrics.UNSENT_STATES": (metrics.UNSENT_STATES, [*UNSENT, HELD_STATE]),
    "metrics.POSTS_WAITING": (
        [state for states in metrics.POSTS_WAITING.values() for state in states],
        [*UNSENT, HELD_STATE, metrics.GIVEN_UP],
    ),
    "service_errors.BREAKER_WORDS": ([*service_errors.BREAKER_WORDS.values()], [*get_args(main.Breaker)]),
}


@over("name", TABLES)
def test_table_has_exactly_one_line_for_each(name):
    table, wanted = TABLES[name]
    assert sorted(map(str, table)) == sorted(map(str, wanted))


@over("outcome", RaceOutcome)
def test_every_outcome_of_a_race_has_words_and_a_line_of_the_card(outcome):
    outcomes = Outcomes((MeetingCard(RACE.course, "GB", ((RACE, outcome),)),))
    card = Card(NOW.date(), "GB", RACE.course, outcomes, Coverage.COMPLETE)
    for message in (races_of_day.racecard(card, DayQuestion(NOW)), races_of_day.results_of_day(card, QUESTION)):
        assert "Ascot" in message.text
        assert message.blocks


def test_every_outcome_of_a_post_mute_coverage_and_end_of_a_drill_has_words():
    view = trace_answer.TraceView(lambda _channel, _ts: None)
    for outcome in PostOutcome:
        told = LedgerLine(channel_id="C1", outcome=outcome, attempts=1, received_at=NOW)
        assert trace_answer.outcome_words(told, view), outcome
    said = {pause_and_mute.muted(Meeting(course=RACE.course), 7, one).text for one in Abandonments}
    assert len(said) == len(Abandonments)
    for coverage in {*Coverage} - {Coverage.COMPLETE}:
        assert DayView(Card(NOW.date(), "GB", None, Outcomes(), coverage), QUESTION).completeness, coverage
    for stop in Stop:
        report = DrillReport(KEPT, AddressAnswer("https://bot.example.com", 0.1), stop)
        assert trace_answer.drill_report(report, view.link, "bot").text.startswith("*The drill"), stop


def actions_of_buttons():
    """The action of each button that a message has, by the module and the name of the constant."""
    for path in (ROOT / "bot/slack/messages").rglob("*.py"):
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name("action_button"), args=[_, ast.Name(constant), *_]):
                    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                    yield getattr(importlib.import_module(module), constant)


def test_every_button_of_a_message_has_its_command_and_no_command_runs_again_while_its_answer_may_come():
    assert set(actions_of_buttons()) == set(BUTTON_COMMANDS)
    for name, command in RACING_COMMANDS.items():
        assert UNDER_WAY_FOR.total_seconds() > COMMIT_S + command.answer_s, name

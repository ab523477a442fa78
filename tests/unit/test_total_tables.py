"""Tables with a line for every event, state or finding: a new one without its line fails here by name."""

import ast
import importlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.channels.filters import Abandonments, Meeting
from bot.cli import main
from bot.doctor.findings import EXIT_CODES, CheckOutcome
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import EventKind
from bot.events.races import Course, Race
from bot.fanout.drill_records import KeptDrill
from bot.operations import metrics
from bot.operations.drill_run import HAS_ENDED, DrillReport, Stop
from bot.operations.public_url import AddressAnswer
from bot.operations.repair import outage
from bot.outbox.ledger import LedgerLine
from bot.outbox.ledger import LedgerOutcome as PostOutcome
from bot.outbox.message_store import HELD_STATE
from bot.outbox.states import UNSENT
from bot.racedata.client import service_errors
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, RaceOutcome
from bot.racedata.month_quota import QuotaSource
from bot.slack.commands.invocation import COMMIT_S
from bot.slack.commands.table import BUTTON_COMMANDS, RACING_COMMANDS, SLASH_COMMANDS
from bot.slack.listeners.ways_in import UNDER_WAY_FOR
from bot.slack.messages.alerts import backlog_summary
from bot.slack.messages.answers import (
    day_answer,
    drill_report,
    pause_and_mute,
    races_of_day,
    trace_answer,
    usage_answer,
)
from bot.slack.messages.answers.day_answer import DayQuestion
from sandbox.demo_stage import COMMANDS
from tests.unit.pages import ROOT, nodes

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
    "usage_answer.HOW_SURE": (usage_answer.HOW_SURE, [*QuotaSource]),
    "usage_answer.LOWER_BOUND": (usage_answer.LOWER_BOUND, [*QuotaSource]),
    "drill_run.HAS_ENDED": (HAS_ENDED, [*PostOutcome]),
    "metrics.UNSENT_STATES": (metrics.UNSENT_STATES, [*UNSENT, HELD_STATE]),
    "metrics.POSTS_WAITING": (
        [state for states in metrics.POSTS_WAITING.values() for state in states],
        [*UNSENT, HELD_STATE, metrics.GIVEN_UP],
    ),
    "findings.EXIT_CODES": (EXIT_CODES, [*CheckOutcome]),
    "service_errors.BREAKER_WORDS": ([*service_errors.BREAKER_WORDS.values()], [*main.Breaker]),
}


@pytest.mark.parametrize("name", TABLES)
def test_table_has_exactly_one_line_for_each(name):
    table, wanted = TABLES[name]
    assert sorted(map(str, table)) == sorted(map(str, wanted))


@pytest.mark.parametrize("outcome", PostOutcome)
def test_every_outcome_of_a_post_has_words(outcome):
    told = LedgerLine(channel_id="C1", outcome=outcome, attempts=1, received_at=NOW)
    assert trace_answer.outcome_words(told, trace_answer.TraceView(lambda _channel, _ts: None))


@pytest.mark.parametrize("outcome", RaceOutcome)
def test_every_outcome_of_a_race_has_words_and_a_line_of_the_card(outcome):
    outcomes = Outcomes((MeetingCard(RACE.course, "GB", (RACE,)),), {(0, 0): outcome})
    card = Card(NOW.date(), "GB", RACE.course, outcomes, Coverage.COMPLETE)
    for message in (races_of_day.racecard(card, DayQuestion(NOW)), races_of_day.results_of_day(card, QUESTION)):
        assert "Ascot" in message.text
        assert message.blocks


def test_every_answer_to_a_mute_says_what_becomes_of_abandonments():
    said = {pause_and_mute.muted(Meeting(course=RACE.course), 7, one).text for one in Abandonments}
    assert len(said) == len(Abandonments)


@pytest.mark.parametrize("coverage", [one for one in Coverage if one is not Coverage.COMPLETE])
def test_every_coverage_of_an_incomplete_day_has_words(coverage):
    card = Card(NOW.date(), "GB", None, Outcomes(), coverage)
    assert day_answer.completeness(card, QUESTION)


@pytest.mark.parametrize("stop", Stop)
def test_every_end_of_a_drill_has_a_headline(stop):
    report = DrillReport(KEPT, AddressAnswer("https://bot.example.com", 0.1), stop)
    assert drill_report.drill_report(report, lambda _channel, _ts: None, "bot").text.startswith("*The drill")


def actions_of_buttons():
    """The action of each button that a message has, by the module and the name of the constant."""
    for path in (ROOT / "bot/slack/messages").rglob("*.py"):
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name("action_button"), args=[_, ast.Name(constant), *_]):
                    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                    yield getattr(importlib.import_module(module), constant)


def test_every_button_of_a_message_has_its_command_and_every_command_a_button():
    assert set(actions_of_buttons()) == set(BUTTON_COMMANDS)


@pytest.mark.parametrize("command", RACING_COMMANDS.values(), ids=RACING_COMMANDS)
def test_no_command_runs_again_while_its_answer_may_come(command):
    assert UNDER_WAY_FOR.total_seconds() > COMMIT_S + command.answer_s

"""Documents agree with the code: gaps, jobs, decisions, paths, figures, and the trees of errors."""

import re
from inspect import getmembers, isclass
from pathlib import Path

from bot import errors as our_errors
from bot.app import Service
from bot.db import threads
from bot.deliveries import intake, journal
from bot.fanout import delivery_reader, fanout, transaction
from bot.outbox import channel_queues, claim_sender, held_channels, poster, resolve
from bot.racedata.client import service_errors
from bot.racedata.client.calls import BY_STATUS
from bot.racedata.month_quota import PLANS
from bot.receiver import door
from bot.slack import api_errors
from bot.web import request_body
from tests.integration.pipeline import test_round_trips as round_trips
from tests.rows import over
from tests.unit.pages import ROOT, code_in, production, rows, settings, text

GAPS = [f"G{number}" for number in range(1, 17)]
NAMED_GAPS = re.compile(r"Spec gaps? (G\d+(?:(?:, | and )G\d+)*)")
LEASE_S = channel_queues.POST_CALL_S + channel_queues.LEASE_MARGIN_S
CODES = {"unauthorized", "upgrade_required", "outside_window", "invalid_param"} | {
    *("rate_limited", "quota_exceeded", "server_error")
}
"""Interface, Errors."""


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


def test_every_promise_names_tests_that_are_there():
    proofs = [code_in(tests) for _, tests in rows("docs/promises.md", "Proofs")]
    assert all(proofs)
    named = {name for tests in proofs for name in tests}
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for test in re.findall(r"def (test_\w+)", text(path))
        for name in (test, f"{path.name}::{test}")
    }
    assert named - there == set()


def test_every_job_is_documented():
    assert {code_in(row[0])[0] for row in rows("docs/design/jobs.md", "Jobs")} == {
        job.id for job in Service(settings()).jobs.table
    }


PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path.name != "messages.md")


def test_paths_named_in_documents_exist():
    wanted = set()
    for path in ("CONTRIBUTING.md", "README.md", "bench/README.md", *PAGES):
        named = re.findall(r"`((?:bot|docs|tests|bench|\.ci)/[\w./-]*)`", text(path))
        linked = [str(Path(path).parent / link) for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text(path))]
        wanted |= {(path, one) for one in (*named, *linked)}
    # The recipes make up names of future files.
    invented = {"bot/slack/messages/alerts/race_delayed.py", "bot/slack/commands/jockeys.py"} | {
        "bot/channels/conditions/going_condition.py",
        "bot/db/migrations/versions/NNNN_what_it_does.py",
    }
    assert {(path, one) for path, one in wanted if one not in invented and not (ROOT / one).exists()} == set()


def test_every_decision_has_its_number_three_paragraphs_and_a_link_from_the_architecture():
    records = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/decisions").glob("0*.md")}
    for name, record in records.items():
        title, *paragraphs = record.split("\n\n")
        number = int(name[:4])
        assert title.startswith(f"# {number}. "), name
        assert len(paragraphs) == 3, name
        assert f"[{number}](decisions/{name})" in text("docs/architecture.md"), name


def test_first_pages_are_short():
    assert len(text("docs/architecture.md").split()) <= 1_500
    assert len(text("README.md").splitlines()) <= 120


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


# Errors


def tree(module):
    """Class name → name of the parent class, as the module's docstring draws the tree."""
    drawn: dict[str, str | None] = {}
    path: list[str] = []
    for line in module.__doc__.splitlines():
        found = re.match(r"((?:│   |    )*)(├── |└── )?([A-Z][A-Za-z]+)(?: {2,}|$)", line)
        if found:
            depth = len(found[1]) // 4 + bool(found[2])
            path[depth:] = [found[3]]
            drawn[found[3]] = path[depth - 1] if depth else None
    return drawn


@over("module", [our_errors, service_errors])
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


# Figures that the pages name are the figures of the code


ROOT = Path(__file__).parents[2]
IN_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 8: "eight", 9: "nine"}


def page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def words(number):
    return IN_WORDS[int(number)]


def cost(of):
    *_, statements, commits = round_trips.COSTS[of]
    return f"{words(commits)} transactions and at most {statements} statements"


@over(
    ("name", "said"),
    [
        ("design/event.md", cost("result alone")),
        ("design/event.md", cost("edit")),
        (
            "design/event.md",
            f"lease runs out after {words(channel_queues.POST_CALL_S + channel_queues.LEASE_MARGIN_S)} seconds",
        ),
        ("design/outbox.md", f"outlives the call's deadline by {words(channel_queues.LEASE_MARGIN_S)} seconds"),
        ("design/event.md", f"size, {words(request_body.BODY_S)} seconds, a budget"),
        ("design/event.md", f"holds {door.ADMITTED_AT_ONCE} places"),
        ("architecture.md", f"not stored within {journal.STORE_WITHIN_S} seconds"),
        ("design/event.md", f"up to {intake.LARGEST_HAND_OVER} stored deliveries"),
        ("design/event.md", f"reads the inbox: {delivery_reader.DELIVERIES_PER_COMMIT} at a time"),
        ("design/event.md", f"at least {fanout.COMMIT_GAP_S * 1000:.0f} ms apart"),
        ("design/event.md", f"some {transaction.MESSAGES_PER_COMMIT:,} messages"),
        ("design/event.md", f"more than {transaction.FIRST_CHANNELS} channels"),
        ("architecture.md", f"After {words(delivery_reader.READ_ATTEMPTS)} tries the event is told"),
        ("design/event.md", f"fewer than {poster.CALLS_AT_ONCE} calls"),
        ("design/event.md", f"With {poster.CALLS_AT_ONCE} calls under way, the next"),
        ("design/event.md", f"the next claim waits until {poster.ROOM_TO_CLAIM} calls have ended"),
        ("design/event.md", f"{poster.OUTCOMES_APART_S * 1000:.0f} ms apart at least"),
        ("design/event.md", f"when {words(resolve.EDIT_ATTEMPTS)} calls were unanswered"),
        ("design/outbox.md", f"{words(resolve.GIVE_UP_AFTER)} calls ended in doubt"),
        ("design/outbox.md", f"After {words(resolve.PLAIN_AFTER - 1)} repeats, as plain text"),
        ("design/outbox.md", f"twice, {words(resolve.LOOK_AGAIN.total_seconds())} seconds apart"),
        ("design/outbox.md", f"{words(resolve.HISTORY_LOOK_BACK.total_seconds() / 60)} minutes either way"),
        ("design/outbox.md", f"older than {words(held_channels.SUMMARY_AFTER.total_seconds() / 3600)} hours"),
        ("architecture.md", f"for {claim_sender.BACKOFF_S[0]:g} to {claim_sender.BACKOFF_S[-1]:g} seconds"),
        ("promises.md", f"after {words(resolve.EDIT_LOOKS_MAX)} tries"),
        ("design/storage.md", f"{words(threads.READERS + 1).capitalize()} connections read"),
        ("decisions/0001-store-then-answer.md", f"not stored within {journal.STORE_WITHIN_S} seconds"),
        ("decisions/0002-refuse-when-full.md", f"so {door.ADMITTED_AT_ONCE} places"),
        ("decisions/0008-locks-are-tried.md", f"again after {fanout.OTHER_TURN_S * 1000:.0f} ms"),
        ("decisions/0008-locks-are-tried.md", f"again after {poster.CLAIM_AGAIN_S * 1000:.0f} ms"),
    ],
)
def test_pages_name_the_figures_of_the_code(name, said):
    assert said in page(f"docs/{name}")

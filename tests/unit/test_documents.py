"""Documents say what is there: gaps, jobs, decisions, paths, figures, and the trees of errors."""

import re
from inspect import getmembers, isclass
from pathlib import Path

import pytest

from bot import errors as our_errors
from bot.operations.jobs.table import JOBS
from bot.racedata.client import service_errors
from bot.racedata.client.envelope import BY_STATUS
from bot.racedata.plans import PLANS
from bot.slack import api_errors
from tests.unit.pages import ROOT, code_in, production, rows, text

GAPS = [f"G{number}" for number in range(1, 17)]
NAMED_GAPS = re.compile(r"Spec gaps? (G\d+(?:(?:, | and )G\d+)*)")
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

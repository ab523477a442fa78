"""The words of the command line: each command has help, and wrong words end with exit code 2 without settings."""

import re
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from bot.cli.main import Event, app

WRONG_WORDS = {
    (): ["Usage:", "subscribe"],
    ("nosuch",): ["No such command 'nosuch'"],
    ("subscribe", "--event", "results"): ["--event", '"results"', *Event],
    ("subscribe", "--event", "race.abandoned", "--event", "Race.Abandoned"): ['"Race.Abandoned"', *Event],
    ("subscribe", "--retire", "1", "--event", "race.abandoned"): ["--retire", "without other options"],
    ("subscribe", "--retire", "1", "--show-secret"): ["--retire", "without other options"],
    ("subscribe", "--retire", "0"): ["--retire"],
    ("subscribe", "--region", " "): ["--region", "all regions"],
    ("unlatch", "month"): ['"month"', "quota, key or plan"],
    ("manifest",): ["--url", "--socket", "one of the two"],
    ("manifest", "--socket", "--url", "https://bot.example.com"): ["one of the two"],
    ("manifest", "--url", "http://bot.example.com"): ["--url", "must be https"],
    ("manifest", "--url", "https://bot.example.com/slack/events"): ["--url", "must end before /slack/events"],
    ("demo", "--speed", "0"): ["--speed"],
    ("migrate", "now"): ["now"],
    ("backup",): ["PATH"],
    ("subscriptions",): ["Usage:", "export", "apply"],
    ("subscriptions", "apply"): ["FILE"],
    ("serve", "--json"): ["--json"],
    ("doctor", "now"): ["now"],
    ("doctor", "--yaml"): ["--yaml"],
}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs a command in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, words, env={"TERM": "dumb"}, prog_name="racing-bot")


@pytest.mark.parametrize("words", WRONG_WORDS, ids=" ".join)
def test_wrong_words_are_told_on_stderr_with_exit_code_2(run, words):
    ran = run(*words)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert [told for told in WRONG_WORDS[words] if told not in ran.stderr] == []


def test_every_command_explains_itself_without_settings(run):
    listed = re.findall(r"^  ([a-z]+)  +\S", run("--help").stdout.partition("Commands:")[2], flags=re.MULTILINE)
    assert {"serve", "subscriptions", "doctor"} <= {*listed}
    for command in listed:
        ran = run(command, "--help")
        assert (ran.exit_code, ran.stderr) == (0, ""), command
        assert ran.stdout.startswith(f"Usage: racing-bot {command} [OPTIONS]"), ran.stdout
        assert re.search(r"^  [A-Z].*\.", ran.stdout, flags=re.MULTILINE), f"{command} says nothing of itself"


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"racing-bot {version('racing-bot')}\n"

"""The command line: each command has help, and wrong words end with exit code 2 without settings."""

import re
import stat
from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bot.cli.init_command import ASKED, ask_all, problem_with
from bot.cli.init_command import read as read_env
from bot.cli.main import Event, app
from bot.cli.subscribe_command import come_twice
from bot.db.tables import WebhookSubscriptionRow
from bot.errors import SettingsError
from bot.events.event import EventKind
from bot.settings import load_settings
from tests.rows import over

WRONG_WORDS = {
    (): ["Usage:", "subscribe"],
    ("nosuch",): ["No such command 'nosuch'"],
    ("subscribe", "--event", "results"): ["--event", "'results'", *Event],
    ("subscribe", "--event", "race.abandoned", "--event", "Race.Abandoned"): ["'Race.Abandoned'", *Event],
    ("subscribe", "--retire", "1", "--event", "race.abandoned"): ["--retire", "without other options"],
    ("subscribe", "--retire", "1", "--show-secret"): ["--retire", "without other options"],
    ("subscribe", "--retire", "0"): ["'--retire': must be at least 1."],
    ("subscribe", "--retire", "one"): ["'--retire': must be a whole number."],
    ("demo", "--headless", "--open"): ["--headless", "--open", "one of the two"],
    ("subscribe", "--region", " "): ["--region", "all regions"],
    ("unlatch", "month"): ["'month'", "'quota', 'key', 'plan'"],
    ("manifest",): ["--url", "--socket", "one of the two"],
    ("manifest", "--socket", "--url", "https://bot.example.com"): ["one of the two"],
    ("manifest", "--url", "http://bot.example.com"): ["--url", "must be https"],
    ("manifest", "--url", "http://127.0.0.1:3000"): ["must be https."],
    ("manifest", "--url", "https://bot.example.com/slack/events"): ["--url", "must end before /slack/events"],
    ("demo", "--speed", "0"): ["'--speed': must be at least 0.1."],
    ("demo", "--speed", "quick"): ["'--speed': must be a number."],
    ("demo", "--port", "65536"): ["'--port': must be at most 65535."],
    ("demo", "--database-url", "sqlite:///x.db"): ["--database-url", "must begin with postgresql://"],
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


def test_file_of_subscriptions_that_is_no_text_is_refused_in_plain_words(run, tmp_path, monkeypatch):
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "a.yaml").write_bytes(b"\xff")
    assert "a.yaml can't be read: the file is not UTF-8 text." in run("subscriptions", "apply", "a.yaml").stderr


@over("words", WRONG_WORDS)
def test_wrong_words_are_told_on_stderr_with_exit_code_2(run, words):
    ran = run(*words)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert [told for told in WRONG_WORDS[words] if told not in ran.stderr] == []
    assert not re.search("Input should|Value error", ran.stderr), "pydantic's words"


def test_every_command_explains_itself_without_settings(run):
    listed = re.findall(r"^  ([a-z]+)  +\S", run("--help").stdout.partition("Commands:")[2], flags=re.MULTILINE)
    assert {"serve", "subscriptions", "doctor"} <= {*listed}
    for command in listed:
        ran = run(command, "--help")
        assert (ran.exit_code, ran.stderr) == (0, ""), command
        assert ran.stdout.startswith(f"Usage: racing-bot {command} [OPTIONS]"), ran.stdout
        assert re.search(r"^  [A-Z].*\.", ran.stdout, flags=re.MULTILINE), f"{command} says nothing of itself"
    assert run("--version").stdout == f"racing-bot {version('racing-bot')}\n"


# The events that a further subscription of ours would bring twice


REGIONS = ["GB", "IRE", "FR"]
EVENTS = st.lists(st.sampled_from([*EventKind]), min_size=1, unique=True)
CHOICES = st.tuples(EVENTS, st.sampled_from([None, *REGIONS]))


def delivered(events, region):
    return {(event, one) for event in events for one in ([region] if region else REGIONS)}


def row(number, events, region):
    made = datetime(2026, 11, 20, tzinfo=UTC)
    return WebhookSubscriptionRow(
        id=number, url="https://a.example", events=",".join(events), region=region, created_at=made
    )


@given(st.lists(CHOICES, max_size=4), CHOICES)
def test_subscriptions_that_deliver_some_of_the_new_one_are_found(live, new):
    rows = [row(number, *choice) for number, choice in enumerate(live)]
    expected = [number for number, choice in enumerate(live) if delivered(*choice) & delivered(*new)]
    assert [one.id for one in come_twice(rows, row(None, *new))] == expected


# The questions, refusals and file of `init`


GIVEN = {
    "RACING_API_URL": "https://racing.test/v1",
    "RACING_API_KEY": "a-key",
    "SLACK_BOT_TOKEN": "xoxb-1-abc",
    "SLACK_SIGNING_SECRET": "0123456789abcdef0123456789abcdef",
    "SLACK_API_URL": "https://slack-gov.com/api/",
    "PUBLIC_URL": "https://racing-bot.test",
    "ADMIN_CHANNEL": "C0ADMINS",
    "ADMIN_USERS": "U0ALICE,U0BOB",
}


@over(
    ("name", "value", "words"),
    [
        ("RACING_API_URL", "https://api.example.com/v1", "placeholder, api.example.com"),
        ("RACING_API_KEY", "<the key of your plan>", "placeholder, <"),
        ("SLACK_BOT_TOKEN", "xoxb-…", "placeholder, …"),
        ("ADMIN_CHANNEL", "C0123456789", "placeholder, C0123456789"),
        ("SLACK_BOT_TOKEN", "xoxp-1-abc", "is a user token"),
        ("PUBLIC_URL", "http://racing-bot.test", "https"),
        ("ADMIN_CHANNEL", "#racing", "channel's id"),
        ("ADMIN_USERS", "U0ALICE,bob", "number 2"),
        ("RACING_API_KEY", "one\ntwo", "can't stand in a .env"),
        ("RACING_API_KEY", "${HOME}", "can't stand in a .env"),
    ],
)
def test_wrong_value_is_refused_by_its_name(name, value, words):
    problem = problem_with(name, value)
    assert problem is not None
    assert problem.startswith(name)
    assert words in problem


def asked(typed):
    """The values, and the problems told, where a person types so for each name."""
    answers = {name: list(lines) for name, lines in typed.items()}
    told: list[str] = []
    given = ask_all(lambda one, kept: answers[one.name].pop(0) or kept, told.append, {"RACING_API_KEY": "kept"})
    assert not any(answers.values())
    return given, told


def test_person_is_asked_again_until_a_value_is_right_and_enter_keeps_a_value():
    typed = {name: [value] for name, value in GIVEN.items()}
    given, told = asked(
        typed
        | {"RACING_API_URL": ["", "racing.test", GIVEN["RACING_API_URL"]], "RACING_API_KEY": [""], "ADMIN_USERS": [""]}
    )
    assert given == {name: value for name, value in GIVEN.items() if name != "ADMIN_USERS"} | {"RACING_API_KEY": "kept"}
    assert [one.split()[0] for one in told] == ["RACING_API_URL", "RACING_API_URL"]

    # Without a signing secret the token of Socket Mode is asked.
    given, told = asked(typed | {"SLACK_SIGNING_SECRET": [""], "SLACK_APP_TOKEN": ["", "xapp-1-abc"]})
    assert given["SLACK_APP_TOKEN"] == "xapp-1-abc"
    assert told == ["SLACK_APP_TOKEN is needed."]
    # Enter throughout keeps every value of the file before.
    kept = GIVEN | {"SLACK_APP_TOKEN": "xapp-1-abc"}
    assert ask_all(lambda _, before: before, pytest.fail, kept) == kept


@pytest.fixture
def init(tmp_path, monkeypatch):
    """Runs `racing-bot init --from-env` in an empty folder with these values in the environment."""
    monkeypatch.chdir(tmp_path)

    def run(*options, **environment):
        return CliRunner().invoke(
            app, ["init", *options], env={**dict.fromkeys(one.name for one in ASKED), **environment}
        )

    return run


def test_file_is_for_the_own_user_alone_is_read_by_the_bot_and_never_overwritten_unasked(init, tmp_path):
    assert "racing-bot doctor" in init("--from-env", **GIVEN).output
    path = tmp_path / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = load_settings(str(path))
    assert (settings.admin_users, settings.public_url) == (("U0ALICE", "U0BOB"), GIVEN["PUBLIC_URL"])
    assert settings.slack_api_url == GIVEN["SLACK_API_URL"]
    lines = path.read_text().splitlines()
    assert [lines[at - 1][0] for at, line in enumerate(lines) if "=" in line and line[0] != "#"] == ["#"] * 10

    written = path.read_text()
    assert "Give --overwrite" in str(init("--from-env", **GIVEN).exception)
    assert path.read_text() == written
    path.write_text(f"{written}\nLOG_LEVEL=debug\nSLACK_APP_TOKEN=xapp-1-abc\n")
    before = read_env(path.read_text())
    changed = {"RACING_API_KEY": "new", "LOG_LEVEL": "info", "PORT": "3100"}
    assert init("--from-env", "--overwrite", **changed).exit_code == 0
    assert read_env(path.read_text()) == before | changed, "all that the environment lacks stays"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_init_keeps_other_lines_of_the_file_as_typed_or_refuses_them(init, tmp_path):
    path = tmp_path / ".env"
    lines = [
        "DATABASE_URL='postgresql://u:pa ss #1@h/db'",
        'export COMPOSE_FILE="${HOME}/a.yaml"',
        "LOG_LEVEL=info  # now",
    ]
    path.write_text("\n\n".join(lines), encoding="utf-8-sig")
    assert init("--from-env", "--overwrite", **GIVEN).exit_code == 0
    assert [line for line in path.read_text().splitlines() if line in lines] == lines
    # A kept key that would read back differently is refused.
    path.write_text("POSTGRES_PASSWORD='pa ss #1'\n")
    ended = init("--from-env", "--overwrite", **GIVEN).exception
    assert isinstance(ended, SettingsError)
    assert [one.split()[0] for one in ended.problems] == ["POSTGRES_PASSWORD"]
    assert path.read_text() == "POSTGRES_PASSWORD='pa ss #1'\n"


MISSING = dict.fromkeys(("RACING_API_URL", "SLACK_SIGNING_SECRET"))


def test_every_missing_or_wrong_value_of_the_environment_is_named_and_nothing_is_written(init, tmp_path):
    assert "--from-env" in str(init().exception), "without a terminal"
    ended = init("--from-env", **GIVEN | MISSING | {"SLACK_BOT_TOKEN": "xoxb-…"}).exception
    assert isinstance(ended, SettingsError)
    assert [one.split()[0] for one in ended.problems] == ["SLACK_BOT_TOKEN", "RACING_API_URL", "SLACK_SIGNING_SECRET"]
    missing = [one.partition(" is missing") for one in ended.problems[1:]]
    assert all(one.comment in where for names, _, where in missing for one in ASKED if one.name in names.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".env", None, "{file} can't be read: Is a directory"),
        (".env", b"ADMIN_USERS=cl\xe9", "{file} is not UTF-8 text"),
        (".env", b"LOG_LEVEL=info\nmy notes\n", "Line 2 of {file} is not NAME=value."),
        (".env.new", None, "The file {folder}/.env can't be written: "),
    ],
)
def test_file_that_can_not_be_read_or_written_stays_and_is_told(init, tmp_path, name, content, words):
    file = tmp_path / name
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    ran = init("--from-env", "--overwrite", **GIVEN)
    ended = ran.exception
    assert isinstance(ended, SettingsError)
    assert words.format(file=file, folder=tmp_path) in "".join(ended.problems)
    assert file.is_dir() if content is None else file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert ran.stderr == ""

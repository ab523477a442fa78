"""`racing-bot init`: what is asked, refused and written."""

import stat

import pytest
from typer.testing import CliRunner

from bot.cli.init_command import ASKED, ask_all, problem_with, read
from bot.cli.main import app
from bot.errors import SettingsError
from bot.settings import load_settings

GIVEN = {
    "RACING_API_URL": "https://racing.test/v1",
    "RACING_API_KEY": "a-key",
    "SLACK_BOT_TOKEN": "xoxb-1-abc",
    "SLACK_SIGNING_SECRET": "0123456789abcdef",
    "PUBLIC_URL": "https://racing-bot.test",
    "ADMIN_CHANNEL": "C0ADMINS",
    "ADMIN_USERS": "U0ALICE,U0BOB",
}


@pytest.mark.parametrize(
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


def test_without_a_signing_secret_the_token_of_socket_mode_is_asked():
    typed = {name: [value] for name, value in GIVEN.items()}
    given, told = asked(typed | {"SLACK_SIGNING_SECRET": [""], "SLACK_APP_TOKEN": ["", "xapp-1-abc"]})
    assert given["SLACK_APP_TOKEN"] == "xapp-1-abc"
    assert told == ["SLACK_APP_TOKEN is needed."]


def test_enter_throughout_keeps_every_value_of_the_file_before():
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
    lines = path.read_text().splitlines()
    assert [lines[at - 1][0] for at, line in enumerate(lines) if "=" in line and line[0] != "#"] == ["#"] * 9

    written = path.read_text()
    assert "Give --overwrite" in str(init("--from-env", **GIVEN).exception)
    assert path.read_text() == written
    path.write_text(f"{written}\nLOG_LEVEL=debug\nSLACK_APP_TOKEN=xapp-1-abc\n")
    before = read(path.read_text())
    assert init("--from-env", "--overwrite", RACING_API_KEY="new").exit_code == 0
    assert read(path.read_text()) == {**before, "RACING_API_KEY": "new"}, "all that the environment lacks stays"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_lines_that_are_not_asked_for_stay_as_they_were_typed(init, tmp_path):
    path = tmp_path / ".env"
    lines = [
        "DATABASE_URL='postgresql://u:pa ss #1@h/db'",
        'export COMPOSE_FILE="${HOME}/a.yaml"',
        "LOG_LEVEL=info  # now",
    ]
    path.write_text("\n\n".join(lines), encoding="utf-8-sig")
    assert init("--from-env", "--overwrite", **GIVEN).exit_code == 0
    assert [line for line in path.read_text().splitlines() if line in lines] == lines


def test_kept_key_that_would_read_back_differently_is_refused_and_the_file_stays(init, tmp_path):
    path = tmp_path / ".env"
    path.write_text("POSTGRES_PASSWORD='pa ss #1'\n")
    ended = init("--from-env", "--overwrite", **GIVEN).exception
    assert isinstance(ended, SettingsError)
    assert [one.split()[0] for one in ended.problems] == ["POSTGRES_PASSWORD"]
    assert path.read_text() == "POSTGRES_PASSWORD='pa ss #1'\n"


MISSING = dict.fromkeys(("RACING_API_URL", "SLACK_SIGNING_SECRET"))


def test_every_missing_or_wrong_value_of_the_environment_is_named_and_nothing_is_written(init, tmp_path):
    ended = init("--from-env", **GIVEN | MISSING | {"SLACK_BOT_TOKEN": "xoxb-…"}).exception
    assert isinstance(ended, SettingsError)
    assert [one.split()[0] for one in ended.problems] == ["SLACK_BOT_TOKEN", "RACING_API_URL", "SLACK_APP_TOKEN"]
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_and_without_the_environment_nothing_is_asked(init, tmp_path):
    assert "--from-env" in str(init().exception)
    assert list(tmp_path.iterdir()) == []

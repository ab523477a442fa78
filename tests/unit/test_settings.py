"""Settings: every problem at once, with the remedy, and never a secret."""

import pickle
import re
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr, ValidationError

from bot.errors import SettingsError
from bot.settings import DoubtfulPosts, Settings, SubscribeBy, load_database_url, load_settings
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("settings.yaml")
GOOD = {
    "RACING_API_URL": "https://api.example.com/v1",
    "RACING_API_KEY": "racing-key-of-a-test",
    "SLACK_BOT_TOKEN": "xoxb-token-of-a-test",
    "SLACK_SIGNING_SECRET": "signing-secret-of-a-test",
}
FERNET = Fernet.generate_key().decode()


@pytest.fixture
def load(monkeypatch):
    """Settings of exactly the given environment variables, on top of good values."""

    def load_with(env_file=None, **changes):
        for name in Settings.model_fields:
            monkeypatch.delenv(name.upper(), raising=False)
        for name, value in (GOOD | changes).items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return load_settings(env_file)

    return load_with


@pytest.fixture
def problems(load):
    def problems_with(**changes):
        with pytest.raises(SettingsError) as raised:
            load(**changes)
        return raised.value.problems

    return problems_with


def test_settings_need_four_values_and_have_defaults_for_the_rest(load):
    settings = load()
    assert settings.racing_api_key.get_secret_value() == "racing-key-of-a-test"
    assert (settings.host, settings.port, settings.subscribe_by) == ("127.0.0.1", 3000, SubscribeBy.MEMBERS)
    assert settings.quota_warn_at == (50, 80, 95, 100)


def test_settings_tell_every_problem_at_once(problems):
    told = problems(RACING_API_KEY=None, SLACK_BOT_TOKEN=None, PORT="many", SUBSCRIBE_BY="everyone", SETTLE_S="-1")
    assert sorted(one.split()[0] for one in told) == [
        *("PORT", "RACING_API_KEY", "SETTLE_S", "SLACK_BOT_TOKEN", "SUBSCRIBE_BY")
    ]
    assert "RACING_API_KEY is missing. The data service's API key; sent in the `X-API-Key` header only." in told


def test_settings_take_a_blank_value_for_an_unset_one(load, problems):
    assert load(ADMIN_CHANNEL="", MONTHLY_QUOTA=" ", HOST="  ", SLACK_APP_TOKEN="").host == "127.0.0.1"
    assert [one.split()[:3] for one in problems(RACING_API_KEY="")] == [["RACING_API_KEY", "is", "missing."]]


def test_settings_come_from_an_env_file_too_and_the_environment_goes_first(load, tmp_path):
    file = tmp_path / ".env"
    file.write_text("RACING_API_KEY=from-the-file\nADMIN_CHANNEL=C0FILE\nNOT_OURS=1\n", encoding="utf-8")
    settings = load(str(file))
    assert settings.racing_api_key.get_secret_value() == "racing-key-of-a-test"
    assert settings.admin_channel == "C0FILE"
    # The file may begin with a byte order mark, and have quotes.
    for before, written in product((b"", b"\xef\xbb\xbf"), (b"of-the-file", b'"of-the-file"')):
        file.write_bytes(before + b"RACING_API_KEY=" + written + b"\n")
        assert load(str(file), RACING_API_KEY=None).racing_api_key.get_secret_value() == "of-the-file"


def test_settings_that_go_together_are_taken_together_and_are_frozen(load):
    assert load(SLACK_SIGNING_SECRET=None, SLACK_APP_TOKEN="xapp-1").slack_signing_secret is None
    settings = load(METRICS_HOST="127.0.0.1", METRICS_PORT="9000")
    assert (settings.metrics_host, settings.metrics_port) == ("127.0.0.1", 9000)
    with pytest.raises(ValidationError):
        settings.port = 4000


SECRETS = {
    "RACING_API_KEY": "rk-5ecret-1",
    "SLACK_BOT_TOKEN": "xoxb-5ecret-2",
    "SLACK_SIGNING_SECRET": "5ecret-3",
    "SLACK_APP_TOKEN": "xapp-5ecret-4",
    "RACING_WEBHOOK_SECRETS": "5ecret-5,5ecret-6",
    "DATABASE_URL": "postgresql://racing:5ecret-7@db/racing",
    "ENCRYPTION_KEYS": FERNET,
}


def test_settings_show_no_secret_and_know_every_secret_that_the_log_is_to_mask(load):
    settings = load(**SECRETS)
    for shown in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "5ecret" not in shown
        assert FERNET not in shown
    expected = {"rk-5ecret-1", "xoxb-5ecret-2", "5ecret-3", "xapp-5ecret-4", "5ecret-5", "5ecret-6", "5ecret-7", FERNET}
    assert settings.secret_values == expected


@over(
    ("changes", "words"),
    [
        *Answers(ROWS, "problems"),
        ({"ENCRYPTION_KEYS": f"{FERNET},short"}, "ENCRYPTION_KEYS, number 2, is not a Fernet key"),
    ],
)
def test_problem_says_which_setting_and_what_would_be_right(problems, changes, words):
    (told,) = problems(**changes)
    assert told.startswith(words)
    assert "5ecret" not in told


@over(
    ("name", "given_value", "attribute", "read"),
    [
        ("RACING_API_URL", " https://api.example.com/v1/ ", "racing_api_url", "https://api.example.com/v1"),
        ("RACING_API_URL", "http://127.0.0.1:8000/v1", "racing_api_url", "http://127.0.0.1:8000/v1"),
        ("SLACK_API_URL", "https://slack-gov.com/api", "slack_api_url", "https://slack-gov.com/api/"),
        ("RACING_RACE_PATH", "/races/{race_id}", "racing_race_path", "races/{race_id}"),
        ("RACING_DAY_PATH", "days/{date}/{region}", "racing_day_path", "days/{date}/{region}"),
        ("ADMIN_USERS", " U1, ,U2,", "admin_users", ("U1", "U2")),
        ("ADMIN_USERS", "W0123456789", "admin_users", ("W0123456789",)),
        *(("ADMIN_CHANNEL", one, "admin_channel", one) for one in ("C0123456789", "G0123", "D0123", "U0123")),
        ("QUOTA_WARN_AT", "10, 20", "quota_warn_at", (10, 20)),
        ("SUBSCRIBE_BY", "creators", "subscribe_by", SubscribeBy.CREATORS),
        ("DOUBTFUL_POSTS", "hold", "doubtful_posts", DoubtfulPosts.HOLD),
        ("LOG_LEVEL", "WARNING", "log_level", "warning"),
        ("LOG_FORMAT", "JSON", "log_format", "json"),
        *(("SLACK_BOT_TOKEN", one, "slack_bot_token", SecretStr(one)) for one in ("xoxb-1", "xoxe.xoxb-1")),
    ],
)
def test_setting_is_read_into_its_value(load, name, given_value, attribute, read):
    assert getattr(load(**{name: given_value}), attribute) == read


PYDANTIC = re.compile(
    r"\b(input|should|valid|parse|string|integer|value error|pydantic|enum|pattern|literal)\b", re.IGNORECASE
)
WRONG = [(name, value, told) for rows, told in Answers(ROWS, "wrong") for name, value in rows.items()]
WRONG += [("REPAIR_CHECK_S", "9" * 5_000, "")]


@over(("name", "value", "words"), WRONG)
def test_wrong_value_of_any_setting_is_told_in_plain_words_without_the_value(load, name, value, words):
    beside = {"METRICS_HOST": {"METRICS_PORT": "1"}, "METRICS_PORT": {"METRICS_HOST": "::1"}}
    with pytest.raises(SettingsError) as raised:
        load(**{name: value}, **beside.get(name, {}))
    (told,) = raised.value.problems
    assert told.startswith(name)
    whole = f"{raised.value!r} {raised.value} {raised.value.__cause__} {raised.value.__context__}"
    assert "5ecret" not in whole + repr(pickle.dumps(raised.value.args))
    assert not PYDANTIC.search(told)
    assert "5ecret" not in told
    assert words in told
    assert {one for one, _, _ in WRONG} == {one.upper() for one in Settings.model_fields}, (
        "a setting has no wrong value"
    )


@over(
    ("name", "meant"),
    [
        *(("ADMIN_CHANEL", "ADMIN_CHANNEL"), ("ADMIN_CHANENL", "ADMIN_CHANNEL"), ("admin_chanel", "ADMIN_CHANNEL")),
        *(("SLACK_BOT_TOKN", "SLACK_BOT_TOKEN"), ("DATABSE_URL", "DATABASE_URL"), ("RACING_APIKEY", "RACING_API_KEY")),
        *(("LOG_LEVLE", "LOG_LEVEL"), ("QUOTA_CHEKC_S", "QUOTA_CHECK_S"), ("METRIX_PORT", None), ("PORT_", None)),
        *((name, None) for name in ("HOSTNAME", "HOSTTYPE", "PATH", "POST", "PORTS", "HOSTS", "LOGNAME", "LOGLEVEL")),
        *((name, None) for name in ("LOG_FILE", "LOG_LEVELS", "LOG_FORMATS", "DATABASE_URI", "DATABASE_URLS")),
        *((name, None) for name in ("SLACK_API_TOKEN", "SLACK_USER_TOKEN", "SLACK_TOKEN", "SLACK_API_URI")),
        *((name, None) for name in ("ADMIN_USER", "ADMIN_USERNAME", "ENCRYPTION_KEY", "PUBLIC_URI", "RACING_HOME")),
        # Kubernetes names each service so.
        *((name, None) for name in ("RACING_API_PORT", "RACING_BOT_PORT", "METRICS_SERVICE_PORT", "DATABASE_PORT")),
    ],
)
def test_slip_in_a_name_of_the_environment_is_a_problem_and_a_name_of_another_program_is_not(
    load, monkeypatch, name, meant
):
    told = f"{name.upper()} is no setting. Rename {name.upper()} to {meant}, or remove {name.upper()}."
    with monkeypatch.context() as patched:
        patched.setenv(name, "5ecret")
        if meant is None:
            assert load().admin_channel is None
            return
        with pytest.raises(SettingsError) as raised:
            load()
        assert raised.value.problems == (told,)


@over(
    ("name", "meant"),
    [
        *(("ADMIN_CHANEL", "ADMIN_CHANNEL"), ("ADMIN_CHANNEL_ID", "ADMIN_CHANNEL"), ("ADMIN_USER", "ADMIN_USERS")),
        *(("export DATABASE_URI", "DATABASE_URL"), ("ENCRYPTION_KEY", "ENCRYPTION_KEYS"), ("PORTS", "PORT")),
        *((name, None) for name in ("POSTGRES_PASSWORD", "REVISION", "HOSTNAME", "COMPOSE_PROFILES", "SLACK_APP_ID")),
    ],
)
@over("value", ["", "5ecret"])
def test_name_in_the_file_that_is_close_to_a_settings_is_a_problem(load, tmp_path, name, meant, value):
    file = tmp_path / ".env"
    file.write_text(f"{name}={value}\n", encoding="utf-8")
    if meant is None:
        assert load(str(file)).admin_channel is None
        return
    with pytest.raises(SettingsError) as raised:
        load(str(file))
    (told,) = raised.value.problems
    assert told.startswith(f"{name.split()[-1]} is no setting. Rename {name.split()[-1]} to {meant},")


def test_names_close_to_other_settings_do_not_keep_the_database_from_its_migration(load, tmp_path, monkeypatch):
    load()
    file = tmp_path / ".env"
    file.write_text("ADMIN_CHANEL=C0123\nSLACK_API_URL=x\n", encoding="utf-8")
    assert load_database_url(str(file)) == "sqlite:///racing-bot.db"
    file.write_text("DATABASE_URI=sqlite:///other.db\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="DATABASE_URI is no setting"):
        load_database_url(str(file))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "The file {file} can't be read: Is a directory"),
        (b"RACING_API_KEY=cl\xe9", "The file {file} is not UTF-8 text"),
        (b"# mine\n\nRACING_API_KEY 5ecret\nexport HOST=::1\n", "Line 3 of {file} is not NAME=value."),
    ],
)
def test_env_file_that_can_not_be_read_is_a_problem_and_is_not_shown(load, tmp_path, capfd, content, words):
    file = tmp_path / ".env"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(SettingsError) as raised:
        load(str(file))
    (told,) = raised.value.problems
    assert told.startswith(words.format(file=file))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("quote", ['"', "'"])
def test_quotes_that_docker_leaves_around_values_are_named_by_setting_and_never_shown(problems, quote):
    values = GOOD | {"ADMIN_USERS": "U1,U2", "DATABASE_URL": "sqlite:///bot.db", "PORT": "3000"}
    values |= {"LOG_LEVEL": "info", "ENCRYPTION_KEYS": FERNET}
    told = problems(**{name: f"{quote}{value}{quote}" for name, value in values.items()})
    assert sorted(told) == sorted(
        f"{name} has quotes around the value: take the quotes away (`docker --env-file` keeps quotes)"
        for name in values
    )


def test_database_url_is_read_without_the_other_settings(monkeypatch):
    for name in GOOD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///other.db")
    assert load_database_url(None) == "sqlite:///other.db"
    monkeypatch.setenv("DATABASE_URL", "oracle://racing:5ecret@db/racing")
    with pytest.raises(SettingsError, match="DATABASE_URL must begin with") as raised:
        load_database_url(None)
    assert "5ecret" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("https://hc-ping.com/0f7c41d2-5a5e", "https://hc-ping.com/0f7c41d2-5a5e"),
        (" https://hc-ping.com/key/racing-bot/?create=1 ", "https://hc-ping.com/key/racing-bot?create=1"),
        ("http://127.0.0.1:8000/ping/1", "http://127.0.0.1:8000/ping/1"),
    ],
)
def test_heartbeat_address_is_taken_with_its_query_and_never_shown(load, given, taken):
    settings = load(HEARTBEAT_URL=given)
    assert settings.heartbeat_url.get_secret_value() == taken
    assert "hc-ping" not in repr(settings)
    assert {taken, urlsplit(taken).path.strip("/")} <= settings.secret_values

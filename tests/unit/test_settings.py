"""Settings: every problem at once, in words that say what to do, and never a secret."""

import pickle
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.errors import SettingsError
from bot.settings import (
    LOOPBACK_HOSTS,
    DoubtfulPosts,
    Settings,
    SubscribeBy,
    check_address,
    load_database_url,
    load_settings,
)

GOOD = {
    "RACING_API_URL": "https://api.example.com/v1",
    "RACING_API_KEY": "racing-key-of-a-test",
    "SLACK_BOT_TOKEN": "xoxb-token-of-a-test",
    "SLACK_SIGNING_SECRET": "signing-secret-of-a-test",
}
FERNET = Fernet.generate_key().decode()


@pytest.fixture
def load(monkeypatch):
    """Settings of exactly these environment variables, on top of good ones."""

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
        *("PORT", "RACING_API_KEY", "SETTLE_S", "SLACK_BOT_TOKEN", "SUBSCRIBE_BY"),
    ]
    assert "RACING_API_KEY is missing. The data service's API key; sent in the `X-API-Key` header only." in told


def test_settings_take_a_blank_value_for_an_unset_one(load, problems):
    assert load(ADMIN_CHANNEL="", MONTHLY_QUOTA="", SLACK_APP_TOKEN="").monthly_quota is None
    assert [one.split()[:3] for one in problems(RACING_API_KEY="")] == [["RACING_API_KEY", "is", "missing."]]


def test_settings_come_from_an_env_file_too_and_the_environment_goes_first(load, tmp_path):
    file = tmp_path / ".env"
    file.write_text("RACING_API_KEY=from-the-file\nADMIN_CHANNEL=C0FILE\nNOT_OURS=1\n", encoding="utf-8")
    settings = load(str(file))
    assert settings.racing_api_key.get_secret_value() == "racing-key-of-a-test"
    assert settings.admin_channel == "C0FILE"


def test_settings_are_frozen(load):
    settings = load()
    with pytest.raises(ValidationError):
        settings.port = 4000
    assert load() == settings


SECRETS = {
    "RACING_API_KEY": "rk-5ecret-1",
    "SLACK_BOT_TOKEN": "xoxb-5ecret-2",
    "SLACK_SIGNING_SECRET": "5ecret-3",
    "SLACK_APP_TOKEN": "xapp-5ecret-4",
    "RACING_WEBHOOK_SECRETS": "5ecret-5,5ecret-6",
    "DATABASE_URL": "postgresql://racing:5ecret-7@db/racing",
    "ENCRYPTION_KEYS": FERNET,
}


def test_settings_show_no_secret(load):
    settings = load(**SECRETS)
    for shown in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "5ecret" not in shown
        assert FERNET not in shown


def test_settings_know_every_secret_that_the_log_is_to_mask(load):
    expected = {"rk-5ecret-1", "xoxb-5ecret-2", "5ecret-3", "xapp-5ecret-4", "5ecret-5", "5ecret-6", "5ecret-7", FERNET}
    assert load(**SECRETS).secret_values == expected


WRONG_SECRETS = {
    "RACING_API_KEY": "5ecret with a blank",
    "SLACK_BOT_TOKEN": "xoxp-5ecret",
    "SLACK_APP_TOKEN": "xoxb-5ecret",
    "ENCRYPTION_KEYS": "5ecret",
    "DATABASE_URL": "mysql://racing:5ecret@db/racing",
    "RACING_API_URL": "https://racing:5ecret@api.example.com/v1",
    "PUBLIC_URL": "https://racing:5ecret@bot.example.com",
}


@pytest.mark.parametrize("name", WRONG_SECRETS)
def test_problem_with_a_secret_does_not_show_it(load, name):
    with pytest.raises(SettingsError) as raised:
        load(**{name: WRONG_SECRETS[name]})
    assert name in str(raised.value)
    told = repr(raised.value) + str(raised.value) + str(raised.value.__cause__) + str(raised.value.__context__)
    assert "5ecret" not in told
    assert b"5ecret" not in pickle.dumps(raised.value.args)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"RACING_API_URL": "api.example.com/v1"}, "RACING_API_URL must be a whole address"),
        ({"RACING_API_URL": "http://api.example.com/v1"}, "RACING_API_URL must be https"),
        ({"RACING_API_URL": "https://api.example.com"}, "RACING_API_URL must end in the version segment"),
        ({"RACING_API_URL": "https://api.example.com/v1?key=1"}, "RACING_API_URL must not carry a query"),
        ({"SLACK_API_URL": "http://slack.com/api/"}, "SLACK_API_URL must be https"),
        ({"PUBLIC_URL": "http://bot.example.com"}, "PUBLIC_URL must be https"),
        ({"RACING_RACE_PATH": "races/{id}"}, "RACING_RACE_PATH must contain {race_id}"),
        ({"RACING_RACE_PATH": "https://elsewhere/{race_id}"}, "RACING_RACE_PATH is a path below RACING_API_URL"),
        ({"RACING_DAY_PATH": "days/{region}"}, "RACING_DAY_PATH must contain {date}"),
        ({"ENCRYPTION_KEYS": f"{FERNET},short"}, "ENCRYPTION_KEYS number 2 is not a Fernet key"),
        (
            {"SLACK_BOT_TOKEN": "xapp-1"},
            "SLACK_BOT_TOKEN is an app-level token (xapp-…); give the Bot User OAuth Token",
        ),
        ({"SLACK_APP_TOKEN": "xoxp-1"}, "SLACK_APP_TOKEN is a user token (xoxp-…); give the App-Level Token"),
        ({"SLACK_BOT_TOKEN": "foo"}, "SLACK_BOT_TOKEN is no such token; give the Bot User OAuth Token, which begins"),
        ({"SLACK_APP_TOKEN": "foo"}, "SLACK_APP_TOKEN is no such token; give the App-Level Token, which begins"),
        ({"SLACK_APP_TOKEN": "foo", "SLACK_SIGNING_SECRET": None}, "SLACK_APP_TOKEN is no such token"),
        *(
            ({"ADMIN_CHANNEL": name}, "ADMIN_CHANNEL must be the channel's id, such as C0123456789, not its name")
            for name in ("general", "#general", "@bob", "C0123 456", "<#C0123|general>", "c0123456789", "C")
        ),
        *(
            ({"ADMIN_USERS": ids}, f"ADMIN_USERS must be user ids, such as U0123456789, not names: look at {number} (")
            for ids, number in (("@bob,jane", "numbers 1 and 2"), ("U1,jane", "number 2"), ("C0123", "number 1"))
        ),
        ({"SLACK_SIGNING_SECRET": None}, "SLACK_SIGNING_SECRET is missing"),
        ({"METRICS_PORT": "9000"}, "METRICS_PORT and METRICS_HOST go together"),
        ({"METRICS_HOST": "127.0.0.1"}, "METRICS_PORT and METRICS_HOST go together"),
        ({"RACING_API_KEY": 'one" key'}, "RACING_API_KEY must be printable ASCII without spaces"),
        ({"RACING_API_KEY": "clé"}, "RACING_API_KEY must be printable ASCII without spaces"),
        ({"DATABASE_URL": "racing-bot.db"}, "DATABASE_URL must begin with sqlite:///"),
        ({"DATABASE_URL": "sqlite://"}, "DATABASE_URL must name a file"),
        ({"DATABASE_URL": "sqlite:///:memory:"}, "DATABASE_URL must name a file"),
        ({"QUOTA_WARN_AT": "50,eighty"}, "QUOTA_WARN_AT, number 2, "),
        ({"QUOTA_WARN_AT": "50,101"}, "QUOTA_WARN_AT, number 2, "),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL "),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT "),
        ({"MAX_BODY_BYTES": "10"}, "MAX_BODY_BYTES "),
        ({"DOUBTFUL_POSTS": "forget"}, "DOUBTFUL_POSTS "),
    ],
)
def test_problem_says_which_setting_and_what_would_be_right(problems, changes, words):
    (told,) = problems(**changes)
    assert told.startswith(words)


@pytest.mark.parametrize(
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
    ],
)
def test_setting_is_read_into_its_value(load, name, given_value, attribute, read):
    assert getattr(load(**{name: given_value}), attribute) == read


def test_every_name_in_the_place_of_an_id_is_told_at_once(problems):
    names = {"ADMIN_CHANNEL": "general", "ADMIN_USERS": "@bob,jane", "SLACK_BOT_TOKEN": "foo", "SLACK_APP_TOKEN": "foo"}
    told = problems(**names)
    assert sorted(problem.split()[0] for problem in told) == sorted(names)
    assert "foo" not in " ".join(told)


@pytest.mark.parametrize("quote", ['"', "'"])
def test_quotes_that_docker_leaves_around_values_are_named_by_setting_and_never_shown(problems, quote):
    names = {*GOOD, "ADMIN_USERS", "DATABASE_URL", "PORT", "LOG_LEVEL", "ENCRYPTION_KEYS"}
    values = GOOD | {"ADMIN_USERS": "U1,U2", "DATABASE_URL": "sqlite:///bot.db", "PORT": "3000"}
    values |= {"LOG_LEVEL": "info", "ENCRYPTION_KEYS": FERNET}
    told = problems(**{name: f"{quote}{value}{quote}" for name, value in values.items()})
    assert sorted(told) == sorted(
        f"{name} has quotes around the value: take the quotes away (`docker --env-file` keeps quotes)" for name in names
    )


def test_quotes_in_an_env_file_of_ours_are_taken_away(load, tmp_path):
    file = tmp_path / "settings.env"
    file.write_text('RACING_API_KEY="key-in-quotes"\n')
    assert load(str(file), RACING_API_KEY=None).racing_api_key.get_secret_value() == "key-in-quotes"


@pytest.mark.parametrize("token", ["xoxb-1", "xoxe.xoxb-1"])
def test_bot_token_is_one_that_is_rotated_or_not(load, token):
    assert load(SLACK_BOT_TOKEN=token).slack_bot_token.get_secret_value() == token


def test_signing_secret_is_not_needed_with_an_app_token(load):
    assert load(SLACK_SIGNING_SECRET=None, SLACK_APP_TOKEN="xapp-1").slack_signing_secret is None


def test_metrics_go_to_another_address_where_both_are_set(load):
    settings = load(METRICS_HOST="127.0.0.1", METRICS_PORT="9000")
    assert (settings.metrics_host, settings.metrics_port) == ("127.0.0.1", 9000)


def test_database_url_is_read_without_the_other_settings(monkeypatch):
    for name in GOOD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///other.db")
    assert load_database_url(None) == "sqlite:///other.db"
    monkeypatch.setenv("DATABASE_URL", "oracle://racing:5ecret@db/racing")
    with pytest.raises(SettingsError, match="DATABASE_URL must begin with") as raised:
        load_database_url(None)
    assert "5ecret" not in str(raised.value)


@given(st.text(max_size=60) | st.from_regex(r"https?://[a-z:@/?#\[\]0-9.]{0,20}", fullmatch=True))
def test_address_is_https_or_loopback_or_refused_whatever_is_typed(typed):
    with suppress(ValueError):
        address = check_address(typed, loopback_http=True)
        parts = urlsplit(address)
        assert parts.scheme == "https" or parts.hostname in LOOPBACK_HOSTS
        assert not set(address) & set("@?#")


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


@pytest.mark.parametrize(
    "given",
    [
        "http://hc-ping.com/0f7c41d2",
        "hc-ping.com/0f7c41d2",
        "https://a:0f7c41d2@hc-ping.com/",
        "https://hc/?a#0f7c41d2",
    ],
)
def test_heartbeat_address_that_is_none_or_unsafe_is_refused_without_showing_it(problems, given):
    (problem,) = problems(HEARTBEAT_URL=given)
    assert problem.startswith("HEARTBEAT_URL must")
    assert "0f7c41d2" not in problem

"""Addresses that operators write: taken, refused with the reason, and shown without a secret."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url
from starlette.routing import Route

from bot.addresses import (
    LOOPBACK_HOSTS,
    OUR_PATHS,
    certificate_problems,
    check_address,
    check_database,
    check_public_address,
    check_service_address,
    check_service_path,
    proxy_of,
    proxy_problems,
    shown_database,
)
from bot.app import Service
from bot.db.engine import Database
from bot.errors import database_secrets
from bot.web.plain_answers import WEBHOOK_PATH
from tests.rows import Answers, over
from tests.unit.pages import settings

ROWS = Path(__file__).with_name("addresses.yaml")
PROXY = "http://proxy.example.com:3128"
SLACK, OTHER_PORT = "https://slack.com/api/", "https://slack.com:8443/api/"
# The environment, addresses with the proxy, and addresses without.
PROXIES: list[tuple[dict[str, str], list[str], list[str]]] = [
    ({}, [], [SLACK]),
    ({"HTTPS_PROXY": PROXY}, [SLACK, "wss://wss-primary.slack.com/link"], ["http://slack.com"]),
    ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other.example.com"}, [SLACK], []),
    ({"https_proxy": "", "HTTPS_PROXY": PROXY}, [], [SLACK]),
    ({"ALL_PROXY": PROXY}, [SLACK, "http://slack.com"], []),
    ({"HTTP_PROXY": PROXY}, ["http://slack.com", "ws://slack.com"], [SLACK]),
    ({"HTTPS_PROXY": "proxy.example.com:3128"}, [SLACK], []),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": "slack.com"}, ["https://notslack.com"], [SLACK, "https://hooks.slack.com"]),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": ".slack.com"}, ["https://example.com"], [SLACK, "https://HOOKS.slack.com"]),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": "slack.com:443"}, [OTHER_PORT], [SLACK, "wss://slack.com"]),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": "a.com, slack.com:8443"}, [SLACK], [OTHER_PORT]),
    ({"HTTPS_PROXY": PROXY, "no_proxy": "SLACK.com", "NO_PROXY": "a.com"}, ["https://a.com"], [SLACK]),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, [], [SLACK, "wss://slack.com"]),
    ({"HTTPS_PROXY": PROXY, "NO_PROXY": "a.com, *"}, [], [SLACK]),
    (
        {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.1.2.3,2001:db8::1"},
        [SLACK],
        ["https://10.1.2.3", "https://[2001:db8::1]"],
    ),
    ({"ALL_PROXY": PROXY}, [], ["https://localhost", "https://127.0.0.1:9", "http://[::1]/v1"]),
]


@over(("environment", "proxied", "direct"), PROXIES)
def test_proxy_is_that_of_the_environment_except_for_this_machine(monkeypatch, environment, proxied, direct):
    set_proxies(monkeypatch, environment)
    assert [proxy_of(url) for url in proxied] == [PROXY] * len(proxied)
    assert [proxy_of(url) for url in direct] == [None] * len(direct)


@over(
    ("environment", "problem"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "proxy:3128", "ALL_PROXY": "socks5://proxy:1080"}, None),
        ({"ALL_PROXY": "socks5://me:secret@proxy:1080"}, "ALL_PROXY"),
        *(
            ({"https_proxy": wrong}, "HTTPS_PROXY")
            for wrong in ("http://", "http://p:x", "http://[::1", "http://a b:1")
        ),
        ({"HTTPS_PROXY": "socks5://proxy:1080", "NO_PROXY": "slack.com"}, None),
        ({"HTTP_PROXY": "socks5://proxy:1080"}, None),
    ],
)
def test_proxy_that_cannot_be_used_is_a_problem_of_the_start(monkeypatch, environment, problem):
    set_proxies(monkeypatch, environment)
    wanted = f"{problem} must be an http or https address, such as http://proxy.example.com:3128."
    assert proxy_problems([SLACK, "http://127.0.0.1:9/v1"]) == ([wanted] if problem else [])


def test_file_of_trusted_certificates_that_can_not_be_read_is_a_problem_where_https_is_called(tmp_path):
    for file in (tmp_path / "nowhere.pem", tmp_path / "wrong.pem"):
        (told,) = certificate_problems([SLACK], str(file))
        assert told.startswith("SSL_CERT_FILE must be a file of certificates")
        assert certificate_problems(["http://127.0.0.1:9/v1"], str(file)) == []
        (tmp_path / "wrong.pem").write_text("no certificate")


def set_proxies(monkeypatch, environment):
    for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@over(("url", "problem"), Answers(ROWS, "service"))
def test_service_address_is_taken_without_a_trailing_slash_or_refused_with_the_reason(url, problem):
    if problem == "taken":
        assert check_service_address(url) == url.rstrip("/")
        return
    with pytest.raises(ValueError, match=re.escape(problem)):
        check_service_address(url)


@given(st.text(max_size=60) | st.from_regex(r"https?://[a-z:@/?#\[\]0-9.]{0,20}", fullmatch=True))
def test_address_is_https_or_loopback_or_refused_whatever_is_typed(typed):
    with suppress(ValueError):
        address = check_address(typed)
        parts = urlsplit(address)
        assert parts.scheme == "https" or parts.hostname in LOOPBACK_HOSTS
        assert not set(address) & set("@?#")


@over("end", [*OUR_PATHS, "/slack/events/", "//slack//events", "/Slack/Events", "/prefix/readyz"])
def test_public_address_ends_before_our_own_paths(end):
    with pytest.raises(ValueError, match="the bot adds its paths to the address"):
        check_public_address(f"https://bot.example.com{end}")


@over("address", ["https://bot.example.com", "https://example.com/racing", "https://a.example/slack"])
def test_public_address_may_have_the_prefix_of_a_proxy(address):
    assert check_public_address(f"{address}/") == address


def test_our_paths_are_those_that_the_service_serves():
    served = {route.path.rstrip("/") for route in Service(settings()).app.routes if isinstance(route, Route)}
    assert set(OUR_PATHS) == served | {WEBHOOK_PATH}


RACE, DAY = ({"race_id"}, {"race_id"}), ({"date", "region"}, {"date"})


@over(("path", "problem"), Answers(ROWS, "paths of a race"))
def test_service_path_is_taken_or_refused_with_the_reason_and_without_a_secret(path, problem):
    if problem == "taken":
        assert check_service_path(f"/{path}", *RACE) == check_service_path(path, *RACE) == path
        return
    with pytest.raises(ValueError, match=r"must|is a") as raised:
        check_service_path(path, *RACE)
    assert problem in str(raised.value)
    assert "s3cret" not in str(raised.value)


@over("path", ["days/{date}?region={region}", "days?key={date}"])
def test_service_path_of_a_day_is_taken(path):
    assert check_service_path(path, *DAY) == path


@over(("address", "shown"), Answers(ROWS, "databases shown"))
def test_database_is_shown_without_a_secret(address, shown):
    assert shown_database(make_url(check_database(address))) == shown
    assert shown.partition("//")[2] in repr(Database(address))


@over(("address", "is_usual"), Answers(ROWS, "databases"))
def test_usual_address_of_a_database_is_taken_and_another_refused_without_a_secret(address, is_usual):
    if is_usual:
        assert check_database(address) == address
        return
    with pytest.raises(ValueError, match=r"must|has|can't be read") as raised:
        check_database(address)
    assert "s3cret" not in str(raised.value)


@over(
    ("address", "secrets"),
    [
        ("sqlite:///racing-bot.db", set()),
        ("postgresql://racing:a%40b@db/racing?sslmode=require", {"a@b", "a%40b"}),
        ("postgresql://racing:a[@db/racing", {"a["}),
        ("postgresql://db/racing?password=a%40b&sslpassword=c", {"a@b", "a%40b", "c"}),
        ("postgresql://db/racing?sslpassword=a%2D1&password=a+2", {"a%2D1", "a-1", "a+2", "a 2"}),
    ],
)
def test_passwords_of_a_database_are_known_as_written_and_decoded(address, secrets):
    assert database_secrets(address) == secrets

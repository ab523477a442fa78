import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.address import check_base_url, fill_path


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "https://api.example.com/v1/",
        "https://api.example.com:8443/racing/v2.1",
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://[::1]:9/v1",
    ],
)
def test_base_url_is_taken(url):
    assert check_base_url(url) is None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "whole address"),
        ("api.example.com/v1", "whole address"),
        ("ftp://api.example.com/v1", "whole address"),
        ("https:///v1", "whole address"),
        ("https://api.example.com /v1", "spaces"),
        ("https://api.example.com\\@evil.example/v1", "spaces"),
        ("https://[::1/v1", "not an address"),
        ("https://api.example.com:99999/v1", "not an address"),
        ("https://me:secret@api.example.com/v1", "user name"),
        ("https://@api.example.com/v1", "user name"),
        ("https://api.example.com/v1?key=x", "query"),
        ("https://api.example.com/v1#x", "fragment"),
        ("http://api.example.com/v1", "https"),
        ("http://127.0.0.1.example.com/v1", "https"),
        ("https://api.example.com", "version"),
        ("https://api.example.com/v1/races", "version"),
        ("https://api.example.com/../v1", "version"),
    ],
)
def test_base_url_is_refused_with_its_problem(url, problem):
    assert problem in str(check_base_url(url))


@given(st.text())
def test_base_url_from_a_stranger_is_checked_without_a_crash(url):
    check_base_url(url)
    check_base_url(f"https://{url}/v1")


def test_path_is_filled_with_quoted_values():
    assert fill_path("races/{race_id}", race_id="a/b?c#d e") == ("races/a%2Fb%3Fc%23d%20e", ())


def test_path_is_told_apart_from_its_query():
    asked = fill_path("days/{date}?region={region}&at={date}&all", date="2026-11-20", region="A&B?")
    assert asked == ("days/2026-11-20", (("region", "A&B?"), ("at", "2026-11-20"), ("all", "")))


@pytest.mark.parametrize("race_id", ["", ".", ".."])
def test_path_takes_no_value_that_leaves_it(race_id):
    with pytest.raises(ValueError, match="can't stand in a path"):
        fill_path("races/{race_id}", race_id=race_id)

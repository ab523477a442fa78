import pytest

from bot.racedata.client.address import fill_path


def test_path_is_filled_with_quoted_values():
    assert fill_path("races/{race_id}", race_id="a/b?c#d e") == ("races/a%2Fb%3Fc%23d%20e", ())


def test_path_is_told_apart_from_its_query():
    asked = fill_path("days/{date}?region={region}&at={date}&all", date="2026-11-20", region="A&B?")
    assert asked == ("days/2026-11-20", (("region", "A&B?"), ("at", "2026-11-20"), ("all", "")))


@pytest.mark.parametrize("race_id", ["", ".", ".."])
def test_path_takes_no_value_that_leaves_it(race_id):
    with pytest.raises(ValueError, match="can't stand in a path"):
        fill_path("races/{race_id}", race_id=race_id)

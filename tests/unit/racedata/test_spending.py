from itertools import pairwise

import pytest

from bot.racedata.quota_purposes import TIERS, Purpose, tier_of


@pytest.mark.parametrize(
    ("left", "purposes"),
    [
        (15_000, {Purpose.UPKEEP, Purpose.PEOPLE}),
        (751, {Purpose.UPKEEP, Purpose.PEOPLE}),
        (750, {Purpose.PEOPLE}),
        (151, {Purpose.PEOPLE}),
        (150, set()),
        (0, set()),
    ],
)
def test_less_that_is_left_is_spent_on_less(left, purposes):
    assert tier_of(left, 15_000).purposes == purposes


def test_everything_is_spent_where_the_quota_is_not_known():
    assert tier_of(None, 15_000) == tier_of(None, None) == TIERS[0]


def test_tiers_narrow_one_after_another():
    for wider, narrower in pairwise(TIERS):
        assert wider.above_percent > narrower.above_percent
        assert wider.purposes > narrower.purposes
        assert narrower.words

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.month_quota import QuotaSource, month_key
from bot.racedata.quota_by_day import Sample, days_of


def sample(at, used, *, certain=True, source=QuotaSource.TOTAL, **figures):
    return Sample(at=at, month=month_key(at), used=used, certain=certain, source=source, **figures)


def at(day, hour=0, minute=0, month=11):
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def used(samples):
    return days_of(samples, lambda one: one.used)


def test_growth_between_samples_is_the_days():
    days = used([sample(at(1, 23, 59), 100), sample(at(2, 23, 59), 150), sample(at(3, 12), 170)])
    assert days.whole == {date(2026, 11, 1): 100, date(2026, 11, 2): 50}
    assert days.today == 20


def test_growth_over_midnight_is_spread_by_time():
    days = used([sample(at(1, 18), 60), sample(at(2, 18), 100), sample(at(2, 23), 100)])
    assert days.whole == {date(2026, 11, 1): 70}
    assert days.today == 30


def test_new_month_counts_from_its_start():
    days = used([sample(at(29, 23, 59), 900), sample(at(30, 23, 45), 960), sample(at(1, 0, 5, month=12), 4)])
    assert days.whole[date(2026, 11, 30)] == 60
    assert days.today == 4


def test_year_turns_as_a_month_does():
    before = datetime(2026, 12, 31, 23, 50, tzinfo=UTC)
    days = used([sample(before - timedelta(days=1), 900), sample(before, 960), sample(before + timedelta(days=1), 30)])
    assert days.whole[date(2026, 12, 31)] == 60
    assert days.today == 30


def test_days_between_far_samples_are_not_known():
    days = used([sample(at(1, 23, 59), 100), sample(at(5, 12), 500), sample(at(5, 23, 59), 510)])
    assert days.whole == {date(2026, 11, 1): 100}
    assert days.today == 10


def test_first_reading_in_the_middle_of_a_month_tells_of_no_day():
    assert used([sample(at(16, 12), 8_000)]).whole == {}
    assert used([sample(at(16, 12), 8_000)]).today == 0


def test_figures_that_count_other_things_are_not_compared():
    own = sample(at(1, 23, 59), 30, certain=False, source=QuotaSource.OWN_COUNT)
    assert used([own, sample(at(2, 23, 59), 9_000)]).whole == {}


def test_figure_that_did_not_come_leaves_its_days_out():
    samples = [sample(at(1, 23, 59), 10, errors=1), sample(at(2, 23, 59), 20), sample(at(3, 23, 59), 30, errors=9)]
    assert days_of(samples, lambda one: one.errors).whole == {date(2026, 11, 1): 1}


def with_errors(errors_by_day):
    total, samples = 0, []
    for number, errors in enumerate(errors_by_day, start=1):
        total += errors
        samples.append(sample(at(number, 23, 59), number * 100, errors=total))
    return days_of(samples, lambda one: one.errors)


def test_jump_is_far_above_the_usual():
    jump = with_errors([10, 12, 9, 11, 10, 8, 10, 60]).jump
    assert (jump.today, jump.usual) == (60, 10)
    assert jump.highest < 60


def test_usual_day_is_no_jump():
    for today in (0, 10, 20):
        assert with_errors([10, 12, 9, 11, 10, 8, 10, today]).jump is None
    # Few are no jump, however seldom they were; nor are busy days of a business that has some.
    assert with_errors([0] * 9 + [20]).jump is None
    assert with_errors([10, 200, 10, 220, 15, 190, 12, 230]).jump is None


def test_jump_needs_a_week_to_compare_with():
    assert with_errors([1] * 6 + [10_000]).jump is None
    assert with_errors([1] * 7 + [10_000]).jump is not None


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(2026, 1, 1), datetime(2027, 2, 1), timezones=st.just(UTC)),  # noqa: DTZ001
            st.integers(0, 10**9),
            st.booleans(),
            st.none() | st.integers(0, 10**9),
        ),
        max_size=40,
    )
)
def test_days_of_any_samples_are_never_negative_nor_more_than_was_used(rows):
    samples = [sample(at, used, certain=certain, errors=errors) for at, used, certain, errors in rows]
    for figure in (lambda one: one.used, lambda one: one.errors):
        days = days_of(samples, figure)
        assert all(count >= 0 for count in (*days.whole.values(), days.today))
        # Each growth is at most its later figure.
        assert sum(days.whole.values()) + days.today <= sum(figure(one) or 0 for one in samples) + len(days.whole) + 1
        assert list(days.whole) == sorted(days.whole)


def test_order_of_samples_does_not_matter():
    samples = [sample(at(day, 23, 59), day * 10) for day in range(1, 9)]
    assert used(samples) == used(samples[::-1])

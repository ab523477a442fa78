"""The made-up racing: plausible, and the same for the same seed on every date."""

from datetime import date, timedelta

from sandbox.racing_day import meetings_on
from sandbox.racing_places import COUNTRIES, REGION_CODES, courses_of

DAY = date(2025, 11, 20)


def a_fortnight(seed=1):
    return [meeting for ahead in range(14) for meeting in meetings_on(seed, DAY, ahead)]


def drawn(meetings):
    """All but ids and dates."""
    return [
        (meeting.course, [(race.off_time, race.title, race.runners) for race in meeting.races]) for meeting in meetings
    ]


def test_racing_of_a_seed_is_the_same_whatever_the_date_is_but_for_ids_and_dates():
    before = meetings_on(7, DAY, 0)
    meetings_on.cache_clear()
    other = meetings_on(7, DAY + timedelta(days=100), 0)
    assert meetings_on(7, DAY, 0) == before
    assert drawn(other) == drawn(before)
    assert {meeting.race_date for meeting in other} == {DAY + timedelta(days=100)}
    assert not {meeting.meeting_id for meeting in other} & {meeting.meeting_id for meeting in before}


def test_racing_differs_between_seeds_and_between_days():
    assert drawn(meetings_on(7, DAY, 0)) != drawn(meetings_on(8, DAY, 0))
    assert drawn(meetings_on(7, DAY, 0)) != drawn(meetings_on(7, DAY, 1))


def test_ids_are_unique_and_carry_their_prefix():
    meetings = a_fortnight()
    race_ids = [race.race_id for meeting in meetings for race in meeting.races]
    assert len(set(race_ids)) == len(race_ids)
    assert all(race_id.startswith("rc_") for race_id in race_ids)
    assert len({meeting.meeting_id for meeting in meetings}) == len(meetings)


def test_races_of_a_meeting_go_off_one_after_another():
    for meeting in a_fortnight():
        offs = [race.off_at for race in meeting.races]
        assert offs == sorted(offs)
        assert all(race.off_time == race.off_at.strftime("%H:%M") for race in meeting.races)


def test_runners_have_different_names_and_one_winner_at_least():
    for meeting in a_fortnight():
        for race in meeting.races:
            assert len({runner.horse for runner in race.runners}) == len(race.runners)
            assert [runner.position for runner in race.runners].count("1") == 1


def test_names_hold_what_trips_markup_and_encodings():
    names = "".join(runner.horse for meeting in a_fortnight() for race in meeting.races for runner in race.runners)
    assert "&" in names
    assert "'" in names
    assert not names.isascii()


def test_places_are_as_many_as_the_interface_says_and_labels_differ_from_regions():
    assert len(REGION_CODES) == 12
    assert len(COUNTRIES) == 18
    courses = [course for region in REGION_CODES for course in courses_of(region)]
    assert len({course.course_id for course in courses}) == len(courses) > 80
    assert any(course.country != course.region for course in courses)
    assert any(course.shortcode is None for course in courses)
    ascots = [course.region for course in courses if course.name == "Ascot"]
    assert ascots == ["GB", "AUS"]

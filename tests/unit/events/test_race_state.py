"""Words for what became of a race."""

import pytest

from bot.events.race_state import RaceState, state_in


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RaceState.ABANDONED, ["Abandoned", "ABANDONED - frost", "MEETINGABANDONED", "race_cancelled", "Called off"]),
        (RaceState.ABANDONED, ["COURSE_ANNULEE", "Abgesagt", "Canceled", "Not run", "RACE_WAS_NOT_RUN"]),
        (RaceState.VOID, ["Void", "Void race", "RACE_VOIDED", "Declared void", "No race", "Annulled"]),
        (RaceState.POSTPONED, ["Postponed", "POSTPONED to Friday", "Rescheduled"]),
        (RaceState.WALKOVER, ["Walkover", "Walk over", "W/O", "walked_over"]),
        (RaceState.RUN, ["Result", "Weighed In", "WEIGHEDIN", "Official", "Final", "Paying", "Race finished"]),
        (RaceState.PROVISIONAL, ["Interim", "Provisional", "Photo finish", "Stewards inquiry"]),
        (None, ["", None, "Declared", "Going down", "Delayed", "Off", "Under review", "Avoid", "Runner"]),
        (
            None,
            ["Not abandoned", "May be abandoned", "Subject to inspection", "Abandonment feared", "Unlikely to be void"],
        ),
    ],
)
def test_state_is_read_of_the_words_of_its_kind(state, words):
    assert {said: state_in(said) for said in words} == dict.fromkeys(words, state)

"""The words of a race's state: run, provisional, abandoned, void or postponed, with the reason of a loss."""

import pytest

from bot.events.race_state import RaceState, reason_in, state_in


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RaceState.ABANDONED, ["Abandoned", "ABANDONED - frost", "MEETINGABANDONED", "race_cancelled", "Called off"]),
        (RaceState.ABANDONED, ["COURSE_ANNULEE", "Abgesagt", "Canceled", "Not run", "RACE_WAS_NOT_RUN"]),
        (RaceState.ABANDONED, ["ABND", "ABORTED", "Race aborted", "Inställt"]),
        (RaceState.VOID, ["Void", "Void race", "RACE_VOIDED", "Declared void", "No race", "Annulled"]),
        (RaceState.POSTPONED, ["Postponed", "POSTPONED to Friday", "Rescheduled", "Moved", "Flyttad"]),
        (RaceState.WALKOVER, ["Walkover", "Walk over", "W/O", "walked_over"]),
        (RaceState.RUN, ["Result", "Weighed In", "WEIGHEDIN", "Official", "Final", "Paying", "Race finished"]),
        (
            RaceState.ABANDONED,
            ["取消", "開催取り止め", "取りやめ", "Abgebrochen", "Did not take place", "Race deleted"],
        ),
        (
            RaceState.ABANDONED,
            ["Will not be run", "Not staged", "Washed out", "Meeting off", "ABAN", "CANC", "Race lost"],
        ),
        (RaceState.ABANDONED, ["Afgelast", "Aflyst", "Peruttu", "Odwołany", "İptal", "취소", "Anulada", "Supprimée"]),
        (RaceState.POSTPONED, ["Verlegt", "Aplazada", "Rinviata", "Utsatt", "Uitgesteld", "연기"]),
        (RaceState.VOID, ["競走不成立"]),
        (RaceState.PROVISIONAL, ["Interim", "Provisional", "Photo finish", "Stewards inquiry"]),
        (RaceState.PROVISIONAL, ["Objection lodged", "Inquiry in progress", "UNDER_INQUIRY", "Photo called", "審議"]),
        (RaceState.PROVISIONAL, ["Interim result", "Awaiting weigh in", "Arrivée provisoire", "Vorläufig"]),
        (
            None,
            [
                "출전취소",
                "Off",
                "Lost",
                "Suspended",
                "Will be run",
                "出走取消",
                "Pending",
                "Stopped",
                "Suspended",
                "Hold all tickets",
                "Preliminary",
            ],
        ),
        (None, ["", None, "Declared", "Going down", "Delayed", "Off", "Under review", "Avoid", "Runner"]),
        (None, ["Moved up", "First start aborted"]),
        (
            None,
            ["Not abandoned", "May be abandoned", "Subject to inspection", "Abandonment feared", "Unlikely to be void"],
        ),
    ],
)
def test_state_is_read_of_the_words_of_its_kind(state, words):
    assert {said: state_in(said) for said in words} == dict.fromkeys(words, state)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("Abandoned - waterlogged", "waterlogged"),
        ("MEETING ABANDONED: high winds", "high winds"),
        ("Void (false start)", "false start"),
        ("Abandoned", None),
        ("Abandoned (3)", None),
        ("Called-off", None),
        ("Official - photo", None),
        (None, None),
    ],
)
def test_reason_of_a_lost_race_stands_behind_its_state(status, reason):
    assert reason_in(status) == reason

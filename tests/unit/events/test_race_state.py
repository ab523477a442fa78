"""The words of a race's state, the reason and the extent of a loss, and the sets of outcomes."""

from pathlib import Path

from bot.events.lost_part import run_before_loss
from bot.events.race_state import (
    CONFLICTS,
    HAS_RUN,
    NOT_HELD,
    WITH_RESULT,
    RaceOutcome,
    express_losses,
    is_amended,
    is_in_doubt,
    is_taken_back,
    letters,
    reason_in,
    state_in,
)
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("race_state.yaml")


@over(
    ("said", "state"),
    [*Answers(ROWS, "states"), (f"{'.' * 194}Result", "run"), (f"{'.' * 195}Result", None), ("", None), (None, None)],
)
def test_state_is_read_of_the_words_of_its_kind(said, state):
    assert state_in(said) == state


@over(("said", "is_express"), Answers(ROWS, "notes"))
def test_note_tells_an_express_loss_of_the_race_alone(said, is_express):
    own = ("York Park", "Gimcrack Stakes", "Handicap")
    assert any(express_losses(said, own, is_note=True)) is is_express


@over(("words", "clause"), Answers(ROWS, "clauses"))
def test_express_loss_is_a_clause_about_a_race_alone(words, clause):
    found = [clause for _, clause in express_losses(words, ("York Handicap",))]
    assert found == {"all": [words], "none": []}.get(clause, [clause])


@over(("said", "is_express"), Answers(ROWS, "causes"))
def test_cause_of_a_loss_without_places_may_have_any_words(said, is_express):
    assert any(express_losses(said, ("York",), is_note=True, is_open=True)) is is_express


@over(("status", "reason"), Answers(ROWS, "reasons"))
def test_reason_of_a_lost_race_stands_behind_its_state(status, reason):
    assert reason_in(status) == reason


@over(("words", "races_run"), Answers(ROWS, "races run"))
def test_races_run_before_a_loss_are_counted_as_the_words_say(words, races_run):
    assert run_before_loss(words) == races_run


@over(("status", "is_so"), Answers(ROWS, "amended"))
def test_result_is_amended_by_a_sure_word(status, is_so):
    assert is_amended(status) is is_so


@over(("status", "is_so"), Answers(ROWS, "in doubt"))
def test_status_may_say_that_places_are_in_doubt(status, is_so):
    assert is_in_doubt(status) is is_so


@over(("status", "is_so"), Answers(ROWS, "taken back"))
def test_abandonment_may_be_taken_back(status, is_so):
    assert is_taken_back(status) is is_so


@over("status", ["Weighed In", "weighed_in", "WEIGHED-IN"])
def test_status_is_compared_by_its_letters(status):
    assert (letters(status), letters(None)) == ("weighedin", "")


@over(
    ("outcome", "sets"),
    [
        (RaceOutcome.SETTLED, {WITH_RESULT, HAS_RUN}),
        (RaceOutcome.BOTH, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.UNCERTAIN, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.VOID, {HAS_RUN, NOT_HELD}),
        (RaceOutcome.ABANDONED, {NOT_HELD}),
        (RaceOutcome.OPEN, set()),
    ],
)
def test_outcome_is_in_the_sets_of_its_kind(outcome, sets):
    assert {one for one in (WITH_RESULT, HAS_RUN, CONFLICTS, NOT_HELD) if outcome in one} == sets

"""What people read of a failure: an admin of the shell, everybody else whom to tell."""

from datetime import date

import pytest

from bot.errors import StorageUnavailable
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, ServerFault, Unauthorized
from bot.slack.commands.error_answers import explain
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words, shown_to

TODAY = date(2026, 11, 20)
KEY = CircuitOpen("courses", code="unauthorized", request_id="req_7")
MONTH = CircuitOpen("courses", code="quota_exceeded")
SOMEBODY, ADMIN = (
    AnswerReader(admins=("U1", "U2"), today=TODAY),
    AnswerReader(is_admin=True, admins=("U1",), today=TODAY),
)


@pytest.mark.parametrize(
    ("admins", "words"),
    [
        ((), "whoever runs this bot"),
        (("U1",), "U1"),
        (("U1", "U2"), "U1 or U2"),
        (("U1", "U2", "U3"), "U1, U2 or U3"),
        (("U1", "U2", "U3", "U4"), "U1, U2 or U3"),
    ],
)
def test_reader_is_told_whom_to_turn_to(admins, words):
    assert AnswerReader(admins=admins).whom_to_tell == words


@pytest.mark.parametrize("error", [KEY, MONTH, Unauthorized("courses"), QuotaExceeded("courses")])
@pytest.mark.parametrize("reader", [SOMEBODY, NOBODY_KNOWN])
def test_who_is_no_admin_reads_of_no_shell_and_no_setting(error, reader):
    said = failure_words(error, reader)
    assert "racing-bot" not in said
    assert "RACING_API_KEY" not in said
    assert "COMMAND_QUOTA_SHARE" not in said


def test_admin_reads_the_command_where_the_service_is_not_asked():
    assert failure_words(KEY, ADMIN).endswith("type in a shell: racing-bot unlatch key. (request req_7)")
    assert failure_words(MONTH, ADMIN).endswith("type in a shell: racing-bot unlatch quota.")
    assert "unlatch" not in failure_words(Unauthorized("courses"), ADMIN)


def test_spent_month_is_named():
    for error in (MONTH, QuotaExceeded("courses", code="quota_exceeded")):
        assert "used up; the month turns on 1 December." in failure_words(error, SOMEBODY)
        assert "used up; the month turns on the first of the month." in failure_words(error, NOBODY_KNOWN)
    assert "1 January" in failure_words(MONTH, AnswerReader(today=date(2026, 12, 31)))


def test_other_failures_are_told_in_their_own_words():
    fault = ServerFault("courses", request_id="req_9")
    assert failure_words(fault, SOMEBODY) == fault.told
    assert failure_words(TimeoutError(), SOMEBODY) == "The data service has not answered in time."


def test_admins_are_shown_by_their_names_and_data_does_nothing():
    assert shown_to("Tell U1 or U2 <!here>.", SOMEBODY) == "Tell <@U1> or <@U2> &lt;!here&gt;."
    assert "Tell <@U1> or <@U2>: the right key" in explain(KEY, "cmd-1", reader=SOMEBODY).text


@pytest.mark.parametrize("error", [StorageUnavailable("locked"), ValueError("bug")])
def test_reference_goes_to_somebody_who_has_the_log(error):
    assert "give <@U1> or <@U2> the reference cmd-1" in explain(error, "cmd-1", reader=SOMEBODY).text
    assert "give whoever runs this bot the reference cmd-1" in explain(error, "cmd-1").text
    assert "look into the log for the reference cmd-1" in explain(error, "cmd-1", reader=ADMIN).text

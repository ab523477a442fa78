"""Faults of Slack, of the data service and of the database as findings: any check may meet such a fault."""

from sqlalchemy.exc import SQLAlchemyError

from bot.doctor.findings import Finding, failed
from bot.errors import (
    SlackCredentialsDead,
    SlackError,
    SlackRefused,
    SlackScopeMissing,
    SlackWait,
    StorageError,
    reason_of,
)
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    NotFound,
    RateLimited,
    ServiceFailure,
    ServiceUnreachable,
)

REINSTALL = "on api.slack.com/apps add the scope under OAuth & Permissions, then Install App, Reinstall to Workspace"


def fault_of(error: Exception) -> Finding | None:
    """None for an error of our own."""
    if isinstance(error, SlackError):
        return _slack_fault(error)
    if isinstance(error, ServiceFailure):
        return _service_fault(error)
    if isinstance(error, StorageError | SQLAlchemyError):
        reason = error if isinstance(error, StorageError) else reason_of(error)
        mend = (
            "Run `racing-bot doctor` again. If the fault stays, give the user in DATABASE_URL all rights. "
            "If a table is missing, put a copy of the database back (docs/operations/README.md, Put a copy back)."
        )
        return failed("database_unreachable", f"The database did not answer the check ({reason}).", mend)
    return None


def _slack_fault(error: SlackError) -> Finding:
    if isinstance(error, SlackCredentialsDead):
        mend = "Set SLACK_BOT_TOKEN to the token on Slack's page Install App, and start the bot again."
        return failed("slack_token_refused", f"Slack does not accept SLACK_BOT_TOKEN ({error}).", mend)
    if isinstance(error, SlackWait):
        mend = (
            f"Run `racing-bot doctor` again in {error.retry_after_s:.0f} seconds. Messages wait, and nothing is lost."
        )
        return failed("slack_unusable", f"Slack limits the bot's calls ({error}).", mend)
    if isinstance(error, SlackScopeMissing):
        return failed("slack_unusable", f"The token may not make this call ({error}).", f"For the call, {REINSTALL}.")
    if isinstance(error, SlackRefused):
        mend = "Look the code up on Slack's page of the method (docs.slack.dev/reference/methods) for the cause."
        return failed("slack_unusable", f"Slack refuses a call of the check ({error}).", mend)
    mend = (
        "Let this machine reach SLACK_API_URL (DNS, firewall, proxy), or correct the address. See status.slack.com: "
        "during an outage of Slack, wait. Messages wait too, and nothing is lost."
    )
    return failed("slack_unusable", f"Slack gives no usable answer ({error}).", mend)


def _service_fault(error: ServiceFailure) -> Finding:
    if isinstance(error, ServiceUnreachable):
        mend = (
            "Let this machine reach RACING_API_URL (DNS, firewall, proxy), or correct the address. During an outage "
            "of the data service wait: deliveries are taken and posted meanwhile."
        )
        return failed("service_unusable", f"The data service can't be reached ({error.message}).", mend)
    if isinstance(error, NotFound | AnswerUnreadable):
        mend = "Correct RACING_API_URL: the base address with its version segment, as the data service's pages say."
        return failed("service_unusable", f"RACING_API_URL does not answer as the data service ({error}).", mend)
    if isinstance(error, RateLimited):
        wait_s = round(error.retry_after_s or 60)
        told = "The key has made all requests of this minute."
        return failed("service_unusable", told, f"Run `racing-bot doctor` again in {wait_s} seconds.")
    mend = "Wait, and run `racing-bot doctor` again; report the request id to the data service if the fault stays."
    return failed("service_unusable", f"The data service failed ({error}).", mend)

"""The clocks of this machine and of the bot, against Slack's and the data service's."""

import asyncio
from collections.abc import Iterator

from bot.doctor.deployment import SERVICE, SLACK, Deployment, TimeTold
from bot.doctor.findings import CheckOutcome, Finding, Seen, warning
from bot.slack.request_guard import MAX_AGE_S

CLOCK_DRIFT_WARN_S = 60.0
"""Beyond this, times in messages and the pace of requests are visibly wrong."""

COST = "Times in messages are wrong, and beyond five minutes every request of Slack's over HTTP is refused as a replay."
MEND = "Set the clock by NTP (`timedatectl set-ntp true`). A container has the clock of its host."


async def clock(deployment: Deployment) -> Seen:
    questions = [deployment.slack_time(), deployment.usage()]
    if deployment.settings.public_url is not None:
        questions.append(deployment.public_health())
    # An error response tells the time too.
    await asyncio.gather(*questions, return_exceptions=True)
    told = {name: deployment.times[name] for name in (SLACK, SERVICE) if name in deployment.times}
    if not told:
        finding = warning(
            "clock_off",
            "Neither Slack nor the data service answered, so the clock was compared with nothing.",
            "Mend what keeps this machine from Slack and from the data service; the checks of both say more.",
        )
        return Seen("not compared", (finding,))
    # The nearest clock is probably right: two clocks rarely err equally.
    name = min(told, key=lambda one: abs(told[one].ahead_s))
    findings = tuple(_findings(deployment, name, told[name]))
    return Seen(f"this machine is {_apart(told[name].ahead_s)} {name}", findings)


def _findings(deployment: Deployment, name: str, reference: TimeTold) -> Iterator[Finding]:
    if how_bad := _how_bad(reference.ahead_s):
        told = f"The clock of this machine is {_apart(reference.ahead_s)} {name}. {COST}"
        yield Finding("clock_off", how_bad, told, MEND)
    theirs = deployment.times.get(f"{deployment.settings.public_url}/healthz")
    # The bot may run on another machine.
    ahead_s = reference.ahead_s - theirs.ahead_s if theirs is not None else 0.0
    if how_bad := _how_bad(ahead_s):
        told = f"The clock of the bot at PUBLIC_URL is {_apart(ahead_s)} {name}. {COST}"
        yield Finding("clock_off", how_bad, told, MEND)


def _how_bad(ahead_s: float) -> CheckOutcome | None:
    if abs(ahead_s) > MAX_AGE_S:
        return CheckOutcome.FAILED
    return CheckOutcome.WARNING if abs(ahead_s) > CLOCK_DRIFT_WARN_S else None


def _apart(ahead_s: float) -> str:
    """A `Date` has whole seconds."""
    if abs(ahead_s) < 2:
        return "in step with"
    return f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"

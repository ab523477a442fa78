"""The data service: reached, key, plan, window, quota, by a request of `/account/usage` without quota; the clocks."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

from bot.db.named_values import DatabaseStateStore
from bot.doctor.check_run import CheckOutcome, Finding, NotApplicable, Seen, failed, warning
from bot.doctor.deployment import SERVICE, SLACK, Deployment
from bot.racedata.client.circuit_breakers import CircuitBreakers, OpenBreaker
from bot.racedata.client.service_errors import (
    BREAKER_WORDS,
    UNLATCH,
    Unauthorized,
    UpgradeRequired,
)
from bot.racedata.month_quota import PLANS, allowance, month_after, read_usage
from bot.slack.request_guard import MAX_AGE_S

CLOCK_DRIFT_WARN_S = 60.0
"""Beyond this, times in messages and the pace of requests are visibly wrong."""

CLOCK_COST = (
    "Times in messages are wrong, and beyond five minutes every request of Slack's over HTTP is refused as a replay."
)
CLOCK_MEND = "Set the clock by NTP (`timedatectl set-ntp true`). A container has the clock of its host."

LITTLE_LEFT_PERCENT = 80
UPCOMING = "upcoming"
"""The end of an open window (Interface, Response envelope)."""


async def data_service(deployment: Deployment) -> Seen:
    address = deployment.settings.racing_api_url
    # The next check judges a refusal of the key.
    with suppress(Unauthorized):
        await deployment.usage()
    return Seen(address)


async def key(deployment: Deployment) -> Seen:
    try:
        await deployment.usage()
    except Unauthorized as error:
        told = f"The data service does not accept RACING_API_KEY ({error})."
        mend = "Set RACING_API_KEY to the key on the data service's account page, and start the bot again."
        return Seen("refused", (failed("key_refused", told, mend),))
    return Seen("accepted")


async def circuit_breakers(deployment: Deployment) -> Seen:
    """After a refusal the bot stops asking until something changes."""
    store = DatabaseStateStore(deployment.database, deployment.ports.clock)
    breakers = await CircuitBreakers(store, deployment.ports.clock, deployment.settings.racing_api_key).open_now()
    findings = tuple(_open_breaker(record) for record in breakers if not record.endpoints)
    if findings:
        return Seen("the bot has stopped asking", findings)
    beyond = ", ".join(endpoint for record in breakers for endpoint in record.endpoints)
    but = f", but not for {beyond}: beyond the plan" if beyond else ""
    return Seen(f"the bot asks the data service as usual{but}")


def _open_breaker(record: OpenBreaker) -> Finding:
    word = BREAKER_WORDS[record.code]
    told = f"The bot has not asked the data service since {record.since:%Y-%m-%d %H:%M} UTC: {record.code}."
    return failed(
        "service_not_asked", told, f"Mend the {word} if the check of that name fails; then `{UNLATCH} {word}`."
    )


async def plan(deployment: Deployment) -> Seen:
    """`/account/usage` is the source of quota warnings."""
    found = await deployment.usage()
    if isinstance(found, UpgradeRequired):
        named = f"The plan {found.your_plan}" if found.your_plan else "The plan"
        told = f"{named} does not reach /account/usage: nobody is warned of the quota."
        plans = ", ".join(found.reaches_on) or "see the data service's account page"
        return Seen("without usage", (warning("plan_unknown", told, f"Take a plan with usage: {plans}."),))
    meta = found.meta
    if meta.plan in PLANS or deployment.settings.monthly_quota is not None:
        return Seen(meta.plan or "not named")
    told = f"The allowance of the plan {meta.plan or '(not named)'} is not known, so nobody is warned of the quota."
    mend = "Set MONTHLY_QUOTA to the requests a month that the plan allows."
    return Seen(meta.plan or "not named", (warning("plan_unknown", told, mend),))


async def window(deployment: Deployment) -> Seen | NotApplicable:
    found = await deployment.usage()
    named = None if isinstance(found, UpgradeRequired) else found.meta.window
    if named is None:
        return NotApplicable("the data service did not name the window")
    if UPCOMING in named.lower():
        return Seen(named)
    told = f"The plan reads {named}: cards of days after the window are refused, and nothing is filled in there."
    mend = "Take a plan with a window that ends in `upcoming`, or expect no cards of the days ahead."
    return Seen(named, (warning("window_ends", told, mend),))


async def quota(deployment: Deployment) -> Seen | NotApplicable:
    found = await deployment.usage()
    if isinstance(found, UpgradeRequired):
        return NotApplicable("the plan does not reach /account/usage")
    limit = allowance(found.meta.plan, deployment.settings.monthly_quota)
    usage = read_usage(found.data)
    month = usage.month(deployment.ports.clock())
    published = usage.in_month(month)
    used = 0 if usage.is_empty else published.requests if published.label == month else None
    if used is None or limit is None:
        return NotApplicable(f"use or allowance of {month} can't be told from the answer of /account/usage")
    told = f"{used:,} of {limit:,} requests of {month} are used ({used * 100 // limit}%)"
    turn = f"{month_after(month):%Y-%m-%d}"
    if used >= limit:
        mend = f"Wait for {turn}, or take a larger plan; deliveries and posts go on."
        return Seen(told, (failed("quota_low", f"{told}: commands that read are refused.", mend),))
    if used * 100 >= limit * LITTLE_LEFT_PERCENT:
        mend = f"Lower COMMAND_QUOTA_SHARE or take a larger plan; the month turns on {turn}."
        return Seen(told, (warning("quota_low", f"{told}.", mend),))
    return Seen(told)


async def clock(deployment: Deployment) -> Seen:
    """The clocks of this machine and of the bot, against Slack's and the data service's."""
    # Slack answers for any token.
    of_slack = deployment.ask("GET", f"{deployment.settings.slack_api_url}api.test", time_of=SLACK)
    questions = [of_slack, deployment.usage()]
    if deployment.settings.public_url is not None:
        questions.append(deployment.public_health())
    # An error response tells the time too.
    await asyncio.gather(*questions, return_exceptions=True)
    told = {name: deployment.ahead_s[name] for name in (SLACK, SERVICE) if name in deployment.ahead_s}
    if not told:
        finding = warning(
            "clock_off",
            "Neither Slack nor the data service answered, so the clock was compared with nothing.",
            "Mend what keeps this machine from Slack and from the data service; the checks of both say more.",
        )
        return Seen("not compared", (finding,))
    # The nearest clock is probably right: two clocks rarely err equally.
    name = min(told, key=lambda one: abs(told[one]))
    findings = tuple(_findings(deployment, name, told[name]))
    return Seen(f"this machine is {_apart(told[name])} {name}", findings)


def _findings(deployment: Deployment, name: str, ours_s: float) -> Iterator[Finding]:
    # The bot may run on another machine.
    bots_s = ours_s - deployment.ahead_s.get(f"{deployment.settings.public_url}/healthz", ours_s)
    for whose, ahead_s in (("this machine", ours_s), ("the bot at PUBLIC_URL", bots_s)):
        if how_bad := _how_bad(ahead_s):
            told = f"The clock of {whose} is {_apart(ahead_s)} {name}. {CLOCK_COST}"
            yield Finding("clock_off", how_bad, told, CLOCK_MEND)


def _how_bad(ahead_s: float) -> CheckOutcome | None:
    if abs(ahead_s) > MAX_AGE_S:
        return CheckOutcome.FAILED
    return CheckOutcome.WARNING if abs(ahead_s) > CLOCK_DRIFT_WARN_S else None


def _apart(ahead_s: float) -> str:
    """A `Date` has whole seconds."""
    if abs(ahead_s) < 2:
        return "in step with"
    return f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"

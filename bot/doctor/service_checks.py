"""The data service: reached, key, plan, window, quota, by a request of `/account/usage` without quota."""

from contextlib import suppress

from bot.db.named_values import DatabaseStateStore
from bot.doctor.deployment import Deployment
from bot.doctor.findings import Finding, NotApplicable, Seen, failed, warning
from bot.racedata.client.circuit_breakers import CircuitBreakers, OpenBreaker
from bot.racedata.client.service_errors import (
    BREAKER_WORDS,
    UNLATCH,
    Unauthorized,
    UpgradeRequired,
)
from bot.racedata.month_quota import PLANS, allowance, month_after, month_key
from bot.racedata.usage_reading import read_usage

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
    store = DatabaseStateStore(deployment.database, deployment.clock)
    breakers = await CircuitBreakers(store, deployment.clock, deployment.settings.racing_api_key).open_now()
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
    month = month_key(deployment.clock())
    limit = allowance(found.meta.plan, deployment.settings.monthly_quota)
    used = 0 if found.data == [] else read_usage(found.data).used_in(month)
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

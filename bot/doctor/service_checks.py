"""The data service: reached, key, plan, window, quota, by a request of `/account/usage` without quota; the clocks."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

from bot.db.named_values import DatabaseStateStore
from bot.doctor.check_run import Finding, NotApplicable, Seen, finding
from bot.doctor.deployment import SERVICE, SLACK, Deployment
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_errors import BREAKER_WORDS, Unauthorized, UpgradeRequired
from bot.racedata.month_quota import PLANS, allowance, month_after, read_usage
from bot.slack.request_guard import MAX_AGE_S

CLOCK_DRIFT_WARN_S = 60.0
"""Beyond this, times in messages and the pace of requests are visibly wrong."""

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
        return Seen("refused", (finding("key_refused", error=error),))
    return Seen("accepted")


async def circuit_breakers(deployment: Deployment) -> Seen:
    """After a refusal the bot stops asking until something changes."""
    store = DatabaseStateStore(deployment.database, deployment.ports.clock)
    breakers = await CircuitBreakers(store, deployment.ports.clock, deployment.settings.racing_api_key).open_now()
    whole = [record for record in breakers if not record.endpoints]
    if whole:
        found = (finding("service_not_asked", breaker=one, word=BREAKER_WORDS[one.code]) for one in whole)
        return Seen("the bot has stopped asking", tuple(found))
    beyond = ", ".join(endpoint for record in breakers for endpoint in record.endpoints)
    but = f", but not for {beyond}: beyond the plan" if beyond else ""
    return Seen(f"the bot asks the data service as usual{but}")


async def plan(deployment: Deployment) -> Seen:
    """`/account/usage` is the source of quota warnings."""
    found = await deployment.usage()
    if isinstance(found, UpgradeRequired):
        named = f"The plan {found.your_plan}" if found.your_plan else "The plan"
        plans = ", ".join(found.reaches_on) or "see the data service's account page"
        return Seen("without usage", (finding("plan_unknown usage", plan=named, plans=plans),))
    meta = found.meta
    if meta.plan in PLANS or deployment.settings.monthly_quota is not None:
        return Seen(meta.plan or "not named")
    return Seen(meta.plan or "not named", (finding("plan_unknown", plan=meta.plan or "(not named)"),))


async def window(deployment: Deployment) -> Seen:
    found = await deployment.usage()
    named = None if isinstance(found, UpgradeRequired) else found.meta.window
    if named is None:
        return NotApplicable("the data service did not name the window")
    return Seen(named, () if UPCOMING in named.lower() else (finding("window_ends", window=named),))


async def quota(deployment: Deployment) -> Seen:
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
    if used * 100 < limit * LITTLE_LEFT_PERCENT:
        return Seen(told)
    name = "quota_low spent" if used >= limit else "quota_low"
    return Seen(told, (finding(name, used=told, turn=month_after(month)),))


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
        return Seen("not compared", (finding("clock_off alone"),))
    # The nearest clock is probably right: two clocks rarely err equally.
    name = min(told, key=lambda one: abs(told[one]))
    findings = tuple(_findings(deployment, name, told[name]))
    return Seen(f"this machine is {_apart(told[name])} {name}", findings)


def _findings(deployment: Deployment, name: str, ours_s: float) -> Iterator[Finding]:
    # The bot may run on another machine.
    bots_s = ours_s - deployment.ahead_s.get(f"{deployment.settings.public_url}/healthz", ours_s)
    for whose, ahead_s in (("this machine", ours_s), ("the bot at PUBLIC_URL", bots_s)):
        if abs(ahead_s) > CLOCK_DRIFT_WARN_S:
            code = "clock_off far" if abs(ahead_s) > MAX_AGE_S else "clock_off"
            yield finding(code, whose=whose, apart=f"{_apart(ahead_s)} {name}")


def _apart(ahead_s: float) -> str:
    """A `Date` has whole seconds."""
    if abs(ahead_s) < 2:
        return "in step with"
    return f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"

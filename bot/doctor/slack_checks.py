"""Slack: token, scopes, admins, channels, history, replies, Socket Mode. Posts nothing, opens no connection."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from bot.channels import subscriptions
from bot.channels.conditions.event_conditions import is_direct_message, is_person
from bot.doctor.check_run import Finding, NotApplicable, Seen, fault_of, finding
from bot.doctor.deployment import HTTP_TIMEOUT_S, Deployment
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackError,
    SlackRefused,
    SlackScopeMissing,
)
from bot.events.word_rows import sentence_rows
from bot.manifest import read_manifest
from bot.slack.api_errors import HISTORY_METHOD, REPLIES_METHOD
from bot.slack.socket_mode import OPEN_METHOD
from bot.slack.workspace import (
    SCOPES_HEADER,
    ask_membership,
    problem_of_channel,
    problem_of_person,
)

T = TypeVar("T")

LOSS_WITHOUT_SCOPE = sentence_rows("bot.doctor", "scopes.ini")["losses"]

MOST_CHANNELS = 40
"""conversations.info allows about fifty calls a minute."""

SLACK_CALLS_AT_ONCE = 8

NEWEST_MESSAGES = 15
"""The newest may be somebody's joining, which Slack lets have no thread."""


async def slack_token(deployment: Deployment) -> Seen:
    answer = await deployment.whoami()
    return Seen(f"{answer.get('user')} in {answer.get('team')}")


async def _of_each(
    ask: Callable[[str], Awaitable[T]], places: Sequence[str]
) -> tuple[dict[str, T], tuple[Finding, ...]]:
    """The answers by place, and each kind of Slack's faults once, for the places without an answer."""
    limit = asyncio.Semaphore(SLACK_CALLS_AT_ONCE)
    faults: dict[str, Finding] = {}

    async def one(place: str) -> tuple[str, T] | None:
        try:
            async with limit:
                return place, await ask(place)
        except SlackScopeMissing:
            # The check of the scopes says so.
            return None
        except SlackError as error:
            if fault := fault_of(error):
                faults.setdefault(fault.code, fault)
            return None

    answers = await asyncio.gather(*map(one, places))
    return dict(filter(None, answers)), tuple(faults.values())


async def scopes(deployment: Deployment) -> Seen:
    headers = (await deployment.whoami()).headers or {}
    if SCOPES_HEADER not in headers:
        return NotApplicable("Slack did not name the scopes of the token")
    granted = {scope.strip() for scope in headers[SCOPES_HEADER].split(",")}
    wanted = read_manifest()["oauth_config"]["scopes"]
    missing = [scope for scope in wanted["bot"] if scope not in granted]
    told = f"{len(wanted['bot']) - len(missing)} of {len(wanted['bot'])} are granted"
    optional = wanted["bot_optional"]
    names = {scope: "scope_missing optional" if scope in optional else "scope_missing" for scope in missing}
    each = (finding(name, scope=scope, loss=LOSS_WITHOUT_SCOPE[scope]) for scope, name in names.items())
    return Seen(told, tuple(each))


async def admins(deployment: Deployment) -> Seen:
    channel_id, people = deployment.settings.admin_channel, deployment.settings.admin_users
    if channel_id is None and not people:
        return Seen("nobody", (finding("nobody_is_warned"),))
    places = [one for one in (channel_id, *people) if one]
    problems, faults = await _of_each(partial(_place, deployment), places)
    return Seen(", ".join(places), (*filter(None, problems.values()), *faults))


async def _place(deployment: Deployment, place: str) -> Finding | None:
    """None if a warning arrives. Raises SlackError if Slack does not answer."""
    if is_direct_message(place):
        return None
    is_one = is_person(place)
    ask = problem_of_person if is_one else problem_of_channel
    problem = await ask(deployment.slack, place, timeout_s=HTTP_TIMEOUT_S)
    name = "admin_not_reached person" if is_one else "admin_not_reached"
    return finding(name, place=place, problem=problem) if problem else None


async def channels(deployment: Deployment) -> Seen:
    known = sorted({channel_id for channel_id, _ in await deployment.database.read(subscriptions.every)})
    asked = known[:MOST_CHANNELS]
    answers, faults = await _of_each(partial(ask_membership, deployment.slack), asked)
    left = [channel_id for channel_id, is_in in answers.items() if not is_in]
    beyond = f"; {len(known) - len(asked)} more were not asked about" if len(known) > len(asked) else ""
    unknown = f"; no answer of Slack for {len(asked) - len(answers)}" if len(answers) < len(asked) else ""
    told = f"the bot is in {len(answers) - len(left)} of {len(asked)} channels with subscriptions{unknown}{beyond}"
    return Seen(told, (*(finding("channel_left", place=channel_id) for channel_id in left), *faults))


async def history(deployment: Deployment) -> Seen:
    for place in (await _to_try(deployment))[0]:
        try:
            await _newest_message(deployment, place)
        except SlackChannelClosed:
            continue
        except SlackScopeMissing as error:
            return Seen(place, (finding(f"history_not_readable {deployment.settings.doubtful_posts}", error=error),))
        return Seen(f"the history of {place} can be read")
    return NotApplicable("there is no channel with the bot in it to try")


async def replies(deployment: Deployment) -> Seen:
    """Asks for the replies of the newest message. A warning if any channel has live messages."""
    places, live = await _to_try(deployment)
    for place in places:
        try:
            message_ts = await _newest_message(deployment, place)
        except (SlackChannelClosed, SlackScopeMissing):
            continue
        if message_ts is None:
            continue
        ask = partial(deployment.slack.web.conversations_replies, channel=place, ts=message_ts, limit=1)
        try:
            await deployment.slack.call(REPLIES_METHOD, ask, timeout_s=HTTP_TIMEOUT_S)
        except (SlackChannelClosed, SlackScopeMissing, SlackRefused) as error:
            name = f"history_not_readable threads-{deployment.settings.doubtful_posts}"
            found = finding(name, place=place, error=error, live=", ".join(live))
            return Seen(place, (found,)) if live else Seen(f"{found.told} No channel has results in threads")
        return Seen(f"the replies to a message of {place} can be read")
    return NotApplicable("not tried: there is no channel with the bot in it and a message that the bot can see")


async def _to_try(deployment: Deployment) -> tuple[list[str], list[str]]:
    """The channels, those with live messages first; and the channels with live messages."""
    chosen = await deployment.database.read(subscriptions.every)
    live = sorted({channel_id for channel_id, one in chosen if one.show})
    others = sorted({channel_id for channel_id, _ in chosen})
    known = dict.fromkeys([*live, *others, deployment.settings.admin_channel or ""])
    return [place for place in known if place.startswith(("C", "G"))][:MOST_CHANNELS], live


async def _newest_message(deployment: Deployment, channel_id: str) -> str | None:
    """Raises SlackError."""
    return await deployment.once(f"newest in {channel_id}", partial(_ask_for_newest, deployment, channel_id))


async def _ask_for_newest(deployment: Deployment, channel_id: str) -> str | None:
    """Asks as the bot asks for a post in doubt."""
    web = deployment.slack.web
    ask = partial(web.conversations_history, channel=channel_id, limit=NEWEST_MESSAGES, include_all_metadata=True)
    answer = await deployment.slack.call(HISTORY_METHOD, ask, timeout_s=HTTP_TIMEOUT_S)
    listed = answer.get("messages")
    messages = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return next((str(one["ts"]) for one in messages if one.get("ts") and "subtype" not in one), None)


async def socket_mode(deployment: Deployment) -> Seen:
    app_token = deployment.settings.slack_app_token
    if app_token is None:
        return NotApplicable("SLACK_APP_TOKEN is not set: Slack comes by HTTP")
    ask = partial(deployment.slack.web.apps_connections_open, app_token=app_token.get_secret_value())
    try:
        await deployment.slack.call(OPEN_METHOD, ask, timeout_s=HTTP_TIMEOUT_S)
    except (SlackCredentialsDead, SlackScopeMissing, SlackRefused) as error:
        return Seen("refused", (finding("socket_mode_refused", error=error),))
    return Seen("Slack gives a ticket for a connection")

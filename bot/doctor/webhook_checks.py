"""Our subscription with the data service, PUBLIC_URL, and both endpoints."""

import json
import ssl
from collections.abc import Awaitable, Iterable, Iterator
from typing import Any

import httpx
from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS
from bot.db.tables import WebhookSubscriptionRow
from bot.deliveries import inbox
from bot.doctor.check_run import Finding, NotApplicable, Seen, finding
from bot.doctor.deployment import HTTP_TIMEOUT_S, Deployment
from bot.events.sentences import counted
from bot.operations import public_url
from bot.operations.public_url import Problem, object_in
from bot.racedata import webhook_subscriptions
from bot.slack import request_guard
from bot.web.plain_answers import WEBHOOK_PATH

CERTIFICATE_LEFT_S = 14 * 24 * 3600
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  compared with, not listened at
NO_ADDRESS = NotApplicable("PUBLIC_URL is not set")


async def webhook_subscription(deployment: Deployment) -> Seen:
    live = await deployment.database.read(webhook_subscriptions.live)
    in_settings = len(deployment.settings.racing_webhook_secrets)
    with_secret = [row for row in live if row.secret is not None]
    last = await deployment.database.read(inbox.last_received_at)
    received = f"last delivery {last:%Y-%m-%d %H:%M} UTC" if last else "no delivery so far"
    told = f"{len(live)} made by `racing-bot subscribe`, {counted(in_settings, 'secret')} in the settings, {received}"
    if not with_secret and not in_settings:
        return Seen(told, (finding("no_signing_secret shown" if live else "no_signing_secret"),))
    missing = await deployment.database.read(_missing_events)
    return Seen(told, (*_elsewhere(deployment, live), *missing))


def _elsewhere(deployment: Deployment, live: Iterable[WebhookSubscriptionRow]) -> Iterator[Finding]:
    address = deployment.settings.public_url
    for row in live:
        if address is not None and row.url != address + WEBHOOK_PATH:
            other = row.url.removesuffix(WEBHOOK_PATH)
            yield finding("subscription_elsewhere", row=row, address=address, other=other)


def _missing_events(session: Session) -> list[Finding]:
    missing = webhook_subscriptions.uncovered(session, {chosen for _, chosen in subscriptions.listening(session)})
    found = []
    for event, regions in sorted(missing.items()):
        named = sorted(set(regions))
        where = "all regions" if ALL_REGIONS in named else ", ".join(named)
        only = f" --region {where}" if len(named) == 1 and ALL_REGIONS not in named else ""
        found.append(finding("events_not_delivered", event=event, where=where, only=only))
    return found


async def public_address(deployment: Deployment) -> Seen:
    address = deployment.settings.public_url
    if address is None:
        return Seen("not set", (finding("public_url_missing"),))
    answer, problem = await _asked(address, deployment.public_health())
    if answer and answer.status_code == httpx.codes.OK and object_in(answer.content).get("status") == "ok":
        told = f"{address} leads to a running bot, seen from this machine"
        return Seen(told, tuple(_certificate(deployment, answer)))
    return Seen(address, (finding("public_url_dead", problem=problem),))


def _certificate(deployment: Deployment, response: httpx.Response) -> Iterator[Finding]:
    """On loopback there may be no certificate."""
    stream = response.extensions.get("network_stream")
    tls = stream.get_extra_info("ssl_object") if stream is not None else None
    if tls is None:
        return
    ends = ssl.cert_time_to_seconds(tls.getpeercert()["notAfter"])
    left_s = ends - deployment.ports.clock().timestamp()
    if left_s < CERTIFICATE_LEFT_S:
        yield finding("certificate_ends", days=left_s / 86400)


async def webhook_endpoint(deployment: Deployment) -> Seen:
    """The bot answers an unsigned delivery with 401."""
    if deployment.settings.public_url is None:
        return NO_ADDRESS
    address = deployment.settings.public_url + WEBHOOK_PATH
    answer, problem = await _asked(address, deployment.post(address, b"{}"))
    if answer and answer.status_code == httpx.codes.UNAUTHORIZED and "error" in object_in(answer.content):
        return Seen(f"{address} refuses an unsigned delivery, as the bot does")
    return Seen(address, (finding("webhooks_not_reached", address=address, problem=problem),))


async def slack_endpoint(deployment: Deployment) -> Seen:
    settings = deployment.settings
    if settings.public_url is None:
        return NO_ADDRESS
    secret = settings.slack_signing_secret
    if settings.slack_app_token is not None or secret is None:
        return NotApplicable("Slack comes by Socket Mode")
    address = settings.public_url + request_guard.SLACK_PATH
    challenge = deployment.ports.token(8)
    body = json.dumps({"type": "url_verification", "challenge": challenge, "token": "doctor"}).encode()
    timestamp = str(int(deployment.ports.clock().timestamp()))
    signed = {"x_slack_request_timestamp": timestamp, "x_slack_signature": request_guard.sign(secret, timestamp, body)}
    answer, problem = await _asked(address, deployment.post(address, body, **signed))
    if answer and answer.status_code == httpx.codes.OK and challenge in answer.text:
        return Seen(f"{address} answers a challenge signed with SLACK_SIGNING_SECRET")
    is_refused = answer is not None and answer.status_code == httpx.codes.UNAUTHORIZED
    name = "slack_not_reached secret" if is_refused else "slack_not_reached"
    return Seen(address, (finding(name, address=address, problem=problem),))


async def _asked(address: str, asking: Awaitable[httpx.Response]) -> tuple[httpx.Response | None, Problem]:
    """The answer, if any, and the problem if the answer is not the bot's."""
    try:
        answer = await asking
    except httpx.HTTPError as error:
        return None, public_url.unreached(error, address, HTTP_TIMEOUT_S)
    return answer, public_url.answered(answer)


async def bot(deployment: Deployment) -> Seen:
    address = _own_address(deployment)
    try:
        response = await deployment.ask("GET", f"{address}/readyz")
    except httpx.HTTPError as error:
        return Seen(address, (finding("bot_not_running", address=address, error=type(error).__name__),))
    answer = object_in(response.content)
    if answer.get("status") not in ("ready", "degraded", "unready"):
        return Seen(address, (finding("port_taken", address=address, status=response.status_code),))
    return Seen(f"{address} is {answer['status']}", tuple(_state_of(answer)))


def _state_of(answer: dict[str, Any]) -> Iterator[Finding]:
    if answer["status"] == "unready":
        reason = answer.get("reason", "the reason stands at METRICS_HOST:METRICS_PORT")
        yield finding("bot_degraded unready", reason=reason)
    reasons = answer.get("degraded") or {}
    for name, reason in reasons.items() if isinstance(reasons, dict) else ():
        yield finding("bot_degraded", name=name, reason=reason)


def _own_address(deployment: Deployment) -> str:
    """The local address of `/readyz` with reasons."""
    settings = deployment.settings
    host, port = settings.host, settings.port
    if settings.metrics_host is not None and settings.metrics_port is not None:
        host, port = settings.metrics_host, settings.metrics_port
    host = "127.0.0.1" if host in _EVERYWHERE else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"

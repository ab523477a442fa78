"""The page's content as small JSON documents by key: "message/C0GB/1700000000.000100", "meeting/mt_1", "counts"."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.clock import utc_now
from sandbox.demo_stage import COMMANDS, Stage
from sandbox.racing_day import Meeting, Race
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.slack.values import EphemeralMessage, Json, PostedMessage

Documents = dict[str, Json]

LOG_LINES = 200
"""Kept posts and deliveries."""

POSTING = ("chat.postMessage", "chat.update")


def documents(stage: Stage) -> Documents:
    """Every document as of now."""
    found: Documents = {"meta": _meta(stage)}
    for key, value in (
        *_people_and_places(stage),
        *_messages(stage),
        *_racing(stage),
        *_deliveries(stage),
        *_posts(stage),
    ):
        found[key] = value
    return found


def _meta(stage: Stage) -> Json:
    service = stage.service
    return {
        "bot": {"running": stage.bot.is_running, "url": stage.bot.url, "webhook": stage.webhook_url},
        "service": {
            "url": stage.service_url,
            "used": service.used,
            "per_month": service.plan.per_month,
            "per_minute": service.plan.per_minute,
            "last_minute": sum(one.at > utc_now() - timedelta(minutes=1) for one in service.requests),
        },
        "commands": list(COMMANDS),
        "today": service.racing.today.isoformat(),
        "waiting": sum(delivery.status == "pending" for delivery in service.deliveries),
    }


def _people_and_places(stage: Stage) -> Iterator[tuple[str, Json]]:
    slack = stage.slack
    for channel in slack.channels.values():
        yield (
            f"channel/{channel.id}",
            {
                "id": channel.id,
                "name": channel.name,
                "archived": channel.is_archived,
                "dm_user": channel.dm_user,
                "bot": slack.bot_is_in(channel),
            },
        )
    for user in slack.users.values():
        yield f"person/{user.id}", {"id": user.id, "name": user.name, "bot": user.is_bot}
    for view_id, view in slack.views.items():
        yield f"view/{view_id}", view


def _messages(stage: Stage) -> Iterator[tuple[str, Json]]:
    slack = stage.slack
    for channel_id in slack.channels:
        for message in slack.messages(channel_id):
            yield f"message/{channel_id}/{message.ts}", _message(message)
    for ephemeral in slack.ephemerals:
        yield f"ephemeral/{ephemeral.ts}", _message(ephemeral)


def _message(message: PostedMessage | EphemeralMessage) -> Json:
    shown: Json = {
        "ts": message.ts,
        "channel": message.channel,
        "user": message.user,
        "text": message.text,
        "blocks": list(message.blocks),
        "at": _instant(message.received_at),
    }
    if isinstance(message, EphemeralMessage):
        return shown | {"only": message.user, "via": message.via}
    return shown | {
        "edited": message.edited,
        "thread_ts": message.thread_ts,
        "metadata": message.metadata,
    }


def _racing(stage: Stage) -> Iterator[tuple[str, Json]]:
    racing = stage.service.racing
    for meeting in racing.meetings(racing.today):
        yield f"meeting/{meeting.meeting_id}", _meeting(stage, meeting)


def _meeting(stage: Stage, meeting: Meeting) -> Json:
    return {
        "id": meeting.meeting_id,
        "course": meeting.course.name,
        "region": meeting.course.region,
        "date": meeting.race_date.isoformat(),
        "races": [_race(stage, race) for race in meeting.races],
    }


def _race(stage: Stage, race: Race) -> Json:
    state = stage.service.racing.state(race)
    winners = [runner.horse for runner in race.runners if state.position_of(runner).rstrip("=") == "1"]
    return {
        "id": race.race_id,
        "off": race.off_time,
        "title": race.title,
        "status": state.status,
        "reason": state.reason,
        "winner": winners[0] if winners and state.status == "result" else None,
    }


def _deliveries(stage: Stage) -> Iterator[tuple[str, Json]]:
    for delivery in stage.service.deliveries[-LOG_LINES:]:
        yield f"delivery/{delivery.delivery_id}", _delivery(delivery)


def _delivery(delivery: Delivery) -> Json:
    happening = delivery.happening
    subject = happening.payload.get("race") or happening.payload.get("meeting") or {}
    return {
        "id": delivery.delivery_id,
        "event": happening.event,
        "region": happening.region,
        "course": (subject.get("course") or {}).get("name"),
        "off": subject.get("off_time"),
        "status": delivery.status,
        "at": _instant(delivery.created_at),
        "payload": happening.payload,
        "attempts": [
            {"at": _instant(one.at), "status": one.status, "answer": one.answer, "error": one.error}
            for one in delivery.attempts
        ],
    }


def _posts(stage: Stage) -> Iterator[tuple[str, Json]]:
    """The newest calls that posted or edited."""
    calls = [(number, call) for number, call in enumerate(stage.slack.calls) if call.method in POSTING]
    for number, call in calls[-LOG_LINES:]:
        yield (
            f"call/{number:06}",
            {
                "method": call.method,
                "channel": call.channel,
                "at": _instant(call.at),
                "answer": call.error or call.failure or "ok",
            },
        )


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")

"""The page's content as small JSON documents by key: "message/C0GB/1700000000.000100", "meeting/mt_1", "counts"."""

from datetime import datetime, timedelta

from bot.clock import utc_now
from sandbox.demo_stage import COMMANDS, Stage
from sandbox.racing_day import Meeting, Race
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.slack.values import Call, Channel, EphemeralMessage, Json, PostedMessage

Documents = dict[str, Json]

LOG_LINES = 200
"""Kept posts and deliveries."""

POSTING = ("chat.postMessage", "chat.update")


def documents(stage: Stage) -> Documents:
    """Every document as of now."""
    slack, racing = stage.slack, stage.service.racing
    messages = [message for channel_id in slack.channels for message in slack.messages(channel_id)]
    calls = [(number, call) for number, call in enumerate(slack.calls) if call.method in POSTING]
    return {
        "meta": _meta(stage),
        **{f"channel/{one.id}": _channel(stage, one) for one in slack.channels.values()},
        **{f"person/{one.id}": {"id": one.id, "name": one.name, "bot": one.is_bot} for one in slack.users.values()},
        **{f"view/{view_id}": view for view_id, view in slack.views.items()},
        **{f"message/{one.channel}/{one.ts}": _message(one) for one in messages},
        **{f"ephemeral/{one.ts}": _message(one) for one in slack.ephemerals},
        **{f"meeting/{one.meeting_id}": _meeting(stage, one) for one in racing.meetings(racing.today)},
        **{f"delivery/{one.delivery_id}": _delivery(one) for one in stage.service.deliveries[-LOG_LINES:]},
        **{f"call/{number:06}": _call(call) for number, call in calls[-LOG_LINES:]},
    }


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


def _channel(stage: Stage, channel: Channel) -> Json:
    return {
        "id": channel.id,
        "name": channel.name,
        "archived": channel.is_archived,
        "dm_user": channel.dm_user,
        "bot": stage.slack.bot_is_in(channel),
    }


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


def _delivery(delivery: Delivery) -> Json:
    happening = delivery.happening
    subject = happening.subject
    return {
        "id": delivery.delivery_id,
        "event": happening.event,
        "region": happening.region,
        "course": subject["course"]["name"],
        "off": subject.get("off_time"),
        "status": delivery.status,
        "at": _instant(delivery.created_at),
        "payload": happening.payload,
        "attempts": [
            {"at": _instant(one.at), "status": one.status, "answer": one.answer, "error": one.error}
            for one in delivery.attempts
        ],
    }


def _call(call: Call) -> Json:
    return {
        "method": call.method,
        "channel": call.channel,
        "at": _instant(call.at),
        "answer": call.error or call.failure or "ok",
    }


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")

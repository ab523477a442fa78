"""The page's content as small JSON documents by key: "message/C0GB/1700000000.000100", "meeting/mt_1", "counts"."""

from datetime import datetime

from sandbox.demo_stage import Stage
from sandbox.racing_day import Meeting, Race
from sandbox.slack.values import Channel, EphemeralMessage, Json, PostedMessage

Documents = dict[str, Json]


def documents(stage: Stage) -> Documents:
    """Every document as of now."""
    slack, racing = stage.slack, stage.service.racing
    messages = [message for channel_id in slack.channels for message in slack.messages(channel_id)]
    return {
        "meta": _meta(stage),
        **{f"channel/{one.id}": _channel(stage, one) for one in slack.channels.values()},
        **{f"person/{one.id}": {"id": one.id, "name": one.name, "bot": one.is_bot} for one in slack.users.values()},
        **{f"view/{view_id}": view for view_id, view in slack.views.items()},
        **{f"message/{one.channel}/{one.ts}": _message(one) for one in messages},
        **{f"ephemeral/{one.ts}": _message(one) for one in slack.ephemerals},
        **{f"meeting/{one.meeting_id}": _meeting(stage, one) for one in racing.meetings(racing.today)},
    }


def _meta(stage: Stage) -> Json:
    return {
        "bot": {"running": stage.bot.is_running},
        "waiting": sum(delivery.status == "pending" for delivery in stage.service.deliveries),
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
        return shown | {"only": message.user}
    return shown | {
        "edited": message.edited,
        "thread_ts": message.thread_ts,
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


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")

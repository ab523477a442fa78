"""The page's content as small JSON documents by key: "message/C0GB/1700000000.000100", "meeting/mt_1", "counts"."""

from sandbox.demo_stage import Stage
from sandbox.racing_day import Meeting, Race
from sandbox.slack.values import Json

Documents = dict[str, Json]


def documents(stage: Stage) -> Documents:
    """Every document as of now. Of the workspace they are the stand-in's own values."""
    slack, racing = stage.slack, stage.service.racing
    messages = [message for channel_id in slack.channels for message in slack.posted.get(channel_id, {}).values()]
    return {
        "bot": {"is_running": stage.bot.is_running},
        **{f"channel/{one.id}": dict(vars(one)) for one in slack.channels.values()},
        **{f"person/{one.id}": vars(one) for one in slack.users.values()},
        **{f"view/{view_id}": view for view_id, view in slack.views.items()},
        **{f"message/{one.channel}/{one.ts}": vars(one) for one in messages},
        **{f"meeting/{one.meeting_id}": _meeting(stage, one) for one in racing.meetings(racing.today)},
    }


def _meeting(stage: Stage, meeting: Meeting) -> Json:
    return {
        "id": meeting.meeting_id,
        "course": meeting.course.name,
        "region": meeting.course.region,
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

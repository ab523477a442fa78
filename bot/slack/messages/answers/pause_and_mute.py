"""Answers of `/racing pause` and `/racing resume`, and to the buttons that mute and unmute a meeting.

`paused_by` and its like are the lines that the channel reads.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.channels.conditions.event_conditions import topics_in_order
from bot.channels.filters import Abandonments, ChannelFilter, Meeting
from bot.channels.pauses import UNTIL_RESUMED
from bot.events.days import UTC_NAME, zone_of
from bot.events.event import Topic
from bot.events.sentences import counted, listed
from bot.outbox.acknowledgements import Untaken
from bot.outbox.held_channels import SUMMARY_AFTER
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.alert_notes import untaken_words
from bot.slack.messages.kit.blocks import action_button, command_button
from bot.slack.messages.kit.layout import told
from bot.slack.messages.kit.text import joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers, published_day, weekday_and_day

SUMMARY_HOURS = counted(int(SUMMARY_AFTER.total_seconds()) // 3600, "hour")

IS_PAUSED = "This channel is paused: messages wait until the pause ends or somebody types /racing resume."

UNMUTE = "unmute_meeting"

WHERE_ABANDONMENTS_ARE = {
    Abandonments.POSTED: "The meeting's abandonments still come.",
    Abandonments.AFTER_THE_PAUSE: "The meeting's abandonments are kept until the pause of this channel ends.",
    Abandonments.ONCE_OPEN: "The meeting's abandonments wait until I can post in this channel again.",
    Abandonments.NOT_ASKED_FOR: "The meeting's abandonments do not come here: this channel has not asked for them.",
    Abandonments.DEPENDS_ON_REGION: "I don't know the meeting's region, so I can't say whether abandonments come here.",
}


PauseEnd = tuple[datetime | None, str | None]
"""The end, None for a pause without an end; and the time zone of a typed day or time, if any."""


def paused(
    ends: PauseEnd, now: datetime, keep_hours: int, *, asks: bool = False, untaken: Untaken | None = None
) -> Message:
    """`asks`: the channel's abandonments are to be acknowledged. `untaken`: abandonments without a taker."""
    until, zone = ends
    end = f"until {moment_for_readers(until)}" if until else "until somebody types `/racing resume`"
    unasked = ". Nobody is asked to acknowledge a held abandonment, and nobody else is told" if asks else ""
    words = (
        f"PAUSED {end}.{_in_zone(until, now, zone)} Abandonments are held too{unasked}."
        f"{_too_long(until, now, keep_hours)} After the pause, the last {SUMMARY_HOURS} are posted message by message. "
        "A summary names all older abandonments and results."
    )
    if untaken and untaken.count:
        words = f"{words} {untaken_words(untaken, ' here')}."
    return told(words, resume_button())


def resume_button() -> Block:
    return command_button("Resume", "resume")


def _too_long(until: datetime | None, now: datetime, keep_hours: int) -> str:
    hours = counted(keep_hours, "hour")
    if until is None:
        return f" If the pause is longer than {hours}, older alerts, abandonments included, will be dropped."
    if until - now <= timedelta(hours=keep_hours):
        return ""
    return f" The pause is longer than {hours}: older alerts, abandonments included, will be dropped."


def _in_zone(until: datetime | None, now: datetime, zone: str | None) -> str:
    if until is None or zone is None:
        return ""
    there, today = until.astimezone(zone_of(zone)), now.astimezone(zone_of(zone)).date()
    moment = f"{weekday_and_day(there.date(), today)} {there:%H:%M}"
    if zone == UTC_NAME:
        return f" That is {moment} UTC: I don't know your time zone."
    return f" That is {moment} in {safe(zone)}, your time zone in Slack."


def resumed(paused: int, waited: int, dropped: int, *, is_closed: bool = False) -> Message:
    """`paused` counts the paused subscriptions and watches.

    `waited` and `dropped` count messages. `is_closed`: Slack does not let the bot post in the channel.
    """
    if not paused:
        return told("This channel was not paused: `/racing list` shows what it receives.")
    older = f"posted now; those older than {SUMMARY_HOURS} come in one summary" if waited > 1 else "posted now"
    posted = "posted once Slack lets me post here" if is_closed else older
    what = f"{counted(waited, 'message waited and is', 'messages waited and are')} {posted}."
    too_long = counted(dropped, "message waited too long and is", "messages waited too long and are")
    lost = f"{too_long} not posted." if dropped else None
    return told(joined(["The pause is over.", what if waited else "No message waited.", lost], " "))


def meeting_words(meeting: Meeting) -> str:
    name = joined([safe(meeting.course.name or meeting.course.course_id), published_day(meeting.race_date)], ", ")
    return name or f"meeting {safe(meeting.meeting_id)}"


def muted_words(user_id: str, meeting: Meeting, abandonments: Abandonments) -> str:
    what = f"results and racecards of {meeting_words(meeting)} are not posted"
    return f"Muted here by <@{safe(user_id)}>: {what}. {WHERE_ABANDONMENTS_ARE[abandonments]}"


def muted(meeting: Meeting, number: int, abandonments: Abandonments, *, is_missing: bool = False) -> Message:
    """`is_missing`: the day's whole card is known, and lacks the meeting."""
    missing = "I know of no meeting there on that day: the mute stays, in case of a later card. " if is_missing else ""
    text = (
        f"Muted: results and racecards of {meeting_words(meeting)} are no longer posted in this channel. {missing}"
        f"{WHERE_ABANDONMENTS_ARE[abandonments]} A result posted here before is still corrected. "
        "`/racing list` shows the muted meetings."
    )
    return told(text, undo_button(number))


def unmuted(meeting: Meeting) -> Message:
    return told(f"Results and racecards of {meeting_words(meeting)} are posted here again, from now on.")


def undo_button(number: int) -> Block:
    return action_button("Undo", UNMUTE, str(number))


def paused_by(user_id: str, filters: Sequence[ChannelFilter], until: datetime) -> Message:
    topics = listed(topics_in_order(frozenset[Topic]().union(*(chosen.topics for chosen in filters))))
    ends = moment_for_readers(until) if until < UNTIL_RESUMED else "somebody types `/racing resume`"
    return told(f"{named(user_id)} paused {topics or 'what is watched'} here until {ends}.")


def resumed_by(user_id: str, waited: int) -> Message:
    """`waited` counts messages."""
    posted = "Messages that waited are posted now." if waited else None
    return told(joined([f"{named(user_id)} ended the pause here.", posted], " "))


def muted_by(user_id: str, meeting: Meeting, abandonments: Abandonments) -> Message:
    words = f"{named(user_id)} muted {meeting_words(meeting)} here: its results and racecards are not posted."
    return told(f"{words} {WHERE_ABANDONMENTS_ARE[abandonments]}")


def unmuted_by(user_id: str, meeting: Meeting) -> Message:
    return told(f"{named(user_id)} unmuted {meeting_words(meeting)}: its results and racecards are posted here again.")

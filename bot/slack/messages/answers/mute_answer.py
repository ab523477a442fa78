"""Answers to the buttons that mute and unmute a meeting."""

from bot.channels.filters import Abandonments, Meeting
from bot.outbox.message import Block, Message
from bot.slack.messages.kit.blocks import action_button, actions, message, section
from bot.slack.messages.kit.text import joined, safe
from bot.slack.messages.kit.times import published_day

UNMUTE = "unmute_meeting"

_ABANDONMENTS = {
    Abandonments.POSTED: "The meeting's abandonments still come.",
    Abandonments.AFTER_THE_PAUSE: "The meeting's abandonments are kept until the pause of this channel ends.",
    Abandonments.ONCE_OPEN: "The meeting's abandonments wait until I can post in this channel again.",
    Abandonments.NOT_ASKED_FOR: "No abandonments come here: this channel has not asked for them.",
    Abandonments.DEPENDS_ON_REGION: "I don't know the meeting's region, so I can't say whether abandonments come here.",
}


def abandonments_words(abandonments: Abandonments) -> str:
    return _ABANDONMENTS[abandonments]


def meeting_words(meeting: Meeting) -> str:
    name = joined([safe(meeting.course.name or meeting.course.course_id), published_day(meeting.race_date)], ", ")
    return name or f"meeting {safe(meeting.meeting_id)}"


def muted(meeting: Meeting, number: int, abandonments: Abandonments) -> Message:
    text = (
        f"Muted: results and racecards of {meeting_words(meeting)} are no longer posted in this channel. "
        f"{abandonments_words(abandonments)} A result posted here before is still corrected. "
        "`/racing list` shows the muted meetings."
    )
    return message(text, [section(text), actions([undo_button(number)])])


def unmuted(meeting: Meeting) -> Message:
    text = f"Results and racecards of {meeting_words(meeting)} are posted here again, from now on."
    return message(text, [section(text)])


def undo_button(number: int) -> Block:
    return action_button("Undo", UNMUTE, str(number))

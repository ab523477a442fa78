"""What is said of a muted meeting."""

from bot.domain.filters import Meeting
from bot.domain.message import Block, Message
from bot.slack.messages.blocks import message, section
from bot.slack.messages.buttons import action_button, actions
from bot.slack.messages.text import joined, safe

UNMUTE = "unmute_meeting"


def meeting_words(meeting: Meeting) -> str:
    """A meeting by course and date, else by its id."""
    name = joined([safe(meeting.course.name or meeting.course.course_id), safe(meeting.race_date)], ", ")
    return name or f"meeting {safe(meeting.meeting_id)}"


def muted(meeting: Meeting, number: int) -> Message:
    """The answer to the button: `number` is the mute's, by which it is undone."""
    text = (
        f"Muted: results and racecards of {meeting_words(meeting)} are no longer posted in this channel, nor later "
        "on. Abandonments of it still are. `/racing list` shows what is muted here."
    )
    return message(text, [section(text), actions([undo_button(number)])])


def unmuted(meeting: Meeting) -> Message:
    """The answer to undoing it."""
    text = f"Results and racecards of {meeting_words(meeting)} are posted here again, from now on."
    return message(text, [section(text)])


def undo_button(number: int) -> Block:
    """The button that ends a mute."""
    return action_button("Undo", UNMUTE, str(number))

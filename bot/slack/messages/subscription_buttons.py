"""The buttons of subscriptions, also those for what arrives because another one overrides what was chosen."""

from bot.domain.filters import Overridden, is_same_course
from bot.domain.message import Block
from bot.slack.messages.buttons import action_button, command_button
from bot.slack.messages.filter_words import name_of, region_named, region_words, topics_in_order
from bot.slack.messages.text import clip, counted

EDIT = "edit_subscription"
REMOVE = "remove_subscription"

IN_LABEL_MAX = 40


def edit_button(region: str) -> Block:
    """Opens the form of the channel's subscription to a region."""
    return action_button("Edit", EDIT, region)


def remove_button(region: str, label: str = "Remove") -> Block:
    """Ends it. It carries the region, and not the subscription's number, which a later one can have."""
    question = f"This channel would no longer receive its subscription to {region_named(region)}."
    return action_button(label, REMOVE, region, confirm=question)


def mending_buttons(found: Overridden) -> list[Block]:
    """Leaves the courses out of the other subscription too, or ends that where nothing would be left of it."""
    by, words = found.by, [course.course_id or course.name or "" for course in found.courses]
    if by.courses and all(any(is_same_course(one, course) for course in found.courses) for one in by.courses):
        return [_end_button(by.region)]
    if not words or any('"' in word for word in words):
        return []
    count = len(words)
    what = clip(name_of(found.courses[0]), IN_LABEL_MAX) if count == 1 else counted(count, "course")
    label = f"Leave {what} out of {region_named(by.region)} too"
    line = ["subscribe", region_words(by.region), *topics_in_order(by.topics), *(f'-course:"{one}"' for one in words)]
    return [command_button(label, " ".join(line))]


def ending_buttons(found: Overridden) -> list[Block]:
    """Ends the subscription to all regions, where that brings whatever the one to a region does, and more."""
    is_within = found.chosen.topics <= found.by.topics
    return [_end_button(found.by.region)] if is_within and (found.topics or found.is_rest) else []


def _end_button(region: str) -> Block:
    return remove_button(region, f"End {region_named(region)}")

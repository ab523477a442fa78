"""The answer of `/racing list`: a page of subscriptions, each with its state; and the buttons of subscriptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from bot.channels.filters import Abandonments, ChannelFilter, Meeting, Overridden
from bot.channels.pauses import UNTIL_RESUMED
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, MutedMeetingRow, SubscriptionState
from bot.events.event import Topic
from bot.outbox.message import Block, Message
from bot.outbox.notices import closed_words
from bot.slack.messages.answers.filter_words import all_courses_are_shown, describe, in_markup, still_arrives
from bot.slack.messages.answers.pause_and_mute import abandonments_words, meeting_words, resume_button, undo_button
from bot.slack.messages.conditions.region_view import region_named
from bot.slack.messages.conditions.table import VIEWS
from bot.slack.messages.kit.blocks import action_button, actions, command_button, context, message, section
from bot.slack.messages.kit.marks import CONFLICTING
from bot.slack.messages.kit.mentions import named
from bot.slack.messages.kit.pages import page_mark, turns
from bot.slack.messages.kit.text import clip, counted, joined, listed, safe
from bot.slack.messages.kit.times import moment_for_readers, weekday_and_day

PER_PAGE = 5
SUBSCRIPTION_WORDS_MAX = 1_400

MUTES_SHOWN = 4

OVERRIDING_MAX = 3

STATE_WORDS = {
    SubscriptionState.LIVE: "live",
    SubscriptionState.WAITING: "waiting for me to be invited",
    SubscriptionState.PAUSED: "paused",
    SubscriptionState.SUSPENDED: "suspended",
}


@dataclass(frozen=True)
class Listed:
    """One subscription; `orphaned` says what the subscription lacks, `overridden` what others bring all the same.

    `has_abandonments`: from the region, by any subscription of the channel.
    """

    row: ChannelSubscriptionRow
    chosen: ChannelFilter
    last_post_at: datetime | None = None
    last_post_link: str | None = None
    orphaned: Sequence[str] = ()
    overridden: Sequence[Overridden] = ()
    has_abandonments: bool = True


@dataclass(frozen=True)
class ChannelPause:
    """`by`: the person who paused the channel. `since` and `by` are None if unknown."""

    until: datetime
    since: datetime | None = None
    by: str | None = None


@dataclass(frozen=True)
class ListPage:
    """`watched` counts names."""

    listed: Sequence[Listed]
    number: int
    pages: int
    total: int
    mutes: Sequence[tuple[MutedMeetingRow, Meeting, Abandonments]]
    last_change: AuditEntry | None = None
    today: date | None = None
    pause: ChannelPause | None = None
    watched: int = 0


def subscription_list(page: ListPage) -> Message:
    """A pause comes first, also where the channel watches names alone."""
    head: list[Block | None] = []
    if page.pause:
        head += [section(f"*{_paused(page.pause, _moment)}*"), actions([resume_button()])]
    if page.total:
        count = counted(page.total, "subscription")
        here = f", {len(page.listed)} of them on this page" if page.pages > 1 else ""
        text = f"This channel has {count}{here}: {'; '.join(map(_in_text, page.listed))}"
        arriving = [still_arrives(found) for one in page.listed for found in one.overridden]
        text = " ".join([f"{text}.", *arriving]) if arriving else text
        head.append(section(f"*What this channel receives*{page_mark(page.number, page.pages)}"))
    else:
        text = "This channel has no subscriptions."
        if not page.watched:
            text += " For example: /racing subscribe GB results abandonments"
        head.append(section(text))
    if page.watched:
        watched = f"{counted(page.watched, 'name')} watched here: `/racing watching` lists and ends them."
        text = f"{text} {watched}"
        head += [section(watched), actions([command_button("What is watched", "watching")])]
    if page.pause:
        text = f"{_paused(page.pause, lambda moment: _plain(_moment(moment)))} {text}"
    for one in page.listed:
        head += [section(_subscription(one, page.today)), _buttons(one)]
    for row, meeting, abandonments in page.mutes[:MUTES_SHOWN]:
        head += [section(_muted(row, meeting, abandonments)), actions([undo_button(row.id or 0)])]
    if more := page.mutes[MUTES_SHOWN:]:
        head.append(section(f"and {counted(len(more), 'more muted meeting')}"))
    return message(text, head, foot=[turns("list", page.number, page.pages), context(*_small(page))])


def _paused(pause: ChannelPause, shown: Callable[[datetime], str]) -> str:
    since = f" since {shown(pause.since)}" if pause.since else ""
    by = f" by {named(pause.by)}" if pause.by else ""
    ends = shown(pause.until) if pause.until < UNTIL_RESUMED else "somebody resumes"
    return f"PAUSED{since}{by}, until {ends}."


def _subscription(one: Listed, today: date | None) -> str:
    row = one.row
    made = f"subscribed by {named(row.created_by)} on {weekday_and_day(row.created_at.date(), today)}"
    state = _state_words(row)
    lines = [
        f"• {in_markup(one.chosen)}{_lacks(one)}",
        f"{state}, {made} · {_last_post(one)}",
        None if all_courses_are_shown(one.chosen) else "Edit shows all courses.",
        *(f"{CONFLICTING} {safe(words)}" for words in one.orphaned),
        *map(still_arrives, one.overridden),
    ]
    return clip(joined(lines, "\n"), SUBSCRIPTION_WORDS_MAX)


def _lacks(one: Listed) -> str:
    return "" if one.has_abandonments else ", no abandonments"


def _last_post(one: Listed) -> str:
    if one.last_post_at is None:
        return "nothing posted lately"
    when = f"last post {_moment(one.last_post_at)}"
    return f"{when} (<{one.last_post_link}|open>)" if one.last_post_link else when


def _moment(moment: datetime) -> str:
    return moment_for_readers(moment, seconds=False)


def _plain(moment: str) -> str:
    return moment.rpartition("|")[2].removesuffix(">")


def _in_text(one: Listed) -> str:
    is_live = one.row.state == SubscriptionState.LIVE
    state = [] if is_live else [_state_words(one.row)]
    words = safe(describe(one.chosen), SUBSCRIPTION_WORDS_MAX) or "?"
    return ", ".join([f"{words}{_lacks(one)}", *state])


def _state_words(row: ChannelSubscriptionRow) -> str:
    state = STATE_WORDS[SubscriptionState(row.state)]
    return f"{state} ({safe(closed_words(row.state_reason))})" if row.state_reason and row.state != "waiting" else state


def _buttons(one: Listed) -> Block | None:
    region, others = one.row.region, overriding_buttons(one.overridden)
    return actions([edit_button(region), remove_button(region), *others[:OVERRIDING_MAX]])


def _muted(row: MutedMeetingRow, meeting: Meeting, abandonments: Abandonments) -> str:
    what = f"results and racecards of {meeting_words(meeting)} are not posted"
    return f"Muted here by <@{safe(row.muted_by)}>: {what}. {abandonments_words(abandonments)}"


def _small(page: ListPage) -> list[str]:
    said = ["Change it here, or by `/racing subscribe` and `/racing unsubscribe`."] if page.total else []
    if change := page.last_change:
        by = f"{named(change.user_id)} {moment_for_readers(change.at)}"
        said.append(f"Last changed by {by} ({safe(change.action)}); `/racing audit` shows all.")
    return said


EDIT = "edit_subscription"
REMOVE = "remove_subscription"
FORM = "fill_form"

LACKING_MAX = 5


def edit_button(region: str, label: str = "Edit") -> Block:
    return action_button(label, EDIT, region)


def form_button(words: str) -> Block:
    """Opens the form of a new subscription, filled with these words of `/racing subscribe`."""
    return action_button("Open the form", FORM, words or "subscribe")


def no_abandonments(lacking: Sequence[ChannelFilter]) -> str:
    return f"Abandonments from {listed([region_named(one.region) for one in lacking])} will not be posted here."


def abandonments_buttons(lacking: Sequence[ChannelFilter]) -> list[Block]:
    return [
        command_button(
            "Add abandonments" if len(lacking) == 1 else f"Add abandonments from {region_named(one.region)}",
            " ".join(["subscribe", *map(_quoted, _same_with_abandonments(one))]),
        )
        for one in lacking[:LACKING_MAX]
    ]


def overriding_buttons(overridden: Sequence[Overridden]) -> list[Block]:
    """Opens the form of each overriding subscription.

    Nothing changes by itself: a command can seldom leave the same out.
    """
    regions = dict.fromkeys(found.by.region for found in overridden)
    return [edit_button(region, f"Edit {region_named(region)}") for region in regions]


def remove_button(region: str) -> Block:
    """Ends the subscription. The value is the region, because a later row can have the same number."""
    question = f"This channel would no longer receive its subscription to {region_named(region)}."
    return action_button("Remove", REMOVE, region, confirm=question)


def _same_with_abandonments(chosen: ChannelFilter) -> list[str]:
    """The words for abandonments of the same races. Excluded courses stay excluded."""
    views = [view for view in VIEWS if view.condition.is_narrowing or view.field == "region"]
    first, *others = [view.typed(chosen) for view in views]
    return [*first, Topic.ABANDONMENTS, *(word for words in others for word in words)]


def _quoted(word: str) -> str:
    name, colon, value = word.replace('"', "").partition(":")
    if not colon:
        return f'"{name}"' if " " in name else name
    return f'{name}:"{value}"' if " " in value else f"{name}:{value}"

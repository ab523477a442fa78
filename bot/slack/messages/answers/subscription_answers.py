"""The answers of subscribe, unsubscribe and `/racing list`, and the buttons of subscriptions.

`lost_by` and `welcome` are lines that the channel reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from bot.channels.audit_log import pages_of
from bot.channels.conditions.event_conditions import region_named, region_words
from bot.channels.conditions.table import CONDITIONS, NARROWING, REGION
from bot.channels.filters import ALL_REGIONS, Abandonments, ChannelFilter, Meeting, without_abandonments
from bot.channels.pauses import UNTIL_RESUMED
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, MutedMeetingRow, SubscriptionState
from bot.events.event import RacingEvent, Topic
from bot.events.race_state import RaceOutcome
from bot.events.sentences import counted, listed
from bot.events.typed_text import typed_line
from bot.outbox.message import Block, Message
from bot.outbox.notices import closed_words
from bot.racedata.day_views import RECENT_DAYS, Recent
from bot.slack.messages.answers.day_answer import IN_CONFLICT
from bot.slack.messages.answers.filter_words import (
    FILTER_WORDS_MAX,
    Overriding,
    all_courses_are_shown,
    described,
    in_markup,
    in_plain_words,
    still_arrives,
)
from bot.slack.messages.answers.pause_and_mute import IS_PAUSED, muted_words, resume_button, undo_button
from bot.slack.messages.answers.watch_answer import races_still_coming
from bot.slack.messages.kit.blocks import action_button, actions, command_button, context_block, section
from bot.slack.messages.kit.layout import message, page_mark, sentence, told, turns
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, MARKED_CONFLICT
from bot.slack.messages.kit.names import abandonment_name, lost_reason, region_mark
from bot.slack.messages.kit.text import TEXT_MAX, clip, first_of, given, joined, link_to, named, safe, size
from bot.slack.messages.kit.times import moment_for_readers, weekday_and_day

ABANDONMENTS_NAMED = 20
CONFLICTS_NAMED = 5

ABANDONMENT_NAME_MAX = 120

OVERRIDING_NAMED = 3

PER_PAGE = 5
SUBSCRIPTION_WORDS_MAX = 1_400

MUTES_SHOWN = 4

STATE_WORDS = {
    SubscriptionState.LIVE: "live",
    SubscriptionState.WAITING: "waiting for me to be invited",
    SubscriptionState.PAUSED: "paused",
    SubscriptionState.SUSPENDED: "suspended",
}

EDIT = "edit_subscription"
REMOVE = "remove_subscription"
FORM = "fill_form"

LACKING_MAX = 5


@dataclass(frozen=True)
class Subscribed:
    """`saved`: the stored filters, and `filters` the same for messages. `unchecked` words were taken as typed.

    `notes` are sentences on words and courses. `is_member` None: Slack does not say whether the bot is in the channel.
    `is_news`: something was stored that the channel did not have.
    """

    filters: Sequence[ChannelFilter]
    unchecked: Sequence[str]
    saved: Sequence[ChannelFilter] = ()
    notes: Sequence[str] = ()
    is_member: bool | None = None
    is_news: bool = True


@dataclass(frozen=True, kw_only=True)
class Said(Subscribed):
    """The parts of the answer of `subscribe`.

    `suspended` is the reason of a suspension. `uncovered` events are not delivered to us. `overriding` filters bring
    events left out by the answer's filters. `lacking` are filters without abandonments in the channel. `minutes_alone`:
    the time to acknowledge where nobody else is told. `waiting`: for each earlier event that waits, until when.
    `has_others`: the channel has other subscriptions.
    """

    uncovered: Sequence[str]
    recent: Recent
    is_paused: bool
    bot_name: str
    is_direct: bool = False
    suspended: str | None = None
    overriding: Overriding = ()
    lacking: Sequence[ChannelFilter] = ()
    minutes_alone: int | None = None
    waiting: Sequence[datetime] = ()
    has_others: bool = False


def subscribed(said: Said) -> Message:
    words, today = joined([*_first(said), *_rest(said)], " "), _lost_today(said)
    lost = "\n".join(today)
    # The beginning gives way, so that no abandonment is cut off the text.
    text = joined([clip(words, TEXT_MAX - size(lost) - 1), lost], "\n")
    had = [] if said.is_news else [edit_button(one.region, f"Edit {region_named(one.region)}") for one in said.filters]
    buttons = actions([*abandonments_buttons(said.lacking), *overriding_buttons(said.overriding), *had])
    return message(text, [section(words), *map(section, today), buttons])


def _first(said: Said) -> list[str | None]:
    what = in_markup(*said.filters)
    # Overriding subscriptions are named.
    takes = f"channel {'also ' if said.has_others and not said.overriding else ''}receives {what}."
    receives = f"This {takes}" if said.is_news else f"Nothing changed: this channel receives {what}."
    if said.is_member is False:
        receives = f"Saved, but I am not in this channel yet: type {_invite(said)} here. Then this {takes}"
    new = {one.region for one in said.filters}
    arriving = [still_arrives(by, regions, is_told=by.region in new) for by, regions in said.overriding]
    overriding = first_of(arriving, OVERRIDING_NAMED, "`/racing list` shows {} more.")
    return [receives, no_abandonments(said.lacking), *overriding]


def _rest(said: Said) -> list[str | None]:
    unchecked, uncovered = (listed([safe(word) or "?" for word in words]) for words in (said.unchecked, said.uncovered))
    span = None if said.minutes_alone is None else counted(said.minutes_alone, "minute")
    has_hours = any(one.has_hours and Topic.ABANDONMENTS in one.topics for one in said.filters)
    due = f"{'the first ' if len(set(said.waiting)) > 1 else ''}due"
    until = moment_for_readers(said.waiting[0]) if said.waiting else None
    return [
        *(safe(words, FILTER_WORDS_MAX) for words in said.notes),
        _where_courses_are(said.filters),
        given("I could not check {} against the data service just now: it was taken as typed.", unchecked),
        given("The data service does not deliver {} to me: an admin has to subscribe the bot there.", uncovered),
        given(
            "If nobody has pressed *I have it* after {}, I post here once more. Nobody else is told. To name "
            "people or channels, use Edit in `/racing list`, or add `escalate:@name`.",
            span,
        ),
        "Abandonments never wait." if has_hours else None,
        given(f"Already waiting here: {counted(len(said.waiting), 'event')}, {due} {{}}.", until),
        IS_PAUSED if said.is_paused else None,
        _doubts(said),
        _lately(said.recent, frozenset().union(*(chosen.topics for chosen in said.filters))),
    ]


def _doubts(said: Said) -> str | None:
    if said.is_member is not None:
        return None
    if said.suspended:
        why = safe(said.suspended)
        return f"But Slack did not let me post here lately ({why}): messages wait until Slack does."
    if said.is_direct:
        return "I could not see whether these are your direct messages with me. I can post only in those."
    return f"I could not see whether I am in this channel: if nothing arrives, type {_invite(said)}."


def _invite(said: Said) -> str:
    return f"`/invite @{said.bot_name}`"


def _lost_today(said: Said) -> list[str]:
    """Abandonments and conflicts in lines, with the command for the rest."""
    if not any(Topic.ABANDONMENTS in chosen.topics for chosen in said.filters):
        return []
    regions = {region_words(chosen.region) for chosen in said.filters}
    region = safe(regions.pop()) if len(regions) == 1 else "all"

    def told(title: str, events: Sequence[RacingEvent], most: int) -> str:
        names = sorted(clip(_lost(event, said.recent), ABANDONMENT_NAME_MAX) for event in events)
        more = f": `/results {region} abandonments` lists them all" if len(names) > most else ""
        return "\n".join([title, *first_of(names, most)]) + more if names else ""

    lists = [told(f"{ABANDONED} *Already abandoned today*", said.recent.abandoned, ABANDONMENTS_NAMED)]
    for which, words in IN_CONFLICT.items():
        events = [one for one in said.recent.disputed if one.in_doubt is (which is RaceOutcome.IN_DOUBT)]
        lists.append(told(f"{MARKED_CONFLICT}: {words}", events, CONFLICTS_NAMED))
    return [*filter(None, lists)]


def _lost(event: RacingEvent, recent: Recent) -> str:
    unknown = "" if event.race.region else region_mark(event)
    return joined(
        [f"{abandonment_name(event, recent.partly_run)}{unknown}", lost_reason(event.race, event.reason)], ", "
    )


@dataclass(frozen=True)
class Unsubscribed:
    """The numbers of ended and of changed subscriptions, and the filters that are left.

    `lacking` are filters without abandonments in the channel, ended filters too. `watched` counts watched names. `was`:
    the ended and changed filters, as they were.
    """

    ended: int
    changed: int
    left: Sequence[ChannelFilter]
    lacking: Sequence[ChannelFilter] = ()
    watched: int = 0
    was: Sequence[ChannelFilter] = ()


def unsubscribed(done: Unsubscribed) -> Message:
    numbers = {"ended": done.ended, "changed": done.changed}
    several = listed([f"{counted(number, 'subscription')} {what}" for what, number in numbers.items() if number])
    first = "Done." if done.ended + done.changed == 1 else f"Done: {several}."
    said: list[str | None] = [f"{first} This channel has no subscriptions left.", races_still_coming(done.watched)]
    if done.left:
        said = [f"{first} This channel still receives {in_markup(*done.left)}.", _where_courses_are(done.left)]
    watching = [command_button("What is watched", "watching")] if done.watched and not done.left else []
    mentions = "Undo brings back all but the mentions." if any(one.mentions for one in done.was) else None
    there = {one.region for one in done.was if Topic.ABANDONMENTS in one.topics}
    others = abandonments_buttons([one for one in done.lacking if one.region not in there])
    return told(joined([*said, no_abandonments(done.lacking), mentions], " "), *_undo(done.was), *others, *watching)


def _undo(was: Sequence[ChannelFilter]) -> list[Block]:
    """A button for each group of regions with the same filter. "all GB" would be read as GB."""
    by_words: dict[tuple[str, bool], list[str]] = {}
    for one in was:
        # Hours without a zone are in UTC. Typed, they would go by the person's own clock.
        exact = one.model_copy(update={"zone": one.zone or (("UTC",) if one.has_hours else ())})
        words = typed_line(word for kind in CONDITIONS if kind is not REGION for word in kind.typed(exact))
        by_words.setdefault((words, one.region == ALL_REGIONS), []).append(one.region)
    return [
        command_button(
            "Undo" if len(by_words) == 1 else f"Undo: {listed([*map(region_named, regions)])}",
            f"{typed_line(['subscribe', *map(region_words, regions)])} {words}",
        )
        for (words, _), regions in by_words.items()
    ]


def _lately(recent: Recent, topics: frozenset[Topic]) -> str | None:
    figures = {Topic.RESULTS: (recent.results, "result"), Topic.ABANDONMENTS: (recent.abandonments, "abandonment")}
    shown = [figure for topic, figure in figures.items() if topic in topics and recent.is_whole]
    counts = listed([counted(number, name) if number else f"no {name}s" for number, name in shown])
    return given(f"In the last {RECENT_DAYS} days: {{}}.", counts)


def _where_courses_are(filters: Sequence[ChannelFilter]) -> str | None:
    return None if all_courses_are_shown(*filters) else "Edit in `/racing list` shows all courses."


@dataclass(frozen=True)
class Listed:
    """One subscription; `orphaned` says what the subscription lacks, `overriding` who brings what it leaves out.

    `has_abandonments`: from the region, by any subscription of the channel.
    """

    row: ChannelSubscriptionRow
    chosen: ChannelFilter
    last_post_at: datetime | None = None
    last_post_link: str | None = None
    orphaned: Sequence[str] = ()
    overriding: Overriding = ()
    has_abandonments: bool = True


@dataclass(frozen=True)
class ListPage:
    """`pause`: see `paused_since`. `watched` counts names."""

    listed: Sequence[Listed]
    number: int
    total: int
    mutes: Sequence[tuple[MutedMeetingRow, Meeting, Abandonments]]
    last_change: AuditEntry | None = None
    today: date | None = None
    pause: str | None = None
    watched: int = 0


def subscription_list(page: ListPage) -> Message:
    """A pause comes first, also where the channel watches names alone."""
    head, pages = list[Block | None](), pages_of(page.total, PER_PAGE)
    if page.pause:
        head += [section(f"*{page.pause}*"), actions([resume_button()])]
    if page.total:
        head.append(section(f"*What this channel receives*{page_mark(page.number, pages)}"))
    else:
        example = None if page.watched else "For example: /racing subscribe GB results abandonments"
        head.append(section(joined(["This channel has no subscriptions.", example], " ")))
    if page.watched:
        watched = f"{counted(page.watched, 'name')} watched here: `/racing watching` lists and ends them."
        head += [section(watched), actions([command_button("What is watched", "watching")])]
    for one in page.listed:
        beside = [edit_button(one.row.region), remove_button(one.row.region), *overriding_buttons(one.overriding)]
        head += [section(_subscription(one, page.today)), actions(beside)]
    for row, meeting, abandonments in page.mutes[:MUTES_SHOWN]:
        head += [section(muted_words(row.muted_by, meeting, abandonments)), actions([undo_button(row.id or 0)])]
    if more := page.mutes[MUTES_SHOWN:]:
        head.append(section(f"and {counted(len(more), 'more muted meeting')}"))
    turned = turns("list", page.number, pages)
    return message(None, [*head, turned, context_block(*_small(page))])


def paused_since(until: datetime, since: datetime | None = None, by: str | None = None) -> str:
    """`by`: the person who paused the channel. `since` and `by` are None if unknown."""
    began = given(" since {}", moment_for_readers(since) if since else None) or ""
    ends = moment_for_readers(until) if until < UNTIL_RESUMED else "somebody resumes"
    return f"PAUSED{began}{given(' by {}', named(by) if by else None) or ''}, until {ends}."


def _subscription(one: Listed, today: date | None) -> str:
    row = one.row
    made = f"subscribed by {named(row.created_by)} on {weekday_and_day(row.created_at.date(), today)}"
    state = _state_words(row)
    lines = [
        f"• {in_markup(one.chosen)}{'' if one.has_abandonments else ', no abandonments'}",
        f"{state}, {made} · {last_post(one.last_post_at, one.last_post_link)}",
        None if all_courses_are_shown(one.chosen) else "Edit shows all courses.",
        *(f"{CONFLICTING} {safe(words)}" for words in one.orphaned),
        *(still_arrives(by, regions) for by, regions in one.overriding),
    ]
    return clip(joined(lines, "\n"), SUBSCRIPTION_WORDS_MAX)


def last_post(at: datetime | None, link: str | None = None) -> str:
    if at is None:
        return "nothing posted lately"
    return f"last post {moment_for_readers(at)}{given(' ({})', link_to(link, 'open')) or ''}"


def _state_words(row: ChannelSubscriptionRow) -> str:
    state = STATE_WORDS[SubscriptionState(row.state)]
    return f"{state} ({safe(closed_words(row.state_reason))})" if row.state_reason and row.state != "waiting" else state


def _small(page: ListPage) -> list[str]:
    said = ["Change subscriptions here, or by `/racing subscribe` and `/racing unsubscribe`."] if page.total else []
    if change := page.last_change:
        by = f"{named(change.user_id)} {moment_for_readers(change.at)}"
        said.append(f"Last changed by {by} ({safe(change.action)}); `/racing audit` shows all.")
    return said


def edit_button(region: str, label: str = "Edit") -> Block:
    return action_button(label, EDIT, region)


def form_button(words: str) -> Block:
    """Opens the form of a new subscription, filled with these words of `/racing subscribe`."""
    return action_button("Open the form", FORM, words or "subscribe")


def no_abandonments(lacking: Sequence[ChannelFilter]) -> str | None:
    regions = listed([region_named(one.region) for one in lacking])
    return safe(given("Abandonments from {} will not be posted here.", regions), FILTER_WORDS_MAX)


def abandonments_buttons(lacking: Sequence[ChannelFilter]) -> list[Block]:
    return [
        command_button(
            "Add abandonments" if len(lacking) == 1 else f"Add abandonments from {region_named(one.region)}",
            # For the same races: excluded courses stay excluded.
            typed_line(
                ["subscribe", region_words(one.region), Topic.ABANDONMENTS]
                + [word for kind in NARROWING for word in kind.typed(one)]
            ),
        )
        for one in lacking[:LACKING_MAX]
    ]


def overriding_buttons(overriding: Overriding) -> list[Block]:
    """Opens the form of each overriding subscription.

    Nothing changes by itself: a command can seldom leave the same out.
    """
    regions = dict.fromkeys(by.region for by, _ in overriding)
    return [edit_button(region, f"Edit {region_named(region)}") for region in regions][:OVERRIDING_NAMED]


def remove_button(region: str) -> Block:
    """Ends the subscription. The value is the region, because a later row can have the same number."""
    question = f"This ends the channel's subscription to {region_named(region)}."
    return action_button("Remove", REMOVE, region, confirm=question)


def lost_by(user_id: str, lost: Sequence[ChannelFilter], now: Sequence[ChannelFilter], *, watched: int = 0) -> Message:
    """`lost`: earlier filters that have ended or took more. `watched`: the number of watched names."""
    there = {one.region: one for one in now if one.region in {chosen.region for chosen in lost}}
    before, after = described(lost), described(there.values())
    if not there:
        rest = f"This channel still receives {described(now)}." if now else races_still_coming(watched)
        return told(f"{named(user_id)} ended {before} here. {rest or 'This channel receives nothing now.'}")
    if before == after:
        return told(f"{named(user_id)} changed who is mentioned for abandonments here. `/racing list` shows who.")
    had = [one for one in lost if one.region in there and Topic.ABANDONMENTS in one.topics]
    what = f"{named(user_id)} changed what this channel receives. Before: {before}. Now: {after}."
    return told(joined([what, no_abandonments(without_abandonments(had, now))], " "))


def welcome(filters: Sequence[ChannelFilter], *, is_paused: bool) -> Message:
    if not filters:
        return sentence(
            "Thank you for the invitation. I post horse racing results and abandonments. Type /racing subscribe GB for "
            "a region, or /racing subscribe all. /racing help shows what else I understand."
        )
    receives = f"This channel receives {in_plain_words(filters)}."
    paused, rest = IS_PAUSED if is_paused else None, "/racing list shows the subscriptions."
    return sentence(joined(["Thank you for the invitation.", receives, paused, rest], " "))

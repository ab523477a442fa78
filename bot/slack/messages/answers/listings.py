"""The answers of `/usage` and `/racing status`, `courses`, `coverage` and `audit`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import accumulate

from bot.channels.audit_log import AuditPage
from bot.db.tables import AuditEntry
from bot.deliveries.inbox import reference
from bot.events.sentences import counted
from bot.operations.status_figures import Status
from bot.outbox.message import Block, Message
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.month_quota import LEAST_DAYS, Kinds, QuotaReading, QuotaSource, UsageRow, in_figures, month_after
from bot.slack.messages.alerts.alert_notes import untaken_named, untaken_words
from bot.slack.messages.alerts.backlog_summary import COUNTED
from bot.slack.messages.answers.trace_answer import why_not_posted
from bot.slack.messages.kit.blocks import context_block, fields, header, section
from bot.slack.messages.kit.layout import LISTED_TOGETHER, Either, line_units, lines, message, page_mark, paged, turns
from bot.slack.messages.kit.names import COURSE_MAX, SHORT_MAX, share_recorded
from bot.slack.messages.kit.native_blocks import CATEGORIES_MAX, line_chart
from bot.slack.messages.kit.text import DATA_MAX, code, given, joined, named, safe
from bot.slack.messages.kit.times import (
    day_in_words,
    in_readers_zone,
    moment_for_readers,
    month_in_words,
    published_day,
)

KINDS_SHOWN = 8

HOW_SURE = {
    QuotaSource.ROWS: "Added up from the service's daily figures of this month (UTC).",
    QuotaSource.TOTAL: "The service's own total for the month.",
    QuotaSource.OWN_COUNT: "",
}
LOWER_BOUND = {
    QuotaSource.ROWS: "At least this many: the service's daily figures no longer reach back to the first.",
    QuotaSource.TOTAL: "At least this many: the growth of the service's total since this month's first reading.",
    QuotaSource.OWN_COUNT: "At least this many: this bot's own count, because the service names no period.",
}


def usage(reading: QuotaReading, failure: str | None = None) -> Message:
    """`failure`: why an older reading is shown, as markup."""
    percent = f" ({reading.percent}%)" if reading.percent is not None else ""
    published = reading.published
    how_sure = (HOW_SURE if reading.certain else LOWER_BOUND)[reading.source]
    last_read = given("{} These are the last figures read.", failure)
    head = [
        header(f"Quota, {month_in_words(reading.month)}"),
        fields(
            ("Used", f"{reading.shown}{percent}"),
            ("Limit", _limit(reading)),
            ("Left", given("{}" if reading.certain else "at most {}", _figure(reading.left))),
            ("This month", _spent(reading)),
            ("Forecast", _expected(reading)),
            ("Window of the plan", safe(reading.window, 80)),
            ("Errors", _figure(published.errors)),
            ("Refusals", joined([_figure(published.refusals), _by_kind(published.refusal_kinds)], " ")),
        ),
        section(joined([how_sure, reading.tier.words, last_read], "\n")),
    ]
    rows = _in_order(reading)
    none = "" if failure else f"The service gave no rows by {reading.grouped_by}."
    title = section(f"*By {reading.grouped_by}*" if rows else none)
    foot = context_block(f"read {in_readers_zone(reading.taken_at)}", "this reading costs no quota")
    shown = lines([_row(row, reading) for row in rows])
    return message(None, [*head, Either([_chart(reading)], []), title, shown, foot])


def in_short(reading: QuotaReading) -> str:
    of_limit = f" of {reading.limit:,} ({reading.percent}%)" if reading.limit is not None else ""
    said = [
        f"{reading.shown}{of_limit} used in {month_in_words(reading.month)}",
        _spent(reading),
        given("forecast: {}", _expected(reading)),
    ]
    return joined(said, "; ")


def _chart(reading: QuotaReading) -> Block | None:
    """Cumulative use by day, beside the limit; None below two days."""
    by_day = _days_of_the_month(reading)
    if len(by_day) < 2:
        return None
    used = list(accumulate(by_day.values()))
    # Every `step`-th day back from the last; sums include omitted days.
    step = -(-len(by_day) // CATEGORIES_MAX)
    shown = [str(day.day) for day in by_day][::-step][::-1]
    series = {"Used": used[::-step][::-1]} | ({"Limit": [reading.limit] * len(shown)} if reading.limit else {})
    return line_chart(f"Requests in {month_in_words(reading.month)}", "Day of the month (UTC)", shown, series)


def _days_of_the_month(reading: QuotaReading) -> dict[date, int]:
    days: Counter[date] = Counter()
    for row in reading.rows if reading.grouped_by == "day" else ():
        if row.label.startswith(reading.month) and row.requests is not None:
            with suppress(ValueError):
                days[date.fromisoformat(row.label[:10])] += row.requests
    return dict(sorted(days.items()))


def _limit(reading: QuotaReading) -> str:
    if reading.limit is None:
        return "not known: an admin can set MONTHLY_QUOTA"
    return joined([f"{reading.limit:,}", given("({})", safe(reading.plan, 40))], " ")


def _figure(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _spent(reading: QuotaReading) -> str | None:
    turns = day_in_words(month_after(reading.month))
    return f"none left until {turns}" if reading.is_spent else None


def _expected(reading: QuotaReading) -> str | None:
    expected = reading.expected
    if reading.is_spent:
        return None
    if expected is None:
        return f"none yet: a forecast needs {LEAST_DAYS} whole days of use"
    return in_figures(expected)


def _by_kind(kinds: Kinds) -> str | None:
    shown = [f"{count:,} {safe(kind, 40) or '?'}" for kind, count in kinds[:KINDS_SHOWN]]
    more = sum(count for _, count in kinds[KINDS_SHOWN:])
    return given("({})", joined([*shown, f"{more:,} of other kinds" if more else None], ", "))


def _in_order(reading: QuotaReading) -> list[UsageRow]:
    if reading.grouped_by == "day":
        return sorted(reading.rows, key=lambda row: row.label, reverse=True)
    return sorted(reading.rows, key=lambda row: (-(row.requests or 0), row.label))


def _row(row: UsageRow, reading: QuotaReading) -> str:
    label = (_day(row.label, reading) if reading.grouped_by == "day" else None) or safe(row.label, 80) or "?"
    said = [
        None if row.requests is None else counted(row.requests, "request"),
        counted(row.errors, "error") if row.errors else None,
        joined([counted(row.refusals, "refusal"), _by_kind(row.refusal_kinds)], " ") if row.refusals else None,
    ]
    return f"• {label}: {joined(said, ', ')}"


def _day(label: str, reading: QuotaReading) -> str | None:
    """For example "Fri 20 Nov"; None for a label that is no day."""
    day, _, _ = label.partition("T")
    return published_day(day, reading.taken_at.date()) if len(day) == len("2026-11-20") else None


REASON_MAX = 300
EVENTS_MAX = 8


def status_answer(found: Status, degraded: Mapping[str, str], only_channel: str | None = None) -> Message:
    """Reasons, jobs, versions and other channels are for admins only. Other people read of `only_channel`."""
    for_admins = only_channel is None
    where = f" for {named(only_channel)}" if only_channel else ""
    deliveries = counted(found.waiting_deliveries, "delivery", "deliveries") if found.waiting_deliveries else None
    waits = joined([deliveries, f"{counted(found.waiting_posts, 'post')}{where}"], ", ")
    head = [
        header("Status"),
        section(f"*{_health(found, degraded, only_channel)}*"),
        section("\n".join(_reasons(found, degraded)) if for_admins else ""),
        fields(
            ("Deliveries, last 24 hours", _deliveries(found.deliveries)),
            ("Posts, last 24 hours", _posts(found)),
            ("Waiting", waits),
            ("Quota", in_short(found.reading) if found.reading else "not read this month yet"),
            ("Last repair", moment_for_readers(found.done["repair"]) if "repair" in found.done else None),
        ),
    ]
    listed = [*_waiting(found, for_admins=for_admins), *(_jobs(found) if for_admins else ())]
    return message(None, [*head, lines(listed), _small_print(found, only_channel)])


def _health(found: Status, degraded: Mapping[str, str], only_channel: str | None) -> str:
    if not (degraded or found.missing or found.without_result or found.untaken.count):
        return "All is well." if found.done else "Nothing has been checked yet."
    wrong, late = len(degraded), counted(found.without_result, "past race")
    said = [
        f"{counted(wrong, 'thing needs', 'things need')} attention." if wrong else None,
        _untaken(found, only_channel) if found.untaken.count else None,
        f"Missing: outcomes of {counted(found.missing, 'meeting')}." if found.missing else None,
        f"{late} without a result hours after the off." if found.without_result else None,
        "An admin can see why." if only_channel and wrong else None,
    ]
    return joined(said, " ")


def _untaken(found: Status, only_channel: str | None) -> str:
    told = untaken_words(found.untaken, f" in {named(only_channel)}" if only_channel else "")
    here = found.untaken_here
    if here is None:
        return f"{told}."
    inside = f"{here.count} ({untaken_named(here)})" if here.count else "none"
    return f"{told}, in this channel {inside}."


def _reasons(found: Status, degraded: Mapping[str, str]) -> Iterator[str]:
    words_of = {f"job {job.id}": job.words for job in found.jobs}
    for name, reason in degraded.items():
        yield f"• *{safe(words_of.get(name, name))}*: {safe(reason, REASON_MAX)}"


def _posts(found: Status) -> str:
    sent = found.sent
    if sent.p50_s is None or sent.p95_s is None:
        return "0 posts"
    times = f"half of them within {_seconds(sent.p50_s)} of receipt, 95% within {_seconds(sent.p95_s)}"
    return f"{counted(sent.posts, 'post')}, {times}"


def _seconds(took_s: float) -> str:
    """For example "0.4 s", "12 s", "3 min", "2.5 h"."""
    if took_s < 10:
        return f"{took_s:.1f} s"
    if took_s < 120:
        return f"{took_s:.0f} s"
    return f"{took_s / 60:.0f} min" if took_s < 7_200 else f"{took_s / 3_600:.1f} h"


def _deliveries(by_event: Mapping[str, int]) -> str:
    if not by_event:
        return "0"
    most = sorted(by_event.items(), key=lambda one: (-one[1], one[0]))
    shown = [
        counted(count, *COUNTED[name]) if name in COUNTED else f"{count:,} {code(name, 60) or 'without an event'}"
        for name, count in most[:EVENTS_MAX]
    ]
    more = sum(count for _, count in most[EVENTS_MAX:])
    return f"{sum(by_event.values()):,}: {joined([*shown, f'{more:,} others' if more else None], ', ')}"


def _waiting(found: Status, *, for_admins: bool) -> Iterator[str]:
    first = found.first_waiting
    if for_admins and first is not None and first.error:
        yield f"• {reference(first.inbox_id)} is tried again: {safe(first.error, REASON_MAX)}"
    for one in found.waiting_channels:
        posts = f"{counted(one.count, 'post')}, the first since {moment_for_readers(one.since)}"
        yield f"• {named(one.channel_id)}: {posts}: {why_not_posted(one.outcome, one.why, has_ids=for_admins)}"
    if rest := found.waiting_posts - sum(one.count for one in found.waiting_channels):
        yield f"• other channels: {counted(rest, 'post')}"


def _jobs(found: Status) -> Iterator[str]:
    yield "*When each job was last done*"
    for job in found.jobs:
        done = moment_for_readers(found.done[job.id]) if job.id in found.done else "not yet"
        yield f"• {job.words}: {done}"


def _small_print(found: Status, only_channel: str | None) -> Block | None:
    if only_channel:
        return context_block("Admins see reasons, jobs and all channels.")
    return context_block(
        f"racing-bot {safe(found.version)}",
        f"schema {safe(found.schema) or 'unknown'}",
        counted(found.replicas, "replica"),
        f"read {moment_for_readers(found.at)}",
    )


NOT_PUBLISHED = "not published: "

SIDE_MAX = 220


def courses(found: Sequence[KnownCourse], typed: str, page: int) -> Message:
    title = joined([counted(len(found), "course"), safe(typed, SHORT_MAX)], ": ")
    source = "exactly as the data service writes them, read once a day"
    return _listed(title, map(_course, found), joined(["courses", typed], " "), page, source)


def _course(course: KnownCourse) -> str:
    name, shortcode = safe(course.name, COURSE_MAX), safe(course.shortcode, SHORT_MAX)
    region, country = safe(course.region, SHORT_MAX), safe(course.country, SHORT_MAX)
    place = region if country in {None, region} else joined([region, country], ", ")
    held = [
        counted(course.races, "race") if course.races else None,
        counted(course.meetings, "meeting") if course.meetings else None,
        joined([safe(course.first_meeting, SHORT_MAX), safe(course.last_meeting, SHORT_MAX)], " to ") or None,
    ]
    named = joined([given("*{}*", name), given("({})", shortcode)], " ")
    return "• " + joined([named or "course not named", place, *held, code(course.course_id, COURSE_MAX)])


def coverage(
    countries: Sequence[KnownCountry], region: str | None, page: int, regions: Collection[str] | None = None
) -> Message:
    """`regions`: the regions to subscribe to; None while their list is not known."""
    title = f"Coverage: {safe(region, SHORT_MAX) or counted(len(countries), 'country', 'countries')}"
    lines = (_country(country, regions) for country in countries)
    source = "as the data service publishes it, read once a day"
    return _listed(title, lines, joined(["coverage", region], " "), page, source)


def _listed(title: str, lines: Iterable[str], command: str, page: int, source: str) -> Message:
    return paged(title, line_units([*lines]), command, page, foot=context_block(source), most=LISTED_TOGETHER)


def _country(country: KnownCountry, regions: Collection[str] | None) -> str:
    code, name = safe(country.country_code, SHORT_MAX), safe(country.name, SHORT_MAX * 2)
    fields = {
        "official ratings": country.official_rating,
        "race class": country.race_class,
        "winning times": country.winning_times,
    }
    has = ", ".join(name for name, published in fields.items() if published)
    lacks = ", ".join(name for name, published in fields.items() if published is False)
    named = joined([given("*{}*", code), name], " ")
    order = {True: "full finishing order", False: "no full finishing order", None: None}[country.full_result_order]
    share = share_recorded(country, 1)
    said = [
        named or "country not named",
        "cannot be subscribed to" if regions is not None and country.country_code not in regions else None,
        counted(country.races, "race") if country.races else None,
        joined([order, given("({})", share) if order else share], " "),
        has,
        given(f"{NOT_PUBLISHED}{{}}", lacks),
        safe(country.note, DATA_MAX),
    ]
    return "• " + joined(said)


def audit_page(page: AuditPage, what: str, command: str) -> Message:
    if not page.total:
        return message(None, [section(f"Nobody has changed anything {what} yet.")])
    title = f"*{counted(page.total, 'change')} {what}*{page_mark(page.number, page.pages)}"
    shown = [_line(entry) for entry in page.entries]
    turned = turns(command, page.number, page.pages)
    return message(None, [section(title), lines(shown), turned])


def _line(entry: AuditEntry) -> str:
    before, after = (safe(side, SIDE_MAX) or "nothing" for side in (entry.before, entry.after))
    who = f"{named(entry.user_id)} in {named(entry.channel_id)}"
    return (
        f"• {moment_for_readers(entry.at)} {who}: *{safe(entry.action)}*, {before} → {after} ({code(entry.reference)})"
    )

"""The answer of `/usage`: use, limit, forecast, rows by day or endpoint."""

from collections import Counter
from contextlib import suppress
from datetime import date
from itertools import accumulate

from bot.events.sentences import counted
from bot.outbox.message import Block, Message
from bot.racedata.month_quota import LEAST_DAYS, Kinds, QuotaReading, QuotaSource, UsageRow, in_figures, month_after
from bot.slack.messages.kit.blocks import context_block, fields, header, section
from bot.slack.messages.kit.layout import Either, lines, message
from bot.slack.messages.kit.native_blocks import CATEGORIES_MAX, line_chart
from bot.slack.messages.kit.text import given, joined, safe
from bot.slack.messages.kit.times import day_in_words, in_readers_zone, month_in_words, published_day

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

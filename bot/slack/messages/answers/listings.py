"""The answers of `/racing courses`, `/racing coverage` and `/racing audit`: long lists in pages."""

from collections.abc import Collection, Iterable, Sequence

from bot.channels.audit_log import AuditPage
from bot.db.tables import AuditEntry
from bot.events.sentences import counted
from bot.outbox.message import Message
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.slack.messages.kit.blocks import context_block, section
from bot.slack.messages.kit.layout import LISTED_TOGETHER, line_units, lines, message, page_mark, paged, told, turns
from bot.slack.messages.kit.names import COURSE_MAX, SHORT_MAX, share_recorded
from bot.slack.messages.kit.text import DATA_MAX, code, given, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers

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
    """`regions`: those of subscriptions; None without the list."""
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
        return told(f"Nobody has changed anything {what} yet.")
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

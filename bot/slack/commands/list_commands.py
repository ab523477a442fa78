"""Commands that list and count: status and quota of the bot, its audit, the service's countries and courses."""

import asyncio
import re
from functools import partial
from itertools import pairwise
from typing import Any

from bot.channels import audit_log
from bot.errors import CommandError, ServiceError
from bot.events.typed_text import folded, typed_line
from bot.operations.status_figures import read_status
from bot.outbox.message import Message
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.client.service_client import BY_DAY, BY_ENDPOINT
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import TYPED_MAX, has_words, likely, likely_courses
from bot.slack.commands.invocation import LIST_S, Command, Desk, Invocation, admins_only, no_words, reader_of, says
from bot.slack.language.grammar import Grammar
from bot.slack.language.refusals import one_at_a_time, unknown_words
from bot.slack.language.tokens import read_list_words
from bot.slack.language.words import OF_ALL, THINGS, Kind, words_in
from bot.slack.messages.answers.failure_words import failure_words, shown_to
from bot.slack.messages.answers.listings import audit_page, courses, coverage, status_answer, usage
from bot.slack.messages.kit.text import named


async def _answer_status(desk: Desk, invocation: Invocation, _planned: Any) -> Message:
    is_admin = bool(await desk.people.is_admin(invocation))
    only_channel = None if is_admin else invocation.channel_id
    here = invocation.channel_id if is_admin else None
    found = await desk.database.read(
        partial(read_status, clock=desk.clock, jobs=desk.jobs, channel_id=only_channel, here=here)
    )
    return status_answer(found, desk.degraded(), only_channel)


STATUS_COMMAND = Command(
    "status", _answer_status, no_words("status", "/racing trace with a course and a time tells of one race.")
)


_USAGE_WORDS = Grammar(words_in("usage"))


async def _answer_usage(desk: Desk, invocation: Invocation, by: str) -> Message:
    """The present reading, else the month's last. Raises ServiceError or TimeoutError without a reading."""
    failure = None
    try:
        async with asyncio.timeout(LIST_S):
            reading = await desk.quota.read(by)
    except (ServiceError, TimeoutError) as error:
        kept = await desk.quota.latest()
        if kept is None:
            raise
        reader = await reader_of(desk, invocation)
        reading, failure = kept, shown_to(failure_words(error, reader), reader)
    return usage(reading, failure)


async def _plan_usage(_desk: Desk, invocation: Invocation) -> str:
    phrases = _USAGE_WORDS.read(invocation.text)
    lines = {f"by {by}": f"usage {by}" for by in (BY_DAY, BY_ENDPOINT)}
    # "region" says nothing in other lines, but "by region" asks for a grouping: the quota has no such grouping.
    asked = [other for one, other in pairwise(phrases) if one.typed.casefold() in {"by", "per"}]
    if unknown := [
        one.typed for one in phrases if one.kind is Kind.UNKNOWN or (one in asked and one.kind is Kind.FILLER)
    ]:
        told = f"{unknown_words(unknown, 'grouping')} The figures are of this month."
        raise CommandError(told, lines=lines)
    groupings = list(dict.fromkeys(one.value for one in phrases if one.kind is Kind.FLAG))
    if len(groupings) > 1:
        raise CommandError(one_at_a_time("grouping", groupings), lines=lines)
    return groupings[0] if groupings else BY_DAY


USAGE_COMMAND = Command("usage", _answer_usage, _plan_usage)


_ID = re.compile(r"<?[@#]?([UWCGD][A-Z0-9]{1,30})(?:\|[^>]*)?>?", re.ASCII)

_AUDIT_WORDS = Grammar({**OF_ALL, **words_in("audit")})

AuditTarget = tuple[str | None, str | None, str]
"""The id of a channel and of a person (both None for "all"), and the same in words."""


async def _plan_audit(_desk: Desk, invocation: Invocation) -> tuple[str, AuditTarget, int]:
    """The typed words, their meaning, and the page."""
    words, page = read_list_words(invocation.text)
    what = invocation.channel_id if words.casefold() in {"", "here", "this channel"} else words
    return what, read_target(what), page


async def _answer_audit(desk: Desk, _invocation: Invocation, planned: tuple[str, AuditTarget, int]) -> Message:
    what, (channel_id, user_id, words), number = planned
    page = await desk.database.read(
        lambda session: audit_log.page(session, channel_id=channel_id, user_id=user_id, number=number)
    )
    return audit_page(page, words, f"audit {what}")


def read_target(what: str) -> AuditTarget:
    """Raises CommandError for other words."""
    phrases = [one for one in _AUDIT_WORDS.read(what) if one.kind is not Kind.FILLER]
    if {one.kind for one in phrases} == {Kind.ALL}:
        return None, None, "anywhere"
    found = _ID.fullmatch(phrases[0].typed) if len(phrases) == 1 else None
    if found is None:
        raise CommandError(
            "Type /racing audit for this channel, /racing audit all, or /racing audit and the id of a channel or of a "
            "person. Slack shows ids at the end of a channel's details, and in a person's profile as the member ID.",
            lines={"This channel": "audit", "All channels": "audit all"},
        )
    found_id = found[1]
    who = named(found_id)
    return (None, found_id, f"by {who}") if found_id[0] in "UW" else (found_id, None, f"in {who}")


_may_see = admins_only("Only admins see who changed what. /racing list shows who made each subscription.")

AUDIT_COMMAND = Command("audit", _answer_audit, _plan_audit, rights=_may_see)


async def _plan_coverage(desk: Desk, invocation: Invocation) -> tuple[list[KnownCountry], str, int]:
    """The countries, the typed words, and the page. Raises CommandError without a match."""
    typed, page = read_list_words(invocation.text)
    countries = await desk.reference.countries(LIST_S)
    if not countries:
        raise desk.reference.why_none("countries")
    # Here a country's code counts, even if the code is no region.
    codes = [one.country_code for one in countries if one.country_code]
    lexicon = Lexicon(codes, (), countries)
    things = [one for one in Grammar().read(typed, lexicon) if one.kind in THINGS]
    wanted = {typed, *(one.value for one in things if all(other.kind is Kind.REGION for other in things))}
    if found := [one for one in countries if not typed or not wanted.isdisjoint({one.country_code, one.name})]:
        return found, typed, page
    names = [one.name for one in countries if one.name]
    near = lexicon.parts_of(typed) or likely(typed, [*codes, *names])
    lines = {one: typed_line(["coverage", one]) for one in near}
    after = "/racing coverage alone lists all countries."
    raise CommandError(unknown_words([typed], "country"), lines=lines, asks=True, after=after)


async def _answer_coverage(
    desk: Desk, _invocation: Invocation, planned: tuple[list[KnownCountry], str, int]
) -> Message:
    found, typed, page = planned
    return coverage(found, typed or None, page, await desk.reference.regions(LIST_S))


COVERAGE_COMMAND = Command("coverage", _answer_coverage, _plan_coverage)


_BEGINNING = re.compile(r"\b(?:that |which )?(?:begin|start)(?:s|ning|ing)? with ", re.IGNORECASE)


async def _plan_courses(desk: Desk, invocation: Invocation) -> tuple[list[KnownCourse], str, int]:
    """The courses, the words that they have, and the page. Raises CommandError without a match."""
    text, page = read_list_words(invocation.text)
    lexicon = await desk.reference.lexicon(LIST_S)
    if not lexicon.courses:
        raise desk.reference.why_none("courses")
    typed, *begin = _BEGINNING.split(text, maxsplit=1)
    known = [one for one in lexicon.courses if folded(one.name or "").startswith(folded("".join(begin)))]
    # "courses in Ireland": without joining words, countries as region codes. "UK" is also in a name.
    phrases = Grammar().read(typed, lexicon)
    english = " ".join(one.value if one.kind is Kind.REGION else one.typed for one in phrases if one.kind in THINGS)
    for words, shown in ((english, text if begin else english), (typed, text)):
        if (words or not typed) and (found := [one for one in known if has_words(one, words)]):
            return sorted(found, key=lambda course: (course.region or "", course.name or "")), shown, page
    # Near misses take as long as many deliveries.
    meant = await asyncio.to_thread(likely_courses, text, lexicon.courses)
    raise CommandError(
        f'No course has "{text[:TYPED_MAX]}" in its name, shortcode, id, region or country.',
        lines={name: typed_line(["courses", name]) for name in meant} or {"All courses": "courses"},
        asks=bool(meant),
    )


COURSES_COMMAND = Command("courses", says(lambda planned: courses(*planned)), _plan_courses)

"""Commands' answers, with the words in answers.txt, and the changes that a channel is told of.

After a wanted change, write the words anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/commands/test_answers.py
"""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import col, select

from bot.channels import audit_log, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import OutboxMessage, SubscriptionState
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.outbox.message import Message
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.client.service_errors import Unauthorized
from bot.racedata.lexicon import Lexicon
from bot.racedata.month_quota import Forecast, QuotaReading, QuotaSource, UsageRow
from bot.slack.commands.list_commands import COURSES_COMMAND, COVERAGE_COMMAND, USAGE_COMMAND
from bot.slack.commands.pause_commands import read_until
from bot.slack.commands.subscription_changes import audited
from bot.slack.messages.answers.pause_and_mute import paused, resumed
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX
from tests.answering import answering
from tests.databases import empty
from tests.rows import over
from tests.unit.commands.town import NOW, typed
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "answers.txt"

# Pauses

PAUSES = {
    "without an end": lambda: paused((None, None), NOW, 72),
    "until a time of a person somewhere": lambda: paused((NOW + timedelta(hours=2.5), "UTC"), NOW, 72),
    "as long as the queue is kept": lambda: paused((NOW + timedelta(days=3), None), NOW, 72),
    "over, nothing waited": lambda: resumed(1, 0, 0),
    "over, one waited": lambda: resumed(1, 1, 0),
    "over, some waited too long": lambda: resumed(1, 4, 2),
    "over, while Slack lets nothing be posted": lambda: resumed(1, 4, 0, is_closed=True),
    "over, of what was not paused": lambda: resumed(0, 0, 0),
}


@over("name", PAUSES)
def test_pause_reads_as_kept(name):
    check(KEPT, f"Pause {name}", as_read(PAUSES[name]()))


MONDAY, SATURDAY = NOW.replace(day=23, hour=0), NOW.replace(day=28, hour=0)
SECOND_HOUR = datetime(2026, 10, 25, 1, 30, tzinfo=ZoneInfo("Europe/London"), fold=1)


@over(
    ("text", "now", "until"),
    [
        ("overnight", MONDAY.replace(hour=8, minute=20), MONDAY + timedelta(hours=33)),
        ("overnight", MONDAY.replace(hour=6), MONDAY + timedelta(hours=33)),
        ("overnight", MONDAY.replace(hour=5, minute=59), MONDAY + timedelta(hours=9)),
        ("the morning", MONDAY.replace(hour=8, minute=20), MONDAY + timedelta(hours=9)),
        ("the weekend", SATURDAY.replace(hour=8), SATURDAY + timedelta(days=7)),
        ("the weekend", MONDAY.replace(hour=8), SATURDAY),
        # At the end of summer time an hour comes twice.
        ("01:45", SECOND_HOUR, SECOND_HOUR.replace(minute=45)),
    ],
)
def test_words_of_a_pause_mean_the_next_such_moment_and_a_time_with_one_meaning_is_taken(text, now, until):
    assert read_until(text, now).astimezone(UTC) == until.astimezone(UTC)
    for time in ("9.30", "02:30", "2.30pm", "2.30 am", "14.30"):
        assert read_until(time, NOW.replace(hour=9, minute=12)) > NOW.replace(hour=9, minute=12)


# Use of the quota


PUBLISHED = {"errors", "refusals", "refusal_kinds"}


def make_reading(**fields):
    given = {"taken_at": NOW, "month": "2026-11", "used": 10_000, "certain": True, "source": QuotaSource.ROWS}
    published = UsageRow(**{name: fields.pop(name) for name in PUBLISHED & {*fields}})
    return QuotaReading(**given | {"limit": 15_000, "plan": "free", "published": published} | fields)


async def use(reading, text=""):
    """The answer, and how the use was asked for."""
    asked = []

    async def read(by):
        asked.append(by)
        return reading

    desk: Any = SimpleNamespace(quota=SimpleNamespace(read=read))
    return await USAGE_COMMAND.say(desk, typed(text)), asked


def expected(total, low, high, **ends):
    return Forecast(month_total=total, low=low, high=high, **ends)


def rows(*labels, **fields):
    return tuple(UsageRow(label=label, requests=1_000 * number, **fields) for number, label in enumerate(labels, 1))


KINDS = (("rate_limited", 3), ("<!here>", 2))
USES = {
    "with a forecast": make_reading(
        rows=(*rows("2026-11-01"), *rows("2026-11-02", errors=3)),
        errors=3,
        refusals=0,
        expected=expected(20_000, 18_000, 22_000, runs_out_on=date(2026, 11, 23), may_run_out_on=date(2026, 11, 21)),
    ),
    "that may run out": make_reading(expected=expected(14_000, 12_500, 15_500, may_run_out_on=date(2026, 11, 30))),
    "before a forecast": make_reading(),
    "by labels that are no days": make_reading(rows=rows("2026-11-31", "today", "2026-11-01T00:00:00Z", "2025-11-01")),
    "with little left": make_reading(used=14_000),
    "with little left for people": make_reading(used=14_250),
    "with nearly nothing left": make_reading(used=14_850),
    "as the bot counted": make_reading(certain=False, source=QuotaSource.OWN_COUNT),
    "without a limit": make_reading(limit=None, plan=None, grouped_by="endpoint"),
    "all": make_reading(used=15_000, expected=expected(20_000, 18_000, 22_000, runs_out_on=date(2026, 11, 23))),
    "and more than all": make_reading(used=20_000),
    "with a window and refusals": make_reading(
        window="2017 → upcoming",
        refusals=5,
        refusal_kinds=KINDS,
        rows=rows("2026-11-01", refusals=5, refusal_kinds=KINDS),
    ),
    "with very many kinds of refusals": make_reading(
        refusals=1_810, refusal_kinds=tuple((f"kind_{number}", 100 - number) for number in range(20))
    ),
}


@over("name", USES)
async def test_use_reads_as_kept(name):
    message, _ = await use(USES[name])
    check(KEPT, f"Use {name}", as_read(message))


@over(
    ("text", "by"),
    [("", "day"), (" Day ", "day"), ("endpoint", "endpoint"), ('"endpoints"', "endpoint"), ("how much is left", "day")],
)
async def test_use_is_grouped_as_typed(text, by):
    assert (await use(make_reading(), text=text))[1] == [by]


async def test_use_by_many_endpoints_stays_within_slacks_limits():
    many = tuple(UsageRow(label=f"/<!here>/{number}" * 9, requests=number) for number in range(5_000))
    message, _ = await use(make_reading(rows=many, grouped_by="endpoint"), text="endpoint")
    assert len(message.blocks) <= BLOCKS_MAX
    assert "<!here>" not in as_read(message)
    assert "more" in as_read(message)


# Lists of the archive

OF_GB = {"races": 123_456, "full_result_order": True, "position_pct": 0.998, "official_rating": True}
OF_GB |= {"race_class": True, "winning_times": False}
COUNTRIES = (
    KnownCountry(country_code="GB", name="Great Britain", **OF_GB),
    *(KnownCountry(country_code="QAT", name="Qatar", note="<!here> only"), KnownCountry()),
)
COURSES = (
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB", country="England", meetings=1_200),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia", races=1, meetings=1),
    KnownCourse(course_id="cr_3", name="Naas", region="IRE", first_meeting="2017-01-02", last_meeting="2026-11-20"),
    KnownCourse(races=12_345),
    KnownCourse(),
)
LISTS = {
    "coverage": COVERAGE_COMMAND,
    **{f"coverage {text}": COVERAGE_COMMAND for text in ("QAT", "qat", "Qatar", '"Qatar"', "qta")},
    "courses": COURSES_COMMAND,
    **{
        f"courses {text}": COURSES_COMMAND
        for text in ("ascot", "asc", "ascot gb", "ascot page 1", "gb", "western australia ascot", "cr_3", "NAA", "naas")
    },
}


async def listed(command, text, countries=COUNTRIES, known=COURSES, why=None):
    published = sorted({course.region for course in known or () if course.region})
    given = SimpleNamespace(
        countries=answering(countries),
        courses=answering(known),
        regions=answering(("AUS", "GB", "IRE")),
        lexicon=answering(Lexicon(published, known, countries)),
        why_none=lambda name: why[name],
    )
    desk: Any = SimpleNamespace(reference=given)
    return await command.say(desk, typed(text))


@over("line", LISTS)
async def test_list_reads_as_kept(line):
    try:
        answered = as_read(await listed(LISTS[line], line.partition(" ")[2]))
    except CommandError as error:
        answered = f"refused: {error} {error.lines}"
    check(KEPT, f"List: {line}", answered)


async def test_courses_without_number_are_paged_within_slacks_limits():
    name = "Course & " + "x" * 200
    many = tuple(KnownCourse(course_id=f"cr_{number}", name=f"{number} {name}") for number in range(500))
    pages = [await listed(COURSES_COMMAND, "course", known=many)]
    while f"page:{len(pages) + 1}" in str(pages[-1].blocks):
        pages.append(await listed(COURSES_COMMAND, f"course page:{len(pages) + 1}", known=many))
    assert all(len(page.blocks) <= BLOCKS_MAX and weight(page.blocks) <= MESSAGE_MAX for page in pages)
    listed_in = [block["text"]["text"] for page in pages for block in page.blocks if block["type"] == "section"]
    seen = [line.split("`")[1] for words in listed_in for line in words.split("\n")]
    assert sorted(seen) == sorted(course.course_id or "" for course in many)


@pytest.mark.parametrize(("name", "command"), [("countries", COVERAGE_COMMAND), ("courses", COURSES_COMMAND)])
async def test_list_that_never_came_is_refused_with_what_the_service_said(name, command):
    refused = Unauthorized(name, status=401, request_id="req_7")
    with pytest.raises(Unauthorized) as caught:
        await listed(command, "", None, None, {name: refused})
    assert caught.value is refused


# Changes of a channel's subscriptions

ASCOT, YORK = Course(course_id="cr_1", name="Ascot"), Course(course_id="cr_2", name="York")


def takes(region="GB", topics=DEFAULT_TOPICS, **fields):
    return ChannelFilter(region=region, topics=frozenset(topics), **fields)


RESULTS, NIGHT, ONE = [Topic.RESULTS], ("22:00-07:00",), ("meetings",)
LESS_THAN_ALL = takes(topics=RESULTS, not_courses=(ASCOT, YORK))
CHANGES: dict[str, tuple[list[ChannelFilter], list[ChannelFilter]]] = {
    "ended, the only one": ([takes()], []),
    "ended, one of two": ([takes(), takes("IRE")], [takes("IRE")]),
    "ended, of many": ([takes(one) for one in ("AUS", "FR", "GB", "IRE")], []),
    "without a topic": ([takes()], [takes(topics=RESULTS)]),
    "without a topic in two regions": ([takes(), takes("IRE")], [takes(topics=RESULTS), takes("IRE", topics=RESULTS)]),
    "with a course left out": ([takes()], [takes(not_courses=(ASCOT,))]),
    "with one course only": ([takes()], [takes(courses=(ASCOT,))]),
    "with a course fewer": ([takes(courses=(ASCOT, YORK))], [takes(courses=(YORK,))]),
    "without topics and a course": ([takes(topics=Topic, not_courses=(ASCOT,))], [LESS_THAN_ALL]),
    "with fewer mentions": ([takes(mentions=("U7", "here"))], [takes()]),
    "with quiet hours": ([takes()], [takes(quiet=("22:00-07:00",))]),
    "without quiet hours": ([takes(quiet=("22:00-07:00",))], [takes()]),
    "by another clock": ([takes(quiet=NIGHT)], [takes(quiet=NIGHT, zone=("America/New_York",))]),
    "with a digest": ([takes()], [takes(digest=("18:00",), zone=("Europe/London",))]),
    "with cards on the eve": ([takes(topics=Topic)], [takes(topics=Topic, cards=("19:00",))]),
    "with one message a meeting": ([takes(), takes("IRE")], [takes(show=ONE), takes("IRE", show=ONE)]),
    "with two digests": ([takes()], [takes(digest=("12:00", "18:00"))]),
    "with a digest by another clock, without quiet hours": (
        [takes(digest=("18:00",), quiet=NIGHT)],
        [takes(digest=("18:00",), zone=("Europe/London",))],
    ),
    "without acknowledgement": ([takes(ack=("10m",))], [takes()]),
    "with nobody told": ([takes(ack=("10m",), escalate=("U7",))], [takes(ack=("10m",))]),
    "to one region of all": ([takes(ALL_REGIONS)], [takes("GB")]),
}
AS_MUCH_OR_MORE = [takes(), takes(topics=Topic), takes(mentions=("here",)), takes(ALL_REGIONS)]
NOT_LESS: list[tuple[list[ChannelFilter], list[ChannelFilter]]] = [
    *(([], [takes()]), ([takes()], [takes(), takes("IRE")]), *(([takes()], [more]) for more in AS_MUCH_OR_MORE)),
    *(([takes(courses=(ASCOT,))], [more]) for more in (takes(courses=(ASCOT, YORK)), takes())),
    ([takes(not_courses=(ASCOT, YORK))], [takes(not_courses=(YORK,))]),
    ([takes(courses=(Course(name="Ascot"),))], [takes(courses=(ASCOT,))]),
]


async def told(database, before, after, channel_id="C1", *, announce=True, state=SubscriptionState.LIVE):
    """The channel's only post when new filters take the place of the old."""
    empty(database)
    desk: Any = SimpleNamespace(clock=lambda: NOW, settings=SimpleNamespace(announce_changes=announce))

    def change(session):
        for chosen in before:
            subscriptions.save(session, channel_id, chosen, user_id="U1", now=NOW)
        subscriptions.set_state(session, channel_id, state, NOW)
        with audited(session, desk, typed(channel_id=channel_id), "edit"):
            subscriptions.remove(session, channel_id, [chosen.region for chosen in before])
            for chosen in after:
                subscriptions.save(session, channel_id, chosen, user_id="U1", now=NOW)
        posts = session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        return [as_read(Message.from_json(post.content)) for post in posts]

    return await database.write(change)


@over("name", CHANGES)
async def test_channel_that_gets_less_is_told_as_kept(database, name):
    (said,) = await told(database, *CHANGES[name])
    check(KEPT, f"Told of a subscription {name}", said)
    assert not {"<!here>", "<@U7>"} & set(said.split())


@over(("before", "after"), NOT_LESS)
async def test_channel_is_not_told_of_a_gain_and_the_audit_not_of_an_unchanged_filter(database, before, after):
    assert await told(database, before, after) == []
    entry = await database.read(lambda session: audit_log.last_of_channel(session, "C1"))
    assert before != after or entry is None


async def test_change_is_not_told_in_direct_messages_against_the_setting_or_before_the_bot_is_there(database):
    for where in ({"channel_id": "D1"}, {"announce": False}, {"state": SubscriptionState.WAITING}):
        assert await told(database, [takes()], [], **where) == [], where
    assert len(await told(database, [takes()], [], state=SubscriptionState.SUSPENDED)) == 1

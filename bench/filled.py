"""A database with very many past deliveries, told in a hundred channels. A year has a million.

The database itself makes the rows, by statements for both SQLite and PostgreSQL, but for `_WORDS`. Each number is a
delivery, an event version and a message. Ids of races come in no order, as a service's ids do.
"""

import zlib
from collections.abc import Mapping
from datetime import date, datetime

from sqlalchemy import TextClause, text
from sqlmodel import Session

from bench.payloads import Results
from bot.clock import utc_now
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race
from bot.outbox.message import Message

A_DAY = 2_740
"""Deliveries: a million in a year."""

KEPT_DAYS = 30
"""Bodies of these days are still there."""

CHANNELS = 100
COURSES = 500
"""More than a day's meetings of six races."""

STEP = 50_000
"""Rows of a statement: on PostgreSQL the bot's statement_timeout holds."""

LAST_DAY = date(2026, 11, 20)
"""The day of the bench's own deliveries."""

RACE, DAY, COURSE, REGION, MEETING = "@race@", "@day@", "@course@", "@region@", "@meeting@"
"""Stands in the stored JSON for values that differ from row to row."""

_FAST = {
    "sqlite": "PRAGMA cache_size = -1000000",
    "postgresql": "SET synchronous_commit = off",
}
"""While the rows are made: keys in no order would else read and write each page many times."""

_WORDS = {
    "sqlite": {
        "HEX": "printf('%012x', event_no * 92821371661 % 281474976710656)",
        "HASH": "lower(hex(randomblob(32)))",
        "MOMENT": "strftime('%Y-%m-%d %H:%M:%f', :until, '-' || ((:rows - n) * :every_s) || ' seconds') || '000'",
        "DAY": "date(:last_day, '-' || ((:rows - n) / :a_day) || ' days')",
    },
    "postgresql": {
        "HEX": "lpad(to_hex(CAST(event_no AS bigint) * 92821371661 % 281474976710656), 12, '0')",
        "HASH": "md5(random()::text) || md5(random()::text)",
        "MOMENT": "CAST(:until AS timestamptz) - (:rows - n) * CAST(:every_s AS float) * interval '1 second'",
        "DAY": "to_char(CAST(:last_day AS date) - (:rows - n) / CAST(:a_day AS int), 'YYYY-MM-DD')",
    },
}
"""SQL: twelve digits in no order; a random hash; the receipt; the day of the races."""

_NUMBERS = r"""
    WITH RECURSIVE counted (n) AS (SELECT CAST(:first AS int) UNION ALL SELECT n + 1 FROM counted WHERE n < :last),
    told AS (
        SELECT n,
            CASE WHEN n % 20 = 0 THEN n - 1 ELSE n END AS event_no,
            CASE WHEN n % 20 = 0 OR n % 100 = 7 THEN n - 1 ELSE n END AS bearer,
            CASE WHEN n % 20 = 0 THEN 2 ELSE 1 END AS version
        FROM counted
    ),
    named AS (
        SELECT told.*,
            CASE WHEN event_no % 50 = 1 THEN 'meeting.abandoned'
                WHEN event_no % 50 BETWEEN 2 AND 5 THEN 'race.abandoned'
                WHEN event_no % 50 BETWEEN 6 AND 15 THEN 'racecard.published'
                ELSE 'result.received' END AS kind,
            'C' || substr(CAST(1000 + bearer % :channels AS text), 2) AS channel,
            'R' || substr(CAST(100 + bearer % :channels AS text), 2) AS region,
            'Course ' || (event_no / 6 % :courses) AS course,
            'mt_' || (event_no / 6) AS meeting,
            {DAY} AS race_day, {MOMENT} AS moment, {HEX} AS hex
        FROM told
    ),
    history AS (
        SELECT named.*,
            kind || CASE WHEN kind = 'meeting.abandoned' THEN '\:' || meeting ELSE '\:rc_' || hex END AS event_key
        FROM named
    )
"""
"""Each twentieth row is the second version of the row before; each hundredth is folded into the row before."""

_PUT_IN = """
    replace(replace(replace(replace(replace({0},
        '@race@', 'rc_' || hex), '@day@', race_day), '@course@', course), '@region@', region), '@meeting@', meeting)
"""
_DATA = _PUT_IN.format(
    "CASE kind WHEN 'meeting.abandoned' THEN :of_meeting WHEN 'race.abandoned' THEN :of_race"
    " WHEN 'racecard.published' THEN :of_card ELSE :of_result END"
)
_RACE_DATA = _PUT_IN.format(":of_book")

_FILL = (
    """
    INSERT INTO inbox (id, event_key, event_name, body_sha256, body, received_at, done_at, state, attempts)
    {NUMBERS} SELECT n, event_key, kind, {HASH}, CASE WHEN n > :pruned THEN :body END, moment, moment, 'done', 0
    FROM history
    """,
    """
    INSERT INTO event (id, event_key, version, kind, region, race_id, meeting_id, race_date, data, inbox_id,
        received_at, posts)
    {NUMBERS} SELECT n, event_key, version, kind, region,
        CASE WHEN kind <> 'meeting.abandoned' THEN 'rc_' || hex END, meeting, race_day, {DATA}, n, moment,
        CASE WHEN n % 1000 = 17 THEN 0 ELSE 1 END
    FROM history
    """,
    """
    INSERT INTO message (id, channel_id, idempotency_key, kind, event_id, content, priority, state, reason,
        detail, folded_into, muted_by, plain, received_at, attempts, sending_at, deadline_at, looks, failed_looks,
        may_be_repeat, message_ts, sent_at, given_up_at, wanted_rev, sent_rev)
    {NUMBERS}, stated AS (
        SELECT history.*, n % 1000 = 17 AS is_notice,
            CASE n % 100 WHEN 7 THEN 'folded' WHEN 11 THEN 'dead_letter' WHEN 13 THEN 'muted' ELSE 'sent' END AS state
        FROM history
    )
    SELECT n, channel, CASE WHEN is_notice THEN 'notice:' || n ELSE event_key || '#' || version || '@' || channel END,
        CASE WHEN is_notice THEN 'notice' ELSE 'event' END, CASE WHEN NOT is_notice THEN n END,
        CASE WHEN is_notice THEN :content END, CASE WHEN kind LIKE '%abandoned' THEN 0 ELSE 2 END, state,
        CASE WHEN state = 'dead_letter' THEN 'refused' END,
        CASE WHEN state = 'dead_letter' THEN 'chat.postMessage: msg_too_long' END,
        CASE WHEN state = 'folded' THEN bearer END, CASE WHEN state = 'muted' THEN 'U0' END, FALSE, moment,
        CASE WHEN state IN ('sent', 'dead_letter') THEN 1 ELSE 0 END,
        CASE WHEN state IN ('sent', 'dead_letter') THEN moment END,
        CASE WHEN state IN ('sent', 'dead_letter') THEN moment END, 0, 0, FALSE,
        CASE WHEN state = 'sent' THEN '1780000000.' || substr(CAST(1000000 + bearer % 1000000 AS text), 2) END,
        CASE WHEN state = 'sent' THEN moment END, CASE WHEN state = 'dead_letter' THEN moment END,
        CASE WHEN n % 20 = 19 THEN 1 ELSE 0 END, CASE WHEN n % 20 = 19 THEN 1 ELSE 0 END
    FROM stated WHERE version = 1
    """,
    """
    INSERT INTO said (message_id, event_id, rev, said_at)
    {NUMBERS} SELECT bearer, n, 1, moment FROM history WHERE version = 2
    """,
    """
    INSERT INTO book_race (race_id, region, race_date, meeting_id, data, updated_at)
    {NUMBERS} SELECT 'rc_' || hex, region, race_day, meeting, {RACE_DATA}, moment
    FROM history WHERE version = 1 AND kind <> 'meeting.abandoned'
    """,
    """
    INSERT INTO named_race (race_id, event_key)
    {NUMBERS} SELECT 'rc_' || hex, 'meeting.abandoned:' || meeting FROM history WHERE kind = 'race.abandoned'
        AND version = 1
    """,
)

_OWN_IDS = ("inbox", "event", "message")


def fill(database: Database, rows: int, now: datetime | None = None) -> None:
    """Put so many deliveries, with versions and messages, into a database with empty tables."""
    dialect = "sqlite" if database.is_sqlite else "postgresql"
    values = _values(rows, now or utc_now())
    statements = [_statement(one, _WORDS[dialect]) for one in _FILL]
    with database.writer.connect() as connection:
        connection.exec_driver_sql(_FAST[dialect])
        connection.commit()
        for first in range(1, rows + 1, STEP):
            step = {"first": first, "last": min(first + STEP - 1, rows)}
            for statement in statements:
                connection.execute(statement, values | step)
            connection.commit()
    with Session(database.writer) as session, session.begin():
        named_values.put(session, Mark.BODIES_PRUNED_TO, values["pruned"], now or utc_now())
        if not database.is_sqlite:
            for table in _OWN_IDS:
                session.connection().exec_driver_sql(f"SELECT setval('{table}_id_seq', {rows})")
    # The filling connection has other settings and another cache than the bot's connections.
    database.writer.dispose()
    if not database.is_sqlite:
        # As the server does by itself some time after so many rows.
        with database.writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
            connection.exec_driver_sql("CHECKPOINT")


def _statement(template: str, words: Mapping[str, str]) -> TextClause:
    numbers = _NUMBERS.format_map(words)
    return text(template.format_map({**words, "NUMBERS": numbers, "DATA": _DATA, "RACE_DATA": _RACE_DATA}))


def _values(rows: int, now: datetime) -> dict[str, object]:
    result, card, of_race, of_meeting = _stories()
    return {
        "rows": rows,
        "until": now.strftime("%Y-%m-%d %H:%M:%S+00:00"),
        "every_s": 86_400 / A_DAY,
        "last_day": LAST_DAY.isoformat(),
        "a_day": A_DAY,
        "channels": CHANNELS,
        "courses": COURSES,
        "pruned": max(0, rows - KEPT_DAYS * A_DAY),
        "body": zlib.compress(Results("filled").body(0), level=1),
        "of_result": _stored(result),
        "of_card": _stored(card),
        "of_race": _stored(of_race),
        "of_meeting": _stored(of_meeting),
        "of_book": result.race.model_dump_json(exclude_defaults=True),
        "content": Message(text="The quota of the month is spent.").as_json(),
    }


def _stories() -> tuple[RacingEvent, RacingEvent, RacingEvent, RacingEvent]:
    """A result, a card, an abandoned race and an abandoned meeting of six, whose ids and the like are to be put in."""
    read = read_payload(Results("filled").body(0))
    course = Course(course_id=COURSE, name=COURSE, country=REGION)
    told = {"race_id": RACE, "meeting_id": MEETING, "region": REGION, "race_date": DAY, "course": course}
    race = read.race.model_copy(update=told)
    called_off = race.model_copy(update={"runners": (), "status": "abandoned", "abandoned": True})
    meeting = Race(meeting_id=MEETING, region=REGION, race_date=DAY, course=course, abandoned=True)
    races = tuple(
        Race(race_id=f"{MEETING}-{number}", off=OffTime(text=f"{12 + number}:30"), title="The Measured Stakes")
        for number in range(1, 7)
    )
    return (
        read.model_copy(update={"key": f"{EventKind.RESULT_RECEIVED}:{RACE}", "race": race}),
        _event(EventKind.RACECARD_PUBLISHED, RACE, race),
        _event(EventKind.RACE_ABANDONED, RACE, called_off),
        _event(EventKind.MEETING_ABANDONED, MEETING, meeting).model_copy(update={"races": races}),
    )


def _event(kind: EventKind, subject: str, race: Race) -> RacingEvent:
    return RacingEvent(key=f"{kind}:{subject}", kind=kind, name=kind, race=race, reason="Waterlogged")


def _stored(event: RacingEvent) -> str:
    return event.model_dump_json(exclude_defaults=True)

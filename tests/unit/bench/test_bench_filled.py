"""The history that a database is filled with: what the bot could have left there, as the bot reads it."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlmodel import col

from bench.filled import A_DAY, LAST_DAY, fill
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import BookRace, EventVersion, InboxDelivery, OutboxMessage
from bot.deliveries import inbox
from bot.events.event import RacingEvent
from bot.events.races import Race

NOW = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
ROWS = 1_200


@pytest.fixture
async def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'filled.db'}")
    upgrade(opened)
    fill(opened, ROWS, NOW)
    yield opened
    await opened.close()


async def rows_of(database, table):
    return await database.read(lambda session: session.execute(select(table).order_by(col(table.id))).scalars().all())


async def test_each_delivery_is_done_and_has_a_version_and_a_message(database):
    deliveries, versions, messages = [
        await rows_of(database, table) for table in (InboxDelivery, EventVersion, OutboxMessage)
    ]
    assert [len(rows) for rows in (deliveries, versions, messages)] == [ROWS] * 3
    assert await database.read(inbox.count_waiting) == 0
    assert [each.event_key for each in deliveries] == [each.event_key for each in versions]
    assert deliveries[-1].received_at == NOW
    assert (NOW - deliveries[0].received_at).total_seconds() == pytest.approx((ROWS - 1) * 86_400 / A_DAY, abs=0.01)


async def test_versions_are_events_that_the_bot_reads(database):
    for version in await rows_of(database, EventVersion):
        event = RacingEvent.model_validate_json(version.data)
        assert (event.key, event.kind, event.race.race_id, event.race.meeting_id, event.race.race_date) == (
            version.event_key, version.kind, version.race_id, version.meeting_id, version.race_date,
        )  # fmt: skip
    assert version.race_date == LAST_DAY.isoformat()


async def test_messages_stand_in_final_states_and_an_edit_is_of_the_version_before(database):
    messages, versions = await rows_of(database, OutboxMessage), await rows_of(database, EventVersion)
    states = Counter((message.kind, message.state) for message in messages)
    assert states == {
        ("event", "sent"): 1_102,
        ("edit", "sent"): 60,
        ("event", "folded"): 12,
        ("event", "muted"): 12,
        ("event", "dead_letter"): 12,
        ("notice", "sent"): 2,
    }
    by_id = {message.id: message for message in messages}
    keys = {version.id: version.event_key for version in versions}
    for edit in (message for message in messages if message.edits_id):
        edited = by_id[edit.edits_id]
        assert (edited.channel_id, keys[edited.event_id]) == (edit.channel_id, keys[edit.event_id])


async def test_race_book_has_the_races_of_the_versions(database):
    rows = await database.read(lambda session: session.execute(select(BookRace)).scalars().all())
    assert len(rows) > ROWS // 2
    races = {row.race_id: Race.model_validate_json(row.data) for row in rows}
    assert all(
        (race.race_id, race.race_date, race.meeting_id) == (row.race_id, row.race_date, row.meeting_id)
        for row in rows
        for race in [races[row.race_id]]
    )

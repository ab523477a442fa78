"""The level of each notice. A notice without a level fails type checking; each telling place has a case here."""

import asyncio
import inspect
import itertools
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.db.tables import EventVersion, MessageKind, OutboxMessage
from bot.errors import StorageError
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.fanout.drills import tell_unknown
from bot.operations.jobs.job import Job
from bot.operations.repair import outage
from bot.operations.repair.outage import Outage
from bot.operations.self_notices import SelfNotices, key_of_refusal
from bot.outbox import told_once
from bot.outbox.channel_queues import Claim
from bot.outbox.held_queues import PAUSED, Held
from bot.outbox.message import Message
from bot.outbox.notices import Notices, Urgency
from bot.racedata.client.calls import AccountState
from bot.racedata.client.service_errors import QuotaExceeded, RateLimited, Unauthorized
from bot.slack.listeners.channel_life import ChannelListener
from bot.slack.messages.alerts import alert_notes
from bot.slack.messages.alerts.alert_notes import admin_notice
from bot.slack.messages.kit.marks import LEVELS
from tests.databases import empty
from tests.rows import over
from tests.said import ALL_CLEAR, BEGINNINGS, NOTE, URGENT, WARNING, level_of
from tests.unit.messages.kept_answers import ANSWERS

ROOT = Path(__file__).parents[3]
NOTICES = ROOT / "bot/outbox/notices.py"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TELLS = re.compile(r"\b_?notices\.tell(?:_channel)?\b")
TELLS_WITHIN = re.compile(r"\bself\.(?:tell|_render)\(")

HELD = Held("is_archived", NOW)
JOB = Job("repair", "Failed deliveries looked up", 3_600, asyncio.Event().wait)
DRILL = RacingEvent(key="drill:1", drill=Drill(drill_id="1"))
UNREADABLE = RacingEvent(key="unreadable:1", unreadable_because="no JSON")


@pytest.fixture
def notices():
    return Notices("CADMIN", admin_notice, clock=lambda: NOW, admin_users=["UADMIN"])


@pytest.fixture
def told(database):
    async def read():
        """The levels of all notices, admins' first."""
        posts = await database.read(lambda session: session.exec(select(OutboxMessage)).all())
        return [level_of(Message.from_json(post.content).text) for post in posts]

    return read


def claim_of(event, kind=MessageKind.EVENT):
    post = OutboxMessage(channel_id="C1", idempotency_key="k@C1", kind=kind, priority=2, received_at=NOW)
    return Claim("C1", "lease", post, event and version_of(event), in_doubt=False, claimed_at=NOW)


def version_of(event):
    kind = event.kind or (drill_mark.KIND if event.drill else None)
    data = event.model_dump_json()
    return EventVersion(event_key=event.key, version=1, kind=kind, data=data, inbox_id=1, received_at=NOW)


def outage_of(kinds, **more):
    return Outage(name="o", since=NOW, until=NOW, kinds=dict.fromkeys(kinds, 1), answers={"503": 1}, **more)


def event_of(kind, **race):
    return RacingEvent(key="k", kind=kind, race=Race(**race))


ABANDONMENT = claim_of(event_of(EventKind.RACE_ABANDONED))
MEETING = claim_of(event_of(EventKind.MEETING_ABANDONED))
RESULT = claim_of(event_of(EventKind.RESULT_RECEIVED))
MARKED = claim_of(event_of(EventKind.RESULT_RECEIVED, abandoned=True))
ESCALATION, SUMMARY = claim_of(None, MessageKind.ESCALATION), claim_of(None, MessageKind.SUMMARY)
UNKNOWN, OF_A_DRILL = claim_of(UNREADABLE), claim_of(DRILL)
LOST_RESULTS = outage_of(["results"])
LOST_ALL = outage_of(["results", "abandoned races"], has_abandonment=True)

CASES = [
    ("tell", URGENT, lambda n, s: n.tell(s, "k", "words", urgency=Urgency.CRITICAL)),
    ("tell", WARNING, lambda n, s: n.tell(s, "k", "words", urgency=Urgency.WARNING)),
    ("tell", NOTE, lambda n, s: n.tell(s, "k", "words", urgency=Urgency.NOTE)),
    ("tell", ALL_CLEAR, lambda n, s: n.tell(s, "k", "words", urgency=Urgency.ALL_CLEAR)),
    ("tell_channel", WARNING, lambda n, s: n.tell_channel(s, "k", "C1", "words", urgency=Urgency.WARNING)),
    ("tell_channel", NOTE, lambda n, s: n.tell_channel(s, "k", "C1", "words", urgency=Urgency.NOTE)),
    ("divert", WARNING, lambda n, s: n.divert(s, "CADMIN", "is_archived", NOW)),
    ("is_back", ALL_CLEAR, lambda n, s: n.is_back(s, NOW)),
    ("unreadable", URGENT, lambda n, s: n.unreadable(s, UNREADABLE, "inbox-1", 0)),
    ("unreadable", URGENT, lambda n, s: n.unreadable(s, UNREADABLE.model_copy(update={"name": "x"}), "inbox-1", 3)),
    ("stands_still", URGENT, lambda n, s: n.stands_still(s, "Deliveries are taken and none is posted")),
    ("unread_filters", WARNING, lambda n, s: n.unread_filters(s, ["C1"])),
    ("told_plainly", WARNING, lambda n, s: n.told_plainly(s, "it is too long", "result.received:rc_1", "inbox-1")),
    ("of_no_region", WARNING, lambda n, s: n.of_no_region(s, RacingEvent(key="k", name="result.received"), "inbox-1")),
    ("unreadable_acknowledgement", WARNING, lambda n, s: n.unreadable_acknowledgement(s, "C1", "k@C1")),
    ("not_escalated", WARNING, lambda n, s: n.not_escalated(s, "k@C1", ["C1", "C2"])),
    ("channel_closed", WARNING, lambda n, s: n.channel_closed(s, "C1", HELD, ["U1"], ["C2"])),
    ("given_up", WARNING, lambda n, s: n.given_up(s, "C1", HELD, 72, has_abandonment=False)),
    ("given_up", URGENT, lambda n, s: n.given_up(s, "C1", HELD, 72, has_abandonment=True)),
    ("dead_letter", URGENT, lambda n, s: n.dead_letter(s, ABANDONMENT, "msg_too_long")),
    ("dead_letter", URGENT, lambda n, s: n.dead_letter(s, MEETING, "msg_too_long")),
    ("dead_letter", URGENT, lambda n, s: n.dead_letter(s, MARKED, "msg_too_long")),
    ("dead_letter", URGENT, lambda n, s: n.dead_letter(s, ESCALATION, "msg_too_long")),
    ("dead_letter", URGENT, lambda n, s: n.dead_letter(s, UNKNOWN, "msg_too_long")),
    ("dead_letter", WARNING, lambda n, s: n.dead_letter(s, RESULT, "msg_too_long")),
    ("dead_letter", WARNING, lambda n, s: n.dead_letter(s, OF_A_DRILL, "msg_too_long")),
    ("dead_letter", WARNING, lambda n, s: n.dead_letter(s, SUMMARY, "msg_too_long")),
    ("dead_letter", WARNING, lambda n, s: n.dead_letter(s, ABANDONMENT, "cannot_dm_bot", is_closed=True)),
    ("stuck", URGENT, lambda n, s: n.stuck(s, ABANDONMENT, NOW)),
    ("stuck", WARNING, lambda n, s: n.stuck(s, RESULT, NOW)),
    ("drills.tell_unknown", WARNING, lambda n, s: tell_unknown(s, n, DRILL, "inbox-1", NOW)),
    ("outage.tell", URGENT, lambda n, s: outage.tell(s, n, LOST_ALL, NOW)),
    ("outage.tell", WARNING, lambda n, s: outage.tell(s, n, LOST_RESULTS, NOW)),
    ("outage.tell_unread", URGENT, lambda n, s: outage.tell_unread(s, n, ["dl_1"], NOW)),
]
"""Place, level, and the telling function."""

ELSEWHERE = {
    "channel_open": "test_subscriber_hears_the_end_of_a_closing_as_all_clear_and_a_standstill_is_urgent",
    "standstill_message": "test_subscriber_hears_the_end_of_a_closing_as_all_clear_and_a_standstill_is_urgent",
    "self_notices.tell": "test_notices_about_the_service_itself",
    "self_notices._note_account": "test_notices_about_the_service_itself",
    "channel_life.on_revoked": "test_lost_token_is_urgent",
    "quota_warnings._tell": "tests/unit/racedata/test_quota_book.py",
    "quota_warnings._tell_over": "tests/unit/racedata/test_quota_book.py",
    "quota_warnings._tell_beyond_plan": "tests/unit/racedata/test_quota_book.py",
    "watchdog._note": "tests/integration/operations/test_watch_deliveries.py",
    "watchdog._tell_silence": "tests/integration/operations/test_watch_deliveries.py",
    "repair_run._tell_refused": "tests/integration/operations/test_repair.py",
    "unchecked_filters.check": "tests/unit/racedata/test_typed_names.py",
}
"""Telling places, each with the test of the level."""


@over(("place", "level", "tell"), CASES)
async def test_notice_has_the_level_of_its_urgency(*, database, notices, told, place, level, tell):
    empty(database)
    await database.write(lambda session: tell(notices, session))
    assert set(await told()) == {level}


async def test_subscriber_hears_the_end_of_a_closing_as_all_clear_and_a_standstill_is_urgent(database, notices, told):
    def close_and_open(session):
        notices.channel_closed(session, "C1", HELD, ["U1"])
        notices.channel_open(session, "C1", NOW, ["U1"])

    await database.write(close_and_open)
    assert await told() == [WARNING, WARNING, ALL_CLEAR, ALL_CLEAR]
    assert level_of(notices.standstill_message("Deliveries are taken and none is posted").text) == URGENT


async def test_notices_about_the_service_itself(database, notices, told):
    telling = SelfNotices(database, notices, lambda: NOW, asyncio.Event())
    await telling.tell_today("signature-mismatch", count=13, minutes=30)
    await telling.tell_today("wrong-signatures", count=5)
    await telling.tell_today("too-large", max_bytes=1_000)
    await telling.tell_today("secrets-unreadable", reason="no key")
    for error in (QuotaExceeded("races", code="quota_exceeded"), Unauthorized("races", code="unauthorized")):
        await telling.circuit_open(error)
    for plan in ("free", "live"):
        await telling.account(AccountState(plan=plan, window="2026"))
    assert await telling.account(AccountState(plan="live")), "an answer without a window is no change"
    for done_at in (None, NOW, NOW):
        await telling.job_undone(JOB, "no luck", done_at)
    assert await told() == [URGENT, NOTE, WARNING, URGENT, URGENT, URGENT, NOTE, WARNING, WARNING]
    posts = await database.read(lambda session: session.exec(select(OutboxMessage)).all())
    assert Message.from_json(posts[0].content) == ANSWERS["notice"](), "the kept example is a real notice"


async def test_each_key_that_is_refused_is_told_and_a_spent_quota_once_a_month(database, told):
    hours = itertools.count()
    notices = Notices("CADMIN", admin_notice, clock=lambda: NOW + timedelta(hours=next(hours)))
    telling = SelfNotices(database, notices, lambda: NOW, asyncio.Event())
    for error in (Unauthorized("races", code="unauthorized"), QuotaExceeded("races", code="quota_exceeded")):
        await telling.circuit_open(error)
        await telling.circuit_open(error)
    assert await told() == [URGENT] * 3


async def test_notice_that_can_not_be_stored_leaves_the_one_before_for_the_all_clear(database, monkeypatch):
    notices = Notices("CADMIN", admin_notice, clock=lambda: NOW)
    telling = SelfNotices(database, notices, lambda: NOW, asyncio.Event())
    refusal = Unauthorized("races", code="unauthorized")
    await telling.circuit_open(refusal)

    def full(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(notices, "tell", full)
    await telling.circuit_open(refusal)
    key = key_of_refusal("unauthorized", "2026-11")
    assert await database.read(lambda session: told_once.is_noted(session, key))


async def test_long_wait_is_told_with_its_end_and_what_goes_on(database, notices, told):
    telling = SelfNotices(database, notices, lambda: NOW, asyncio.Event())
    await telling.circuit_open(RateLimited("races", status=429, retry_after_s=3_600))
    assert await told() == [WARNING]
    (post,) = await database.read(lambda session: session.exec(select(OutboxMessage)).all())
    words = Message.from_json(post.content).text
    assert f"{NOW + timedelta(hours=1):%Y-%m-%d %H:%M} UTC" in words
    assert "Alerts are not affected" in words


async def test_lost_token_is_urgent(database, notices, told):
    channels = ChannelListener(database, None, None, notices, None, None, None)  # type: ignore[arg-type]  # nothing else is asked
    await channels.on_revoked({"type": "app_uninstalled"}, {"event_id": "Ev1"})
    assert await told() == [URGENT]


@pytest.mark.parametrize("first", [False, True])
async def test_abandonment_given_up_after_a_result_is_told_and_a_result_after_an_abandonment_is_not(
    database, notices, told, first
):
    def give_up(session):
        for has_abandonment in (first, not first, first):
            notices.given_up(session, "C1", Held(PAUSED, NOW), 72, has_abandonment=has_abandonment)

    await database.write(give_up)
    assert await told() == ([URGENT] if first else [WARNING, URGENT])


@pytest.mark.parametrize(
    ("found", "levels"), [((LOST_RESULTS, LOST_ALL), [WARNING, URGENT]), ((LOST_ALL, LOST_RESULTS), [URGENT])]
)
async def test_abandonment_found_later_in_an_outage_is_told_and_a_result_is_not(database, notices, told, found, levels):
    def tell(session):
        for one in found:
            outage.tell(session, notices, one, NOW)

    await database.write(tell)
    assert await told() == levels
    assert "I post the event now. Further" in LOST_RESULTS.told
    assert "I post all events now, abandonments first. Further" in LOST_ALL.told


async def test_stuck_abandonment_is_told_though_a_stuck_result_was_told_within_the_hour(database, notices, told):
    def stick(session):
        for minutes, stuck in enumerate((RESULT, RESULT, ABANDONMENT, MEETING)):
            notices.stuck(session, stuck, NOW + timedelta(minutes=minutes))

    await database.write(stick)
    assert await told() == [WARNING, URGENT]


def test_no_function_that_tells_has_a_default_urgency():
    for owner in (Notices, SelfNotices, alert_notes):
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            urgency = inspect.signature(function).parameters.get("urgency")
            assert urgency is None or urgency.default is inspect.Parameter.empty, name


def places(path, tells):
    """The functions of a module that render a notice, or tell by `Notices`."""
    _, *parts = re.split(r"^ *(?:async )?def (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name for name, body in zip(parts[::2], parts[1::2], strict=True) if tells.search(body)}


def test_every_place_that_tells_is_tried():
    outside = {
        f"{path.stem}.{name}"
        for path in (ROOT / "bot").rglob("*.py")
        if path != NOTICES
        for name in places(path, TELLS)
    }
    within = {name for name in places(NOTICES, TELLS_WITHIN) if not name.startswith("_")}
    assert within | outside == {place for place, _, _ in CASES} | ELSEWHERE.keys()
    for test in ELSEWHERE.values():
        assert test in globals() or "tests.said import" in (ROOT / test).read_text(encoding="utf-8"), test


def test_levels_differ_by_word_and_are_in_the_docs_and_each_has_a_kept_example():
    assert [f"{LEVELS[urgency]}: " for urgency in reversed(Urgency)] == list(BEGINNINGS)
    shown = (ROOT / "docs/messages.md").read_text(encoding="utf-8")
    for beginning in BEGINNINGS:
        assert f"`{beginning.strip()}`" in shown
    kept = [made.args[0] for made in ANSWERS.values() if made.func is admin_notice]
    assert set(kept) == set(Urgency)

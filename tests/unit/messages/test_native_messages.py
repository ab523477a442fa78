"""Tables, charts and long live messages within their limits; what does not fit a native block stays in sections."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.channels.filters import Meeting
from bot.deliveries.payload import read_events
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Message, NativeBlocks
from bot.racedata.day_card import outcomes_of
from bot.racedata.month_quota import QuotaReading, QuotaSource, UsageRow
from bot.slack.messages.alerts.event_alerts import full_result
from bot.slack.messages.alerts.runner_table import runners_table
from bot.slack.messages.answers.listings import usage
from bot.slack.messages.answers.outcome_words import live_meeting
from bot.slack.messages.kit.blocks import section, weight
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import ABANDONED as LOST_MARK
from bot.slack.messages.kit.marks import CONFLICTING
from bot.slack.messages.kit.native_blocks import NOTHING_CAME, cell, data_table
from bot.slack.messages.kit.text import MESSAGE_MAX
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems
from tests.clock import DAY, START
from tests.rows import over
from tests.unit.messages.kept_values import LIVE

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOSTILE = st.text(max_size=20) | st.sampled_from(["<!channel>", "<@U1>", "*", "\u202ebet", "<" * 10_000, "🐎" * 10_000])
FIELDS = ("horse", "position", "number", "draw", "jockey", "trainer", "starting_price", "official_rating")
RUNNERS = st.builds(Runner, **dict.fromkeys(FIELDS, st.none() | HOSTILE))


def reading(rows, **changes):
    fields = {"taken_at": NOW, "month": "2026-11", "used": 9, "certain": True, "source": QuotaSource.ROWS, "rows": rows}
    return QuotaReading(**fields | changes)


def days(number, month="2026-11"):
    return tuple(UsageRow(label=f"{month}-{day:02}", requests=100) for day in range(1, number + 1))


def chart(made):
    found = [block for block in made.blocks if block["type"] == "data_visualization"]
    assert not any(block["type"] == "data_visualization" for block in made.plain_blocks)
    return found[0]["chart"] if found else None


def check(made):
    for form in made.forms:
        assert block_problems(list(form.blocks), most=MESSAGE_BLOCKS) == []
        assert weight(form.blocks) <= MESSAGE_MAX


@given(st.lists(RUNNERS, max_size=3), st.sampled_from([1, 40]))
def test_full_result_holds_every_limit_and_data_does_nothing(runners, times):
    race = Race(runners=tuple(runners * times))
    made = full_result(RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=race), None, NOW)
    check(made)
    for words in ("<!channel>", "<@U1>", "\u202e"):
        assert words not in made.text + str(made.in_sections().blocks)
    assert "\u202e" not in str(made.blocks)


@given(
    st.lists(st.builds(UsageRow, label=HOSTILE | st.dates().map(str), requests=st.none() | st.integers(0)), max_size=40)
)
def test_usage_holds_every_limit_whatever_the_rows_are(rows):
    check(usage(reading(tuple(rows), limit=100), None))


@over(("number", "first", "drawn"), [(2, "1", 2), (20, "1", 20), (21, "1", 11), (30, "2", 15)])
def test_chart_adds_up_the_days_and_always_has_the_last(number, first, drawn):
    made = chart(usage(reading(days(number), limit=15_000), None))
    used, limit = made["series"]
    assert made["axis_config"]["categories"][:: drawn - 1] == [first, str(number)]
    assert len(used["data"]) == drawn
    assert used["data"][-1]["value"] == number * 100
    assert {point["value"] for point in limit["data"]} == {15_000}


def test_chart_has_a_line_without_a_limit_and_needs_two_days_of_the_month():
    made = chart(usage(reading(days(3)), None))
    assert [one["name"] for one in made["series"]] == ["Used"]
    assert chart(usage(reading(days(1)), None)) is None
    assert chart(usage(reading(days(9, "2026-10")), None)) is None
    assert chart(usage(reading(days(9), grouped_by="endpoint"), None)) is None
    # Several rows of a day are one point.
    made = chart(usage(reading((*days(2), *days(2))), None))
    assert [point["value"] for point in made["series"][0]["data"]] == [200, 400]


def test_cell_shows_what_can_be_seen_and_is_never_empty():
    assert cell(" <b>\u202e &\n2= ") == "<b> & 2="
    assert cell("\u200b") == cell(None) == NOTHING_CAME
    assert cell("x" * 10_000) == "x" * 59 + "…"
    # A column without a value is left out.
    columns = {"Horse": ["A", "B"], "Jockey": [NOTHING_CAME, NOTHING_CAME]}
    table = data_table("Runners", columns, "Horse", 1_000)
    assert table is not None
    assert [len(row) for row in table["rows"]] == [1, 1, 1]


@over("room", [0, 150, 9_000])
def test_table_is_left_out_where_there_is_no_room_or_no_runner(room):
    assert runners_table("Runners", [], Race(), room) == []
    runners = [Runner(horse="x" * 60, position="1")] * 200
    made = [block for block in runners_table("Runners", runners, Race(), room) if block]
    assert weight(made) <= room
    assert bool(made) is (room == 9_000)


NATIVE = Message("text", blocks=({"type": "data_table"},))
SECTIONS = ({"type": "section"},)


def test_each_kind_of_block_is_refused_by_itself_and_asked_again_after_a_day():
    now = [0.0]
    known = NativeBlocks(lambda: now[0])
    in_sections = Message("text", blocks=SECTIONS)
    table = replace(NATIVE, plainer=in_sections)
    collapsed = Message("text", blocks=(*NATIVE.blocks, {"type": "container"}), plainer=table)
    assert [form.kinds for form in collapsed.forms] == [{"data_table", "container"}, {"data_table"}, {"section"}]
    assert known.form_of(collapsed) is collapsed
    known.refused([collapsed], taken=table)
    assert known.form_of(collapsed) is known.form_of(table) is table
    known.refused([table], taken=in_sections)
    assert known.form_of(collapsed) is known.form_of(table) is in_sections
    now[0] = 86_400.0
    assert known.form_of(collapsed) is collapsed


def test_stored_message_keeps_both_forms_and_a_plain_message_has_one_form():
    plain = message("text", [section("words")])
    assert plain.in_sections() == plain == NativeBlocks(lambda: 0.0).form_of(plain)
    assert plain.in_words() == Message(text="text")
    stored = Message.from_json(replace(NATIVE, plainer=Message("text", blocks=SECTIONS)).as_json())
    assert (stored, stored.plain_blocks) == (NATIVE, SECTIONS)
    words = Message("Fröhlich \N{HORSE FACE}")
    assert Message.from_json(words.as_json()) == words


# A live message: of more races than a message has room for, of a meeting without a result, and of reasons


WORDY = "The Very Long Stakes " * 10


def delivered(event, number, off, **said):
    place = {"race_id": f"rc_{number}", "course": "Ascot", "date": DAY, "region": "GB", "off_time": off, "title": WORDY}
    race = place | {name: said.pop(name) for name in ("runners", "status") if name in said}
    (read,) = read_events(json.dumps({"event": event, "race": race} | said).encode())
    return read


def won(number, off):
    runners = [{"position": 1, "horse": "H" * 60}, {"position": 2, "horse": "Red Sky"}]
    return delivered("result.received", number, off, runners=runners)


def lost(number, off="13:00"):
    return delivered("race.abandoned", number, off)


def meeting_lost(*numbers, **reason):
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB"}
    races = [{"race_id": f"rc_{number}"} for number in numbers]
    (read,) = read_events(
        json.dumps({"event": "meeting.abandoned", "meeting": meeting, "races": races} | reason).encode()
    )
    return read


def lines(*told, is_whole=True, book=()):
    meeting = Meeting(course=Course(name="Ascot"), race_date=DAY, region="GB")
    shown = live_meeting(LiveMeeting(LIVE, meeting, outcomes_of(book, told, "GB", None), is_whole), START)
    return [line for block in shown.blocks for line in block["text"]["text"].split("\n")]


def test_long_card_shows_every_race():
    run = [won(number, f"12:{number}") for number in range(10, 26)]
    lost = [delivered("race.abandoned", number, f"12:{number}", reason="frost " * 30) for number in range(26, 30)]
    shown = lines(*run, *lost)
    assert len([line for line in shown if line[:1].isdecimal()]) == 20
    assert sum("ABANDONED*, frost" in line for line in shown) == 4


def test_card_that_is_too_long_cuts_no_race_with_a_mark_and_counts_what_is_cut():
    shown = lines(
        *(won(minute, f"12:{minute}") for minute in range(10, 60)),
        *(won(100 + minute, f"11:{minute}") for minute in range(10, 60)),
        *(won(200 + minute, f"10:{minute}") for minute in range(10, 60)),
        *(delivered("race.abandoned", number, f"15:{number - 50}") for number in range(60, 70)),
        delivered("race.abandoned", 59, "12:59"),
        delivered("result.received", 90, "16:00", status="void"),
    )
    _, *races, cut, _ = shown
    marked = ["12:59", *(f"15:{minute}" for minute in range(10, 20)), "16:00"]
    times = [re.search(r"1\d:\d\d", line) for line in races]
    assert [time and time[0] for time in times[: len(marked)]] == marked
    assert not any(word in line for line in races[len(marked) :] for word in ("ABANDONED", "CONFLICT", "VOID"))
    assert cut == f"and {161 - len(races)} more"


IN_THREAD = "Results are in the thread."


@over(
    ("told", "is_whole", "has_results"),
    [
        *(([lost(1)], True, False), ([lost(1)], False, True), ([lost(1), meeting_lost()], False, False)),
        *(([meeting_lost()], False, False), ([], False, True), ([won(1, "13:00"), meeting_lost()], True, True)),
        *(([lost(1), won(2, "14:00")], True, True), ([lost(1), won(1, "13:00")], True, True)),
        ([lost(1), delivered("result.received", 2, "14:00", status="void")], True, True),
    ],
)
def test_results_are_pointed_at_only_where_a_race_has_one_or_may_have_one(told, is_whole, has_results):
    assert any(IN_THREAD in line for line in lines(*told, is_whole=is_whole)) is has_results


def at(shown, off):
    (line,) = [line for line in shown if line.startswith(off)]
    return line


GONE, CONFLICT = f"{LOST_MARK} *ABANDONED*", f"{CONFLICTING} *CONFLICT*: reported abandoned"


@over("order", [1, -1])
def test_reason_of_the_race_comes_before_the_reason_of_the_meeting_and_a_results_reason_is_none(order):
    told = [
        delivered("race.abandoned", 1, "13:00", reason="frost"),
        *(won(3, "14:00"), lost(3, "14:00")),
        delivered("result.received", 4, "15:00", runners=[{"position": 1, "horse": "A"}], reason="photo finish"),
        lost(4, "15:00"),
        meeting_lost(1, 2, 3, reason="flooded"),
    ]
    shown = lines(*told[::order])
    assert f"{GONE}, frost" in at(shown, "13:00")
    assert f"{CONFLICT} (flooded) and as run" in at(shown, "14:00")
    assert "photo finish" not in str(shown)
    assert any(f"{GONE}, flooded" in line for line in shown)


def test_no_race_is_next_where_a_settled_race_has_no_moment():
    """The day has begun in some time zone, so nothing is certain of later races either."""
    times = enumerate(("13:30", "14:30", "17:30"), start=1)
    card = [Race(race_id=f"rc_{number}", race_date=DAY, off=OffTime(text=off)) for number, off in times]
    shown = lines(won(4, "17:00"), book=card)
    assert ["no result yet" in at(shown, off) for off in ("13:30", "14:30", "17:30")] == [True] * 3
    assert not any(words in line for line in shown for words in ("off next", "to come"))

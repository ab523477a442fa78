import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.held_queues import DIGEST, PAUSED, UNDELIVERED, Held
from bot.outbox.resume import Backlog
from bot.slack.messages.alerts.backlog_summary import COUNTED, waited
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST, MARKED_VOID, without_marks
from bot.slack.messages.kit.text import HEADER_MAX, MESSAGE_MAX, SECTION_MAX, TEXT_MAX, size

SINCE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NO_REMARKS = VersionRemarks()
WON = (Runner(horse="Blue Moon", position="1"),)
BALLOON = "stewards.weather_balloon.sighted"


def event(kind, *, course="Kempton", off="14:30", reason=None, runners=(), **race):
    given = Race(
        course=Course(name=course), off=OffTime(text=off), race_date="2026-11-20", region="GB", runners=runners, **race
    )
    return RacingEvent(key="k", kind=kind, race=given, reason=reason), NO_REMARKS


def make(abandonments=(), results=(), counts=None, given_up=0, because="is_archived"):
    made = {EventKind.RESULT_RECEIVED: len(results)} if results else {}
    return Backlog(Held(because, SINCE), tuple(abandonments), tuple(results), made | (counts or {}), given_up)


def test_summary_names_abandonments_first_and_counts_the_rest():
    lost = event(EventKind.RACE_ABANDONED, reason="Frozen track")
    meeting = event(EventKind.MEETING_ABANDONED, course="Ascot", off=None, reason="Waterlogged")
    won = event(EventKind.RESULT_RECEIVED, course="Bath", runners=(Runner(horse="Blue Moon", position="1"),))
    summary = make([lost, meeting], [won], {EventKind.RACECARD_PUBLISHED: 2, None: 1}, given_up=4)
    ((message, named),) = waited(summary)
    assert named == 2
    assert message.text == (
        "ABANDONED: Kempton, 14:30, Fri 20 Nov (GB), Frozen track; "
        "Ascot, whole meeting, Fri 20 Nov (GB), Waterlogged. I could not post here (is_archived). "
        "1 result, 2 racecards and 1 delivery that could not be read came meanwhile. "
        "4 messages had waited too long and will not be posted"
    )
    shown = str(message.blocks)
    assert shown.index("ABANDONED: Kempton") < shown.index("Bath 14:30, Fri 20 Nov (GB): 1 Blue Moon")


def header_and_facts(*abandonments, **fields):
    """The header of the only message, and the section below the header."""
    ((message, _),) = waited(make(abandonments, **fields))
    shown = [block["text"]["text"] for block in message.blocks if "text" in block]
    return shown[0], shown[1]


def test_only_abandonment_of_a_summary_is_the_header_as_in_its_alert():
    race = event(EventKind.RACE_ABANDONED, reason="Frozen track")
    assert header_and_facts(race) == (
        "🛑 ABANDONED: Kempton 14:30, Fri 20 Nov (GB), Frozen track",
        "Told late",
    )
    meeting = event(EventKind.MEETING_ABANDONED, off=None, reason="Frozen track")
    assert header_and_facts(meeting, because=PAUSED) == (
        "🛑 ABANDONED: Kempton, whole meeting, Fri 20 Nov (GB), Frozen track",
        "Told late",
    )
    bare = RacingEvent(key="k", kind=EventKind.RACE_ABANDONED), VersionRemarks(contradicts=EventKind.RESULT_RECEIVED)
    title, facts = header_and_facts(bare)
    assert title.startswith(
        "🛑 ABANDONED: course not given, time not given, date not given (region unknown). ⚠️ CONFLICT: "
    )
    assert facts == "Told late"


def test_reason_without_room_in_the_header_of_the_only_abandonment_stands_below():
    why = "Standing water in the back straight " * 4
    header, facts = header_and_facts(event(EventKind.RACE_ABANDONED, reason=why))
    assert header.startswith("🛑 ABANDONED: Kempton 14:30, Fri 20 Nov (GB), Standing water")
    assert facts == f"Told late · {why.strip()}"


def test_only_abandonment_that_is_known_since_long_says_since_when():
    lost = event(EventKind.RACE_ABANDONED)[0], VersionRemarks(had_at=SINCE)
    assert header_and_facts(lost, because=UNDELIVERED)[1].startswith("Told late, known since <!date^")


def test_several_abandonments_of_a_summary_are_lines():
    header, lines = header_and_facts(event(EventKind.RACE_ABANDONED), event(EventKind.RACE_ABANDONED, course="Bath"))
    assert header == "🛑 ABANDONED while nothing could be posted here"
    assert lines == "🛑 ABANDONED: Kempton, 14:30, Fri 20 Nov (GB)\n🛑 ABANDONED: Bath, 14:30, Fri 20 Nov (GB)"


def test_only_abandonment_with_names_too_long_for_the_header_is_a_line():
    lost = event(EventKind.RACE_ABANDONED, course="C" * 80, off="T" * 40)[0]
    long = lost.model_copy(update={"race": lost.race.model_copy(update={"region": "R" * 40})}), NO_REMARKS
    header, line = header_and_facts(long)
    assert header == "🛑 ABANDONED while nothing could be posted here"
    assert line.startswith("🛑 ABANDONED: CCC")
    assert f"({'R' * 40})" in line


def test_summary_names_results_by_meeting_and_off_time():
    """Whatever the order of receipt. Ten o'clock comes after nine."""
    raced = [("York", "13:30"), ("Ascot", "10:05"), ("York", "12:55"), ("Ascot", "9:30"), ("York", "14:05")]
    results = [
        (
            event(EventKind.RESULT_RECEIVED, course=course, off=off)[0].model_copy(update={"key": f"{course} {off}"}),
            NO_REMARKS,
        )
        for course, off in raced
    ]
    ((message, _),) = waited(make([], results, because=DIGEST))
    shown = str(message.blocks)
    order = ["Ascot 9:30", "Ascot 10:05", "York 12:55", "York 13:30", "York 14:05"]
    assert sorted(order, key=shown.index) == order
    assert sorted(order, key=message.text.index) == order


@pytest.mark.parametrize(
    ("race", "said"),
    [
        ({"abandoned": True, "status": "Abandoned"}, f"{MARKED_LOST}, frost"),
        ({"status": "Void", "runners": WON}, MARKED_VOID),
        ({"status": "Postponed"}, "placings not received, Status: Postponed"),
        ({"status": "Provisional", "runners": WON}, "1 Blue Moon, Status: Provisional"),
        (
            {"abandoned": True, "status": "Abandoned", "runners": WON},
            f"1 Blue Moon, {MARKED_CONFLICT}: reported abandoned and run, Status: Abandoned",
        ),
        ({"status": "Walkover", "runners": WON}, "1 Blue Moon, Walkover: Blue Moon"),
        ({"status": "Result"}, "result in"),
    ],
)
@pytest.mark.parametrize("because", [DIGEST, PAUSED])
def test_summary_says_of_each_result_what_its_own_message_would_say(race, said, because):
    told = event(EventKind.RESULT_RECEIVED, reason="frost", **race)
    ((message, _),) = waited(make([], [told], because=because))
    line = f"Kempton 14:30, Fri 20 Nov (GB): {said}"
    assert line in str(message.blocks[-2])
    # A loss is in the notification too.
    is_loud = race.get("abandoned") or race["status"] == "Void"
    assert message.text.endswith(without_marks(line)) is bool(is_loud or because == DIGEST)


def test_lost_card_and_void_race_of_a_digest_have_a_mark_in_the_list_and_the_word_alone_in_text():
    card, void = event(EventKind.RACECARD_PUBLISHED, abandoned=True), event(EventKind.RESULT_RECEIVED, status="void")
    counts: dict[str | None, int] = {EventKind.RESULT_RECEIVED: 1, EventKind.RACECARD_PUBLISHED: 1}
    card = card[0].model_copy(update={"key": "card"}), NO_REMARKS
    ((message, _),) = waited(Backlog(Held(DIGEST, SINCE), (), (void,), counts, 0, cards=(card,)))
    assert ", 🛑 *ABANDONED*" in str(message.blocks)
    assert ": 🚫 *VOID*" in str(message.blocks)
    assert ", ABANDONED" in message.text
    assert ": VOID" in message.text


def test_every_kind_is_named_in_words():
    assert set(COUNTED) == {*EventKind, None}


def test_kind_that_this_version_does_not_know_is_counted_by_its_own_name():
    ((message, _),) = waited(make([], [], {BALLOON: 1}))
    assert message.text.endswith(f"1 other event (`{BALLOON}`) came meanwhile")
    counts = {
        EventKind.RACECARD_PUBLISHED: 1,
        "stewards.weather_balloon.sighted": 2,
        "a`<!here>": 1,
        "b": 1,
        "c": 1,
        "d": 1,
    }
    ((message, _),) = waited(make([], [], counts))
    assert f"1 racecard and 6 other events (`{BALLOON}`, `a'&lt;!here&gt;`, `b` and 2 more) came" in message.text


@given(st.dictionaries(st.sampled_from([*EventKind, None]) | st.text("ab.", min_size=1), st.integers(1, 10**6)))
def test_every_event_that_is_not_named_is_in_a_figure(counts):
    ((message, _),) = waited(make([], [], counts, given_up=1))
    figures = re.findall(r"(\d+) (?:result|racecard|deliver|other event)", message.text)
    assert sum(map(int, figures)) == sum(count for kind, count in counts.items() if kind not in ABANDONMENTS)


def test_summary_says_what_did_not_come_and_what_contradicts():
    bare = RacingEvent(key="k", kind=EventKind.RACE_ABANDONED), VersionRemarks(contradicts=EventKind.RESULT_RECEIVED)
    result = event(EventKind.RESULT_RECEIVED)[0], VersionRemarks(contradicts=EventKind.RACE_ABANDONED)
    ((message, _),) = waited(make([bare], [result]))
    assert (
        "course not given, time not given, date not given (region unknown), though a result was reported"
        in message.text
    )
    assert "Kempton 14:30, Fri 20 Nov (GB): result in, though it was reported abandoned" in str(message.blocks)


def test_summary_of_a_pause_in_which_everything_was_given_up():
    ((message, named),) = waited(make(given_up=1, because=PAUSED))
    assert named == 0
    assert message.text == "This channel was paused. 1 message had waited too long and will not be posted"


def test_more_results_than_fit_are_counted():
    results = [event(EventKind.RESULT_RECEIVED, course=f"Course {n} {'x' * 70}") for n in range(80)]
    ((message, _),) = waited(make(results=results, counts={EventKind.RESULT_RECEIVED: 900}))
    assert "900 results came meanwhile" in message.text
    assert " more" in str(message.blocks)


HOSTILE = st.text(max_size=300) | st.sampled_from(["<!here>", "*_~`", "&lt;" * 99, "🐎" * 300, None])


@given(st.lists(st.tuples(st.booleans(), HOSTILE, HOSTILE, HOSTILE), max_size=40), st.integers(0, 5))
def test_every_abandonment_is_whole_in_one_message_and_no_limit_is_met(given_events, given_up):
    kinds = {True: EventKind.MEETING_ABANDONED, False: EventKind.RACE_ABANDONED}
    lost = [
        event(kinds[is_meeting], course=course, off=off, reason=why) for is_meeting, course, off, why in given_events
    ]
    late = [event(EventKind.RESULT_RECEIVED, course=course) for _, course, _, _ in given_events]
    messages = waited(make(lost, late, given_up=given_up))
    assert sum(named for _, named in messages) == len(lost)
    for message, named in messages:
        assert size(message.text) <= TEXT_MAX
        assert not message.text.endswith("…")
        assert message.text.startswith("ABANDONED: ") == bool(named)
        assert len(message.blocks) <= 50
        assert weight(message.blocks) <= MESSAGE_MAX
        assert "<!here>" not in str(message)
        shown = [block["text"]["text"] for block in message.blocks if block["type"] in {"header", "section"}]
        assert all(size(text) <= SECTION_MAX for text in shown)
        assert size(shown[0]) <= HEADER_MAX
        assert sum(text.count("ABANDONED: ") for text in shown) >= named


def test_held_since_is_shown_in_the_readers_zone():
    ((message, _),) = waited(make(given_up=1))
    assert f"<!date^{int(SINCE.timestamp())}^" in str(message.blocks)

"""The summary of waiting messages, with the words in words.txt; no abandonment is cut."""

import re
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.held_queues import DIGEST, PAUSED, UNDELIVERED, Held
from bot.outbox.resume import Backlog
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST, MARKED_VOID, without_marks
from bot.slack.messages.kit.text import HEADER_MAX, MESSAGE_MAX, SECTION_MAX, TEXT_MAX, size
from tests.rows import over
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "words.txt"
SINCE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NO_REMARKS = VersionRemarks()
WON = (Runner(horse="Blue Moon", position="1"),)
BALLOON = "stewards.weather_balloon.sighted"


def event(kind, *, course="Kempton", off="14:30", reason=None, runners=(), **race):
    given = {"race_date": "2026-11-20", "region": "GB", "runners": runners} | race
    race_of = Race(course=Course(name=course), off=OffTime(text=off), **given)
    return RacingEvent(key="k", kind=kind, race=race_of, reason=reason), NO_REMARKS


def make(abandonments=(), results=(), counts=None, given_up=0, because="is_archived"):
    made = {EventKind.RESULT_RECEIVED: len(results)} if results else {}
    return Backlog(Held(because, SINCE), tuple(abandonments), tuple(results), made | (counts or {}), given_up)


LONG = event(EventKind.RACE_ABANDONED, course="C" * 80, off="T" * 40, region="R" * 40)
BARE = RacingEvent(key="k", kind=EventKind.RACE_ABANDONED), VersionRemarks(contradicts=EventKind.RESULT_RECEIVED)
DISPUTED = event(EventKind.RESULT_RECEIVED)[0], VersionRemarks(contradicts=EventKind.RACE_ABANDONED)
FROST = event(EventKind.RACE_ABANDONED, reason="Frozen track")
CALLED_OFF = event(EventKind.RACE_ABANDONED, race_id="rc_1")
RUN = event(EventKind.RESULT_RECEIVED, runners=WON, race_id="rc_1")[0], DISPUTED[1]
MEETING = event(EventKind.MEETING_ABANDONED, course="Ascot", off=None, reason="Waterlogged")
KNOWN = event(EventKind.RACE_ABANDONED)[0], VersionRemarks(had_at=SINCE)
CARD = event(EventKind.RACECARD_PUBLISHED, abandoned=True)[0].model_copy(update={"key": "card"}), NO_REMARKS
IN_A_DIGEST: dict[str | None, int] = {EventKind.RESULT_RECEIVED: 1, EventKind.RACECARD_PUBLISHED: 1}
STRANGE: dict[str | None, int] = {EventKind.RACECARD_PUBLISHED: 1, BALLOON: 2, "a`<!here>": 1, "b": 1, "c": 1, "d": 1}
SUMMARIES = {
    "of abandonments, a result and more": make(
        [FROST, MEETING],
        [event(EventKind.RESULT_RECEIVED, course="Bath", runners=WON)],
        {EventKind.RACECARD_PUBLISHED: 2, None: 1},
        given_up=4,
    ),
    "of an abandoned race": make([FROST]),
    "of an abandoned meeting in a pause": make([MEETING], because=PAUSED),
    "of an abandonment that contradicts, of which nothing came": make([BARE]),
    "of an abandonment with a long reason": make(
        [event(EventKind.RACE_ABANDONED, reason="Standing water in the back straight " * 4)]
    ),
    "of an abandonment that is known since long": make([KNOWN], because=UNDELIVERED),
    "of an abandonment with too long names": make([LONG]),
    "of two abandonments": make([event(EventKind.RACE_ABANDONED), event(EventKind.RACE_ABANDONED, course="Bath")]),
    "of a disputed result": make([BARE], [DISPUTED]),
    "of an abandonment and of a result of that race": make([CALLED_OFF], [RUN]),
    "of a lost card and a void race": Backlog(
        Held(DIGEST, SINCE), (), (event(EventKind.RESULT_RECEIVED, status="void"),), IN_A_DIGEST, 0, cards=(CARD,)
    ),
    "of an event that this version does not know": make([], [], {BALLOON: 1}),
    "of many events that this version does not know": make([], [], STRANGE),
    "of a pause in which everything was given up": make(given_up=1, because=PAUSED),
}


@over("name", SUMMARIES)
def test_summary_reads_as_kept(name):
    ((message, named),) = waited(SUMMARIES[name])
    assert named == len(SUMMARIES[name].abandonments)
    check(KEPT, f"Summary {name}", as_read(message))


def test_summary_names_results_by_meeting_and_off_time():
    """The order of receipt makes no difference. Ten o'clock comes after nine."""
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


@over(
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
        ({"status": "Walkover", "runners": WON}, "Walkover: Blue Moon"),
        ({"status": "Result"}, "result in, placings not received"),
    ],
)
@over("because", [DIGEST, PAUSED])
def test_summary_says_of_each_result_what_its_own_message_would_say(race, said, because):
    told = event(EventKind.RESULT_RECEIVED, reason="frost", **race)
    ((message, _),) = waited(make([], [told], because=because))
    line = f"Kempton 14:30, Fri 20 Nov (GB): {said}"
    assert line in str(message.blocks[-2])
    # A loss is in the notification too.
    is_loud = race.get("abandoned") or race["status"] == "Void"
    assert message.text.endswith(without_marks(line)) is bool(is_loud or because == DIGEST)


@given(st.dictionaries(st.sampled_from([*EventKind, None]) | st.text("ab.", min_size=1), st.integers(1, 10**6)))
def test_every_event_that_is_not_named_is_in_a_figure(counts):
    ((message, _),) = waited(make([], [], counts, given_up=1))
    figures = re.findall(r"([\d,]+) (?:result|racecard|deliver|other event)", message.text)
    told = sum(int(one.replace(",", "")) for one in figures)
    assert told == sum(count for kind, count in counts.items() if kind not in ABANDONMENTS)


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

"""Two versions of a card: the differences, the ringing changes, the kept values, and who is told of watched runners."""

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.kinds import CARD, RUNNER
from bot.events.merge import completed
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import WatchedRunner, out_or_back, renewed
from tests.rows import over
from tests.unit.events.versions import NOW, TODAY, at, between, published


def moved(before, now, *, rung=True):
    return ("card.off", before, before, now, rung)


MOMENT = int(datetime(2026, 11, 20, 14, 30, tzinfo=UTC).timestamp())
FOUR, SIX = at("1 11:00", "2 12:00", "3 13:00", "4 14:00"), at(*(f"{n} 1{n}:00" for n in range(6)))
DECLARED = [{"race_id": "rc_1", "runners": [{"horse": horse} for horse in "ABCD"]}, {"race_id": "rc_2"}]


def declared(of_b):
    return [{"race_id": "rc_1", "runners": [{"horse": "B", **of_b}]}, {"race_id": "rc_2"}]


B_OUT = declared({"non_runner": True})
Y_GONE = [{"race_id": "rc_1", "off_time": "11:30", "title": "A", "runners": [{"horse": "X"}]}]
WITH_Y = [Y_GONE[0] | {"runners": [{"horse": "X"}, {"horse": "Y"}]}, {"race_id": "rc_2", "title": "B"}]
ELSEWHERE = "2026-11-21T{}:00+11:00"
HALF_PAST, LATER = (at("1", "2 15:00", off_time=words) for words in ("half past", "later"))
A_MOMENT = [*at("1", off_time=MOMENT), *at("2 16:00")]
GONE = [(RUNNER, "Y in the 11:30 A", "named", None, False), (CARD, "B", "named", None, True)]
RUNS_AGAIN, TAKES_PART = ([(RUNNER, "B in the race rc_1", was, "named", False)] for was in ("NR", "Reserve"))
RESERVE_B, RUNNER_B = declared({"reserve": True}), declared({"reserve": False, "non_runner": False})
CARDS = {
    "by more than a few minutes": (at("1 11:30", "2 15:00"), at("1 11:36", "2 15:00"), [moved("11:30", "11:36")]),
    "by a few minutes": (at("1 11:30", "2 15:00"), at("1 11:35", "2 15:00"), [moved("11:30", "11:35", rung=False)]),
    "at times that nobody can read": (HALF_PAST, LATER, None),
    "one race of six": (SIX, at("3 13:10"), [moved("13:00", "13:10")]),
    "a moment in the place of a text": (at("1 14:30", "2 16:00"), A_MOMENT, [moved("14:30", "14:30 UTC", rung=False)]),
    "a race and a runner that are gone": (WITH_Y, Y_GONE, GONE),
    "a further part": (at("1", title="A"), at("2", title="B"), [(CARD, "B", None, "named", False)]),
    "a non-runner declared again": (B_OUT, declared({"status": "Declared"}), RUNS_AGAIN),
    "a non-runner, told without a status": (B_OUT, declared({"jockey": "J"}), []),
    "a reserve that gets a run": (RESERVE_B, RUNNER_B, TAKES_PART),
    "one runner of a race": (DECLARED, B_OUT, [(RUNNER, "B in the race rc_1", "named", "NR", False)]),
}


@over(("old", "new", "changes"), CARDS.values(), ids=CARDS)
def test_two_versions_of_a_card(old, new, changes):
    found = between(published(*old), published(*new))
    assert found == changes or (changes is None and all(change[-1] for change in found))
    again = completed(published(*new), published(*old))
    assert between(again, published(*new)) == []


RUNS = [
    *({"status": word} for word in ("Declared", "declared", "Runner", "RUNNER", "Active", "Reinstated", "Confirmed")),
    *({name: False} for name in ("non_runner", "is_non_runner", "withdrawn", "scratched", "nr")),
    *({"non_runner": word} for word in ("false", "N", "no", 0)),
    *({"running": True}, {"participation": "IN"}, {"betting": {"status": "ACTIVE"}}, {"status": {"code": "Declared"}}),
    {"horse": {"name": "B", "non_runner": False}},
]
SILENT = [
    *({"jockey": "J"}, {"non_runner": None}, {"non_runner": ""}, {"non_runner": "unknown"}, {"running": "unknown"}),
    *({"status": "Unknown"}, {"status": "Entered"}, {"status": "Official"}, {"status": ""}, {"reserve": False}, {}),
]
OUT_STILL = [{"status": "Declared", "non_runner": True}, {"status": "NR", "non_runner": False}, {"number": "NR"}]


@over(("said", "position"), [*((said, None) for said in RUNS), *((said, "NR") for said in (*SILENT, *OUT_STILL))])
def test_non_runner_runs_again_only_by_word(said, position):
    back = completed(published(*declared(said)), published(*B_OUT))
    assert [one.position for one in back.races[0].runners] == [position]
    silent = completed(published(*declared({"jockey": "J"})), back)
    assert [one.position for one in silent.races[0].runners] == [position]
    assert completed(back, published(*B_OUT)).races[0].runners == back.races[0].runners


@over(
    ("old", "new", "count"),
    [(SIX, at("3 13:10"), 6), (at("1", title="A"), at("2", title="B"), 2), (WITH_Y, Y_GONE, 1), (FOUR, FOUR[:3], 3)],
)
def test_list_that_names_all_takes_races_away_and_a_part_takes_none(old, new, count):
    assert len(completed(published(*new), published(*old)).races) == count

    # After the update of one runner the other runners stay declared.
    assert len(completed(published(*B_OUT), published(*DECLARED)).races[0].runners) == 4
    assert len(completed(published(*Y_GONE), published(*WITH_Y)).races[0].runners) == 1


def test_race_that_a_meeting_no_longer_names_stays_lost():
    both, one = (
        RacingEvent(key="k", kind=EventKind.MEETING_ABANDONED, races=tuple(Race(title=title) for title in titles))
        for titles in ("AB", "A")
    )
    assert between(both, one) == []
    assert [race.title for race in completed(one, both).races] == ["A", "B"]


def test_time_or_course_written_in_two_ways_is_no_change():
    moment = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
    old, new = (
        RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=Race(course=Course(name=name), off=off))
        for name, text in (("York (GB)", "14:30"), ("YORK", "2:30pm"))
        for off in [OffTime(text=text, off_at=moment)]
    )
    assert between(old, new) == []


@over(
    ("dates", "rung"),
    [((TODAY, "2026-11-28"), True), (("2026-11-28", TODAY), True), (("2026-12-01", "2026-12-02"), False)],
)
def test_card_that_moves_to_or_from_today_rings(dates, rung):
    old, new = (published({"race_id": "rc_1"}, date=date) for date in dates)
    assert any(change[-1] for change in between(old, new)) is rung
    # A race that is gone from the card of another day does not ring.
    old, new = (published(*races, date="2026-12-01") for races in (WITH_Y, Y_GONE))
    assert between(old, new)[-1] == (CARD, "B", "named", None, False)


@over(
    ("race", "card", "offs", "rung"),
    [
        ({}, {}, ("14:30", "14:45"), True),
        ({}, {"date": "2026-11-21"}, ("11:30", "11:45"), False),
        ({}, {"date": "2026-11-21", "region": "NZ"}, ("11:30", "11:45"), True),
        ({}, {"date": "2026-11-21"}, (ELSEWHERE.format("09:30"), ELSEWHERE.format("10:30")), True),
        ({"date": TODAY}, {"date": None}, ("14:30", "14:45"), True),
    ],
    ids=["today", "tomorrow", "today in the region", "today by its moment", "by its own date"],
)
def test_race_rings_by_its_own_day_and_moment(race, card, offs, rung):
    old, new = (published(*at("1", off_time=off, **race), *at("2"), **card) for off in offs)
    assert [change[-1] for change in between(old, new)] == [rung]


def told(*events):
    """The changes of each event against everything told before."""
    known, *later = events
    said = []
    for event in later:
        said.append(between(known, event))
        known = completed(event, known) if said[-1] else known
    return said


def test_drifting_race_rings_once_far_from_the_told_time():
    cards = [published(*at(f"1 11:{minute}", "2 16:00")) for minute in (30, 35, 40, 45, 50)]
    assert [changes[0][-1] for changes in told(*cards)] == [False, True, False, True]


def test_abandonment_on_a_card_is_taken_back_only_by_word():
    first, lost, silent, back = (
        published(*at("1 14:30", **more), *at("2 15:00"))
        for more in ({}, {"abandoned": True}, {"title": "T"}, {"abandoned": False})
    )
    taken, kept, again = told(first, lost, silent, back)
    assert taken == [("card.abandoned", "14:30", None, "yes", True)]
    assert [change[0] for change in kept] == ["card.title"]
    assert again == [("card.abandoned", "14:30 T", "yes", "no", True)]
    assert completed(silent, completed(lost, first)).races[0].abandoned


@over("back", [{"status": "Going ahead"}, {"abandoned": False}, {"status": "Declared", "reason": "dry"}])
def test_reason_and_status_of_an_abandonment_go_with_it(back):
    lost = published(*at("1 14:30", status="Postponed", reason="frost"), *at("2 15:00"))
    race = completed(published(*at("1 14:30", **back), *at("2 15:00")), lost).races[0]
    assert (race.abandoned, race.status, race.reason) == (False, back.get("status"), back.get("reason"))


def test_card_in_parts_keeps_all_says_nothing_twice_and_can_lose_a_race_once_it_came_whole():
    one, two, whole, shorter = (published(*part) for part in (FOUR[:2], FOUR[2:], FOUR, FOUR[:3]))
    assert [len(changes) for changes in told(one, two, one, two, two)] == [2, 0, 0, 0]
    both = completed(two, one)
    for part in (one, two, shorter):
        assert between(both, part) == []
        both = completed(part, both)
        assert len(both.races) == 4
    known = completed(whole, both)
    assert between(known, shorter) == [(CARD, "14:00", "named", None, True)]
    assert between(completed(shorter, known), shorter) == []


@over("titles", [("Novice Hurdle", "Gold Cup", "Bumper"), ("Maiden",) * 3])
def test_delayed_races_keep_their_own_titles_and_runners(titles):
    offs = ("13:00", "13:30", "14:00", "14:30")
    numbered = [
        {"race_number": n, "title": title, "runners": [{"horse": f"H{n}"}]} for n, title in enumerate(titles, 1)
    ]
    first = published(*(race | {"off_time": off} for race, off in zip(numbered, offs, strict=False)))
    later = published(*({"race_number": n, "off_time": off} for n, off in enumerate(offs[1:], 1)))
    assert [change[2:] for change in between(first, later)] == [(before, now, True) for before, now in pairwise(offs)]
    known = [(race.title, race.runners[0].horse) for race in completed(later, first).races]
    assert known == list(zip(titles, ("H1", "H2", "H3"), strict=True))


def test_changes_of_very_many_runners_are_counted():
    first, later = (
        published(*({"race_id": f"rc_{n}", "runners": [f"{letter}{n}x{k}" for k in range(40)]} for n in range(60)))
        for letter in "AB"
    )
    changes = changes_between(first, later, received_at=NOW)
    assert len(changes) == 100
    assert sum(1 + change.more for change in changes) == 120
    assert changes[0].of == "40 runners in the race rc_0"


NUMBERS = st.lists(st.integers(1, 5), unique=True, max_size=5)


def of_card(numbers, declared):
    runners = tuple(Runner(horse=f"Horse {number}") for number in declared)
    races = tuple(Race(race_id=f"rc_{number}", title=f"Title {number}", runners=runners) for number in numbers)
    return RacingEvent(key="k", kind=EventKind.RACECARD_PUBLISHED, race=Race(race_date=TODAY), races=races)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=5))
def test_card_that_is_delivered_again_says_nothing_anew(cards):
    known = of_card(*cards[0])
    for numbers, declared in cards[1:]:
        delivered = of_card(numbers, declared)
        known = completed(delivered, known)
        assert changes_between(known, delivered, received_at=NOW) == ()


# Watched runners in an event's next version: lost, gone or back; and the channels that are told


MOORE, SMITH = ("jockey R. Moore",), ("trainer A. Smith",)


def one(horse="Golden Mélody (IRE)", off="14:30", **more):
    return WatchedRunner(horse=horse, off=off, **more)


def race(*runners, off="14:30"):
    """Of runners as "Golden Melody, R. Moore": horse and jockey."""
    named = [dict(zip(("horse", "jockey"), said.split(", "), strict=False)) for said in runners]
    return Race(off=OffTime(text=off), runners=tuple(Runner(trainer="A. Smith", **runner) for runner in named))


def placed(**positions):
    """Horses of one word."""
    return Race(off=OffTime(text="14:30"), runners=tuple(Runner(horse=h, position=p) for h, p in positions.items()))


GOLDEN, RIDDEN, TRAINED = one(), one(by=MOORE), one(by=SMITH)
UNRIDDEN = one(by=MOORE, is_lost=True)
TAKEN_OFF = one(is_lost=True, is_gone=True)
AT_1500 = one(off="15:00")
OUT, RESERVE = one(position="NR"), one(position="Reserve")
BACK = one(is_back=True)
RED_SKY, WINNER = one("Red Sky", by=MOORE), one("Golden", position="1")
WINNER_NO_MORE, THERE_AT_1500 = one("Golden", position="1", is_lost=True), race("Golden Melody", off="15:00")
THERE, ABSENT = race("Golden Melody, R. Moore"), race("Red Sky, R. Moore")
OTHER_RIDER = race("Golden Melody, T. Marquand")
RENEWED = {
    "there again": ([GOLDEN], [GOLDEN], [THERE], [GOLDEN]),
    "there, and the watch has ended": ([GOLDEN], [], [THERE], [GOLDEN]),
    "ride lost": ([RIDDEN], [], [OTHER_RIDER], [UNRIDDEN]),
    "ride lost, and another version": ([UNRIDDEN], [], [OTHER_RIDER], [UNRIDDEN]),
    "ride lost and back": ([UNRIDDEN], [RIDDEN], [THERE], [RIDDEN]),
    "another ride": ([RIDDEN], [RED_SKY], [race("Golden Melody, X", "Red Sky, R. Moore")], [RED_SKY, UNRIDDEN]),
    "taken off the card": ([GOLDEN], [], [ABSENT], [TAKEN_OFF]),
    "taken off the card, and another version": ([TAKEN_OFF], [], [ABSENT], [TAKEN_OFF]),
    "trainer's horse taken off the card": ([TRAINED], [], [ABSENT], [one(by=SMITH, is_lost=True, is_gone=True)]),
    "put back": ([TAKEN_OFF], [GOLDEN], [THERE], [BACK]),
    "back, and another version": ([BACK], [GOLDEN], [THERE], [BACK]),
    "taken off one of two races": ([GOLDEN, AT_1500], [AT_1500], [ABSENT, THERE_AT_1500], [AT_1500, TAKEN_OFF]),
    "race that has moved": ([GOLDEN], [], [race("Golden Melody", off="14:40")], [GOLDEN]),
    "non-runner": ([GOLDEN], [OUT], [THERE], [OUT]),
    "non-runner declared again": ([OUT], [GOLDEN], [THERE], [BACK]),
    "reserve that gets a run": ([RESERVE], [GOLDEN], [THERE], [GOLDEN]),
    "no winner any more": ([WINNER], [], [placed(Golden=None, Medley="1")], [WINNER_NO_MORE]),
    "winner that is placed": ([WINNER], [], [placed(Medley="1", Golden="2")], [WINNER]),
}


@over(("noted", "found", "races", "now"), RENEWED.values(), ids=RENEWED)
def test_runners_of_the_next_version(noted, found, races, now):
    assert list(renewed(noted, found, races)) == now


TOLD = {
    "non-runner": ([GOLDEN], [OUT], True),
    "taken off the card": ([GOLDEN], [TAKEN_OFF], True),
    "non-runner, not noted before": ([], [OUT], True),
    "reserve, not noted before": ([], [RESERVE], False),
    "non-runner as before": ([OUT], [OUT], False),
    "declared again": ([OUT], [BACK], True),
    "reserve that gets a run": ([RESERVE], [GOLDEN], True),
    "declared as before": ([GOLDEN], [GOLDEN], False),
    "declared at first": ([], [GOLDEN], False),
    "ride lost": ([RIDDEN], [UNRIDDEN], False),
    "non-runner of two declarations": ([GOLDEN, AT_1500], [OUT, AT_1500], True),
    "non-runner of two declarations as before": ([OUT, AT_1500], [OUT, AT_1500], False),
}


@over(("before", "now", "is_told"), TOLD.values(), ids=TOLD)
def test_channel_that_still_watches_is_told_of_a_runner_newly_out_or_back(before, now, is_told):
    def told(*, watches):
        return out_or_back({"CGB": tuple(before)}, {"CGB": tuple(now)}, lambda _channel_id, _runner: watches)

    assert told(watches=True) == ({"CGB"} if is_told else set())
    assert told(watches=False) == set()

"""Watched runners of an event's next version: who is lost, gone or back, and which channels are told so."""

from bot.events.races import OffTime, Race, Runner
from bot.events.watched import WatchedRunner, out_or_back, renewed
from tests.rows import over

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
    "taken off one of two races": (
        [GOLDEN, AT_1500],
        [AT_1500],
        [ABSENT, race("Golden Melody", off="15:00")],
        [AT_1500, TAKEN_OFF],
    ),
    "race that has moved": ([GOLDEN], [], [race("Golden Melody", off="14:40")], [GOLDEN]),
    "non-runner": ([GOLDEN], [OUT], [THERE], [OUT]),
    "non-runner declared again": ([OUT], [GOLDEN], [THERE], [BACK]),
    "reserve that gets a run": ([RESERVE], [GOLDEN], [THERE], [GOLDEN]),
    "no winner any more": (
        [WINNER],
        [],
        [placed(Golden=None, Medley="1")],
        [one("Golden", position="1", is_lost=True)],
    ),
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

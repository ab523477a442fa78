"""The words of a race's state, the reason and the extent of a loss, and the sets of outcomes."""

import pytest

from bot.events.lost_part import run_before_loss
from bot.events.race_state import (
    CONFLICTS,
    HAS_RUN,
    NOT_HELD,
    WITH_RESULT,
    RaceOutcome,
    RaceState,
    express_losses,
    is_amended,
    is_in_doubt,
    is_taken_back,
    letters,
    reason_in,
    state_in,
)
from tests.rows import over

STATES = [
    (RaceState.ABANDONED, "Abandoned; ABANDONED - frost; MEETINGABANDONED; race_cancelled; Called off"),
    (RaceState.ABANDONED, "COURSE_ANNULEE; Abgesagt; Canceled; Not run; RACE_WAS_NOT_RUN; ABND; ABORTED"),
    (
        RaceState.ABANDONED,
        "Race aborted; Inställt; 取消; 開催取り止め; 取りやめ; Abgebrochen; Did not take place; Race deleted",
    ),
    (RaceState.ABANDONED, "Will not be run; Not staged; Washed out; Meeting off; ABAN; CANC; Race lost; Afgelast"),
    (RaceState.ABANDONED, "Aflyst; Peruttu; Odwołany; İptal; 취소; Anulada; Supprimée; Ice on hurdles - abandoned"),
    (RaceState.ABANDONED, "Jockeys refused: abandoned; Abandoned hurdles frozen"),
    (
        RaceState.ABANDONED,
        "Abandoned after inspection; Abandoned - not fit for racing; Unfit: abandoned; Called off, may be run later",
    ),
    (
        RaceState.ABANDONED,
        "Cancelled (risk of fog); 27 May meeting abandoned; Unfit and cancelled; Will no longer go ahead",
    ),
    (RaceState.ABANDONED, "Race lost to heavy rain; Reprieve reversed: abandoned; Abandoned, Ayr going ahead"),
    (
        RaceState.ABANDONED,
        "Meeting lost to fog; Remaining races lost; Frozen off; ABD - fog; CANX; Meeting off - frost; Not going ahead",
    ),
    (
        RaceState.VOID,
        "Void; Void race; RACE_VOIDED; RACEVOID; Declared void; No race; Annulled; 競走不成立; Bets void: race void",
    ),
    (RaceState.VOID, "Race void: Alpha wins nothing; Alpha beats Bravo: race void; Null and void"),
    (RaceState.VOID, "Declared a void race; Race declared a no-race"),
    (RaceState.ABANDONED, "York meeting off; Meeting is now off; Rennen fällt aus; 賽事取消"),
    (
        RaceState.ABANDONED,
        "Today's meeting will not take place; Racing can't go ahead; Meeting unable to proceed; No racing today",
    ),
    (RaceState.ABANDONED, "Meeting aborted; Fixture scrapped; Lähtö peruttu"),
    (RaceState.POSTPONED, "Meeting moved to Thursday; Race transferred to Saturday"),
    (RaceState.VOID, "Race void for all purposes"),
    (None, "Hurdle 2 abandoned"),
    (
        None,
        "No contest for wagering; Rider believed race was void; Jockeys ask for meeting to be abandoned",
    ),
    (
        None,
        "Bets void in the event of abandonment; Attempt to have race voided fails; Was abandoned, now on",
    ),
    (RaceState.VOID, "Race won by Alpha but declared void; Jockey Club Stakes void; Gimcrack void"),
    (RaceState.ABANDONED, "Not run because of fog; Racing will not take place today; Waterlogged course abandoned"),
    (RaceState.ABANDONED, "Hong Kong Jockey Club meeting abandoned; Jockey Club Cup abandoned; Renntag abgesagt"),
    (RaceState.ABANDONED, "Lady Riders' race abandoned; Royal Ascot abandoned"),
    (
        RaceState.POSTPONED,
        "Postponed; POSTPONED to Friday; Rescheduled; Moved; Flyttad; Verlegt; Aplazada; Rinviata; COURSE_REPORTEE",
    ),
    (RaceState.POSTPONED, "Utsatt; Uitgesteld; 연기; Postponed from 18 Nov to 20 Nov"),
    (RaceState.WALKOVER, "Walkover; Walk over; W/O; walked_over"),
    (RaceState.RUN, "Result; Weighed In; WEIGHEDIN; Official; Final; Paying; Race finished"),
    (RaceState.PROVISIONAL, "Interim; Provisional; Photo finish; Stewards inquiry; Objection lodged"),
    (RaceState.PROVISIONAL, "Inquiry in progress; UNDER_INQUIRY; Photo called; 審議; Interim result"),
    (RaceState.PROVISIONAL, "Awaiting weigh in; Arrivée provisoire; Vorläufig"),
    (None, "출전취소; Off; Lost; Suspended; Will be run; 出走取消; Pending; Stopped; Hold all tickets; Preliminary"),
    (None, "Declared; Going down; Delayed; Under review; Avoid; Runner; Moved up; First start aborted"),
    (None, "La Diadema wins; Proud Saturn lands it; Manu Lad; Duncan Clan; Not abandoned; May be abandoned"),
    (None, "Subject to inspection; Abandonment feared; Unlikely to be void"),
    (None, "Rescheduled from 18 Nov; Race postponed from Ripon; Postponed from 18 Nov due to frost"),
    (None, "Abandonment likely; Abandoned if frost persists; Decision on abandonment at 8; Abandoned?; Unabandoned"),
    (
        None,
        "Two fences abandoned; Bets void; First start void; Bets on race 4 void; Rider abandoned effort; Plan void",
    ),
    (None, "Stewards' meeting cancelled; Press conference cancelled; Board meeting postponed; Objection void"),
    (None, "Washed Out wins at York; Won by Void Contract; Postponed beats Void; Won after Bravo abandoned the race"),
    (None, "Race void for betting purposes only; Void for betting; Result void for jackpot purposes"),
    (None, "Abandonment reversed; Abandoned - meeting reinstated; No abandonment; Set to be abandoned; Abandoned: no"),
    (None, "Race 3 may be abandoned; The 13:00 may be called off; Placepot void; Exacta: void; Jackpot cancelled"),
    (None, "Pulled up, abandoned; Rail: moved"),
    (None, "Meeting off to a flying start; Trainers avoid race; Moved to York"),
    (None, "May be a walkover; Rail: moved; Race void claim dismissed; Race should be declared void"),
    (
        RaceState.ABANDONED,
        "Abandoned as the fog had not lifted; Abandoned after a lorry overturned; Abandoned - appeal rejected",
    ),
    (
        RaceState.ABANDONED,
        "Abandoned: racing ruled out by snow; Due to the risk of lightning racing has been abandoned",
    ),
    (RaceState.ABANDONED, "Following an inspection the meeting was abandoned"),
    (None, "Abandonment was later overturned; Void ruling lifted; Following fears of the meeting being abandoned"),
    (None, "Race lost due to a mistake; Meeting lost to Ripon; Race nearly abandoned"),
    (
        None,
        "May yet be abandoned; Meeting official; Might be called off; Race run but not void; Devoid of pace",
    ),
]
SAID = [(state, said) for state, words in STATES for said in words.split("; ")]


@over(
    ("state", "said"),
    [*SAID, (RaceState.RUN, f"{'.' * 194}Result"), (None, f"{'.' * 195}Result"), (None, ""), (None, None)],
)
def test_state_is_read_of_the_words_of_its_kind(state, said):
    assert state_in(said) is state


@pytest.mark.parametrize(
    ("is_express", "words"),
    [
        (
            True,
            [
                *("Void", "Race declared void", "RACE_VOIDED", "Meeting abandoned - frost", "Today's card called off"),
                *("York abandoned", "Racing at York abandoned", "York meeting abandoned", "Race 3 was later cancelled"),
                *("Bets void: race void", "Race void: Alpha wins nothing", "Alpha beats Bravo: race void"),
                *("Ice on hurdles - abandoned", "Jockeys refused: abandoned", "Abandoned hurdles frozen"),
                *("Race abandoned after Void Contract fell", "Will not be run", "Did not take place", "開催中止"),
                *("Course annulée", "Loppet inställt", "MEETINGABANDONED", "Gimcrack void", "Race lost"),
                *("Evening meeting abandoned", "Final race abandoned", "Result void", "Race run but declared void"),
                *("Due to high winds racing was abandoned", "Unfortunately abandoned", "Race null and void"),
                *("Stewards abandoned the race", "Novice hurdle abandoned", "Wednesday's meeting cancelled"),
                *("Track unsafe and meeting abandoned", "Called Off", "Declared null and void", "Declared void"),
                *("YORK_PARK abandoned", "gimcrack  stakes: void", "Gimcrack, void"),
                *("Heavy rain has caused the meeting to be abandoned", "The 13:00 was declared void"),
                *("We regret that today's meeting is abandoned", "Alpha won but race declared void"),
                *("Cancelled by the BHA", "Race cancelled for lack of runners", "Racing postponed until Friday"),
                *("Both meetings abandoned", "Tonight's meeting abandoned early", "Race abandoned on vets' advice"),
                *("Meeting abandoned shortly before the first race", "York Park and Ayr meetings abandoned"),
                *("Card cancelled at short notice", "Today's fixture is off", "Abandoned the meeting"),
                *("Das Rennen wurde abgesagt", "Loppet är inställt", "Carrera suspendida por lluvia"),
                *("Declared a void race", "Day's racing lost", "Race rescheduled for Friday"),
                *("Abandoned/Void", "Void false start", "Race since voided", "Race void pending inquiry"),
                *("Race declared void by the Stewards of the Jockey Club", "Voided by stewards"),
                *("Turf racing abandoned", "Live racing cancelled today", "La course a été annulée"),
                *("Meeting has already been abandoned", "Abandoned at 8am", "BHA have abandoned the meeting"),
                *("ABANDONED FROST", "Abandoned high winds", "Meeting abandoned at the request of the police"),
            ],
        ),
        (
            False,
            [
                *(f"{horse} wins at York" for horse in ("Washed Out", "Abandoned", "Void")),
                *("Postponed beats Void", "Two fences abandoned", "Rider abandoned effort", "Bets void"),
                *("Ayr meeting abandoned", "Ayr abandoned", "2.30 at Ayr void", "Racing at Ayr abandoned"),
                *("Won by Void Contract", "Void Contract in front", "First start void", "Exacta void"),
                *("Won after the favourite abandoned the race", "Royal Ascot Park abandoned", "Ayr handicap void"),
                *("Abandoned his effort two out", "Smith abandoned the chase", "Kelly abandoned the race"),
                *(
                    "Abandoned the chase at the last",
                    "Pulled up and abandoned",
                    "Race void for the jackpot",
                    "Race abandoned by rider",
                ),
                *("Race void for betting purposes only", "Void for betting", "Bets on race 1 and 2 void"),
                *("Stewards' meeting cancelled", "Press conference cancelled", "Board meeting postponed"),
                *("Void: no", "Abandoned - now reinstated", "Abandoned early lead", "Ebor Festival abandoned"),
                *("Abandonment to be confirmed", "Following race abandoned", "Abandoned Ayr race"),
                *("York Park abandoned?", "Yorkshire abandoned", "Ascot Gimcracks void"),
            ],
        ),
    ],
)
def test_note_tells_an_express_loss_of_the_race_alone(is_express, words):
    own = ("York Park", "Gimcrack Stakes", "Handicap")
    told = {said: any(express_losses(said, own, is_note=True)) for said in words}
    assert told == dict.fromkeys(words, is_express)


@pytest.mark.parametrize(
    ("words", "losses"),
    [
        *((said, [said]) for said in ("Race void", "Void race", "York race declared void", "Meeting called off")),
        ("Race run in rain and declared void", ["Race run in rain and declared void"]),
        *((said, [said]) for said in ("Abandoned race", "Race was voided as the flag was not seen by a rider")),
        ("After an inquiry. The race was declared void, with bets refunded", ["The race was declared void"]),
        *(
            (said, [])
            for said in ("Void", "Called off", "Ayr race void", "He called the race void", "Race off", "No race")
        ),
        ("York abandoned", ["York abandoned"]),
        *(
            (said, [])
            for said in (
                "Handicap void",
                "Today abandoned race plans",
                "Today abandoned race",
                "Abandoned Ayr race",
                "Race he called void",
                "Race void claim dismissed",
            )
        ),
        *(
            (said, [said])
            for said in (
                *("Following an inspection the meeting was abandoned", "Race not run", "Race will not be run"),
                *(
                    "Stewards abandoned the race",
                    "Racing is postponed until Friday",
                    "Meeting off",
                    "Race not run due to fog",
                ),
                *("Racing abandoned at 12:50", "York abandoned by stewards", "Racing called off on safety grounds"),
            )
        ),
        *(
            (said, [])
            for said in (
                *(
                    "Race replay void",
                    "Race entry cancelled",
                    "Race nearly abandoned",
                    "Result void for jackpot purposes",
                ),
                *("The race was abandoned by most trainers", "Racing was called off here on Boxing Day"),
                *("Course inspection cancelled", "Race twice abandoned", "After the race the rider abandoned the ride"),
            )
        ),
        *((said, []) for said in ("Abandoned race at Ayr", "Race not void", "Race void of pace", "Race abandoned?")),
    ],
)
def test_express_loss_is_a_clause_about_a_race_alone(words, losses):
    assert [clause for _, clause in express_losses(words, ("York Handicap",))] == losses


@pytest.mark.parametrize(
    ("is_express", "words"),
    [
        (
            True,
            [
                *("Race cancelled by agreement", "Meeting abandoned by Racing NSW", "Race abandoned loose horse"),
                *("Ebor Festival abandoned", "Meeting abandoned despite covers", "MEETING CANCELLED TYPHOON"),
            ],
        ),
        (
            False,
            [
                *("Race abandoned by most trainers", "Race void claim dismissed", "Race abandoned at Ayr"),
                *(
                    "Ayr meeting abandoned",
                    "Abandoned attempt",
                    "Meeting abandoned insurance",
                    "Festival bus cancelled",
                ),
            ],
        ),
    ],
)
def test_cause_of_a_loss_without_places_may_have_any_words(is_express, words):
    told = {said: any(express_losses(said, ("York",), is_note=True, is_open=True)) for said in words}
    assert told == dict.fromkeys(words, is_express)


@over(
    ("status", "reason"),
    [
        ("Abandoned - waterlogged", "waterlogged"),
        ("MEETING ABANDONED: high winds", "high winds"),
        ("Void (false start)", "false start"),
        ("Abandoned", None),
        ("Abandoned (3)", None),
        ("Called-off", None),
        ("Official - photo", None),
        (None, None),
    ],
)
def test_reason_of_a_lost_race_stands_behind_its_state(status, reason):
    assert reason_in(status) == reason


@over(
    ("words", "races_run"),
    [
        ("Abandoned after race 3", 3),
        ("Abandoned from race 4", 3),
        ("Races 4-7 abandoned", 3),
        ("ABANDONED R4-R7", 3),
        ("races 4-7", 3),
        *((f"{races} onwards", 3) for races in ("Race 4", "races 4", "4")),
        ("Races 1-7 abandoned", None),
        *((f"Abandoned ({run} run)", 2) for run in ("2 of 7", "2/7 races", "2 races were")),
        *((f"Abandoned: {run} run", None) for run in ("0 of 7", "2")),
        ("Partially abandoned", 0),
        ("Abandoned", None),
    ],
)
def test_races_run_before_a_loss_are_counted_as_the_words_say(words, races_run):
    assert run_before_loss(words) == races_run


@pytest.mark.parametrize(
    ("is_so", "statuses"),
    [
        (True, ["Amended result", "RESULT_AMENDED", "Revised", "Corrected placings"]),
        (False, ["To be amended", "May be amended", "Unamended", "Correct weight", "Official", None]),
    ],
)
def test_result_is_amended_by_a_sure_word(is_so, statuses):
    assert {status: is_amended(status) for status in statuses} == dict.fromkeys(statuses, is_so)


@pytest.mark.parametrize(
    ("is_so", "statuses"),
    [(True, ["Under review", "Photo finish", "Not weighed in"]), (False, ["Official", "Abandoned", "Weighed in"])],
)
def test_status_may_say_that_places_are_in_doubt(is_so, statuses):
    assert {status: is_in_doubt(status) for status in statuses} == dict.fromkeys(statuses, is_so)


@pytest.mark.parametrize(
    ("is_so", "statuses"),
    [(True, ["Lifted", "REVERSED", "Under review", "No longer likely"]), (False, ["Declared", "Confirmed", "Final"])],
)
def test_abandonment_may_be_taken_back(is_so, statuses):
    assert {status: is_taken_back(status) for status in statuses} == dict.fromkeys(statuses, is_so)


@pytest.mark.parametrize("status", ["Weighed In", "weighed_in", "WEIGHED-IN"])
def test_status_is_compared_by_its_letters(status):
    assert (letters(status), letters(None)) == ("weighedin", "")


@over(
    ("outcome", "sets"),
    [
        (RaceOutcome.SETTLED, {WITH_RESULT, HAS_RUN}),
        (RaceOutcome.BOTH, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.UNCERTAIN, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.VOID, {HAS_RUN, NOT_HELD}),
        (RaceOutcome.ABANDONED, {NOT_HELD}),
        (RaceOutcome.OPEN, set()),
    ],
)
def test_outcome_is_in_the_sets_of_its_kind(outcome, sets):
    assert {one for one in (WITH_RESULT, HAS_RUN, CONFLICTS, NOT_HELD) if outcome in one} == sets

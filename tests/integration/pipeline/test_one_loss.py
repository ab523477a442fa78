"""A result or a card that repeats a told loss rings no more. An abandonment and another fact ring."""

from bot.events.event import Topic
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result
from tests.integration.pipeline.steps import pause
from tests.integration.pipeline.stories import Story, links, play, resumes, rows, so_far, subscribes

ALL = subscribes("CGB", "GB", *Topic)


def lost(race_id="rc_1", status="Abandoned", **race):
    return result(race_id, placings=(), status=status, **race)


def card(sequence, status=None, race_id="rc_1", **race):
    races = [
        {"race_id": race_id, "off_time": "14:30", **race} | ({"status": status} if status else {}),
        {"race_id": "rc_2", "off_time": "15:05"},
    ]
    card = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": card, "sequence": sequence}


ALERT, FROM_RESULT = "^ABANDONED: Ascot 14:30 (GB), frost", "^ABANDONED: Ascot 14:30 (GB)"
RUN = result("rc_1", placings=("Blue Moon",))
MARKED = card(2, "Abandoned")

STORIES = {
    "result after the abandonment": Story(abandonment(), lost(), edits=0, CGB=[ALERT]),
    "abandonment after the result": Story(lost(), abandonment(), CGB=[FROM_RESULT, f"{ALERT} | !CONFLICT"]),
    "all three": Story(
        *(ALL, card(1), abandonment(), MARKED, lost()),
        CGB=["^ABANDONED: Ascot 14:30 | Corrected", f"{ALERT} | !Contradicted"],
    ),
    "card first": Story(
        *(ALL, card(1), MARKED, lost(), abandonment()),
        CGB=["Superseded", "^ABANDONED: Ascot 14:30", f"{ALERT} | !CONFLICT"],
    ),
    "in a channel that takes no cards": Story(card(1), abandonment(), MARKED, CGB=[ALERT]),
    "result after the meeting's abandonment": Story(meeting("rc_1", "rc_2"), lost(), CGB=["^ABANDONED: Ascot, whole"]),
    "result with another reason, told again": Story(
        *(abandonment(), lost(), lost(going="Heavy"), lost(going="Heavy", reason="fog")), CGB=[ALERT]
    ),
    "in a summary": Story(pause, abandonment(), resumes, lost(), CGB=["^ABANDONED: Ascot 14:30"]),
    # Other facts.
    "run after a loss of the result alone": Story(
        lost() | {"sequence": 1},
        RUN | {"sequence": 2},
        CGB=["Superseded", "^CORRECTION: | no longer reported abandoned. Now 1 Blue Moon | !Status"],
    ),
    "run after it was void": Story(
        lost(status="Void") | {"sequence": 1},
        RUN | {"sequence": 2},
        CGB=["Superseded", "^CORRECTION: | no longer void. Now 1 Blue Moon | !VOID"],
    ),
    "postponed after the abandonment": Story(abandonment(), lost(status="Postponed"), CGB=[ALERT, "^POSTPONED: Ascot"]),
    "void after the abandonment": Story(abandonment(), lost(status="Void"), CGB=[ALERT, "^VOID: Ascot"]),
    "run after both": Story(
        *(links, abandonment(), lost(), RUN),
        CGB=["Contradicted | >2", "^CONFLICT: | >1"],
    ),
    "another race of the card": Story(
        *(ALL, card(1), abandonment("rc_2", off_time="15:05"), MARKED),
        CGB=["Superseded", "", "^ABANDONED: Ascot 14:30"],
    ),
    "put back by the card, then lost": Story(
        *(ALL, card(1), abandonment(), MARKED, card(3, "Declared"), card(4, "Abandoned")),
        CGB=["Superseded", "", "Superseded | no longer marked abandoned", "^ABANDONED: Ascot 14:30"],
    ),
    "put back by the card, then lost by the result": Story(
        *(ALL, card(1), abandonment(), MARKED, card(3, "Declared"), lost()),
        CGB=["Superseded", "", "", FROM_RESULT],
    ),
    "run, then lost by the card": Story(
        *(ALL, card(1), abandonment(), RUN, MARKED),
        CGB=["Superseded", "Contradicted", "^CONFLICT", "^ABANDONED: Ascot 14:30"],
    ),
    "without an id": Story(abandonment(None), lost(None), so_far(CGB=[ALERT, FROM_RESULT]), CGB=["", ""]),
}


@rows(STORIES, "all three", "card first")
async def test_loss_rings_once(pipeline, story):
    await play(pipeline, story)

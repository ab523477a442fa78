"""Payloads of a day at a course, and a test's questions to the pipeline: shared by the tests of edits."""

from tests.clock import DAY


def result(race_id="rc_1", *, placings=("Blue Moon", "Red Sky"), **race):
    runners = [{"position": place, "horse": horse} for place, horse in enumerate(placings, start=1)]
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "result.received", "race": race | ({"runners": runners} if runners else {})}


def abandonment(race_id="rc_1", *, reason="frost", **race):
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "race.abandoned", "race": race, "reason": reason}


def meeting(*race_ids, meeting_id="mt_1", reason="frost", **more):
    card = {"meeting_id": meeting_id, "course": "Ascot", "date": DAY, "region": "GB"} | more
    races = [{"race_id": race_id, "title": f"Title {race_id}"} for race_id in race_ids]
    return {"event": "meeting.abandoned", "meeting": card, "reason": reason} | ({"races": races} if races else {})


async def tell_two_in_ireland(pipeline):
    """Two abandonments of one fan-out. Fan-out claims no second message of a channel: a claim of all channels does."""
    for race_id, off in (("rc_i", "14:30"), ("rc_j", "15:00")):
        await pipeline.deliver(abandonment(race_id, region="IRE", course="Cork", off_time=off))
    await pipeline.post_all()


async def tell(pipeline, *payloads):
    """Deliver each payload, and post every message before the next payload."""
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
        await pipeline.post_all()


def shown(message):
    """The text and the blocks of a message."""
    return f"{message.text}\n{message.blocks}"


def edits(slack):
    """The number of edited messages, by the calls."""
    return [call for call in slack.calls if call.method == "chat.update" and call.ok]

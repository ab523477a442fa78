"""In a container whose folders for temporary files can't be written, what was accepted is told all the same."""

import pytest

from tests.acceptance.no_temporary_folder import take_temporary_folders, why_not
from tests.acceptance.payloads import abandoned
from tests.clock import DAY

RACES = 300


def card(note: str) -> dict[str, object]:
    """A racecard of very many races. Its second version changes so many pages that SQLite wants a file for them."""
    races = [
        {
            "race_id": f"rc_of_a_card_{number}",
            "region": "GB",
            "date": DAY,
            "off_time": f"{12 + number // 60}:{number % 60:02}",
            "name": f"Handicap {number} {note}" + " of the very long name" * 20,
            "course": {"course_id": "cr_1", "name": "Ascot"},
        }
        for number in range(RACES)
    ]
    meeting = {"meeting_id": "mt_1", "region": "GB", "date": DAY, "course": {"course_id": "cr_1", "name": "Ascot"}}
    return {"event": "racecard.published", "data": {"meeting": meeting | {"races": races}}}


async def test_abandonment_is_told_where_no_temporary_file_can_be_made(make_world, tmp_path):
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    async with make_world(start=False) as world:
        world.bot.prepare = take_temporary_folders
        await world.bot.start()
        await world.subscribe("CGB", "GB")
        for note in ("first", "second"):
            assert (await world.bot.deliver(card(note))).status_code == 200
        assert (await world.bot.deliver(abandoned())).status_code == 200
        (text,) = await world.wait_for_posts("CGB", 1, timeout_s=60)
        assert text.startswith("ABANDONED")
        assert "unable to open" not in world.bot.log

"""Very many races, walked page by page: memory stays as it is, and each page is a step that can be kept."""

import gc
import json
import tracemalloc
from contextlib import aclosing

import httpx
import pytest
from pydantic import SecretStr

from bot.racedata.client.service_client import RECORDS_PER_PAGE, WalkPosition, open_client
from tests.integration.racedata.backends import KEY

RACES = 100_000
PAGES = RACES // RECORDS_PER_PAGE
PAGES_OF_TWO_MINUTES = 250
"""Of which 240 are one minute's."""
MIB = 1024 * 1024

RUNNERS = [{"number": number, "horse": f"Horse {number}", "jockey": "A. Rider"} for number in range(4)]


def answer(request):
    """A page of RECORDS_PER_PAGE races; the cursor is the number of the page, which the client can't know."""
    number = int(request.url.params.get("cursor", "0"))
    races = [
        {"race_id": f"rc_{number * RECORDS_PER_PAGE + place}", "date": "2020-01-01", "region": "GB", "runners": RUNNERS}
        for place in range(RECORDS_PER_PAGE)
    ]
    more = number + 1 < PAGES
    meta = {"count": RECORDS_PER_PAGE, "has_more": more, "next_cursor": str(number + 1) if more else None}
    headers = {"x-ratelimit-limit": "240"}
    return httpx.Response(200, content=json.dumps({"meta": meta, "data": races}).encode(), headers=headers)


async def walked(fake_time, store, position, pages):
    """The ids of so many pages, the position after them, and the most memory in MiB that was held at a page's end."""
    count, last_id, peaks = 0, "", []
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = open_client("https://api.example.com/v1", SecretStr(KEY), store, http=http, timing=fake_time.timing())
        async with aclosing(client.walk_races(position)) as steps:
            async for step in steps:
                count += len(step.page.data)
                last_id = step.page.data[-1].fields["race_id"]
                position = position.model_copy(update={"cursor": step.resume_at})
                if count // RECORDS_PER_PAGE % 50 == 0:
                    gc.collect()
                    peaks.append(tracemalloc.get_traced_memory()[0] / MIB if tracemalloc.is_tracing() else 0.0)
                if step.is_last or count >= pages * RECORDS_PER_PAGE:
                    break
    return count, last_id, position, peaks


async def test_long_walk_reads_each_race_once_at_the_pace_of_the_limit(fake_time, store):
    races = PAGES_OF_TWO_MINUTES * RECORDS_PER_PAGE
    count, last_id, position, _ = await walked(fake_time, store, WalkPosition(), PAGES_OF_TWO_MINUTES)
    assert (count, last_id, position.cursor) == (races, f"rc_{races - 1}", f"{PAGES_OF_TWO_MINUTES}")
    # 250 pages at 240 a minute: one whole minute is waited for.
    assert 60 <= fake_time.now_s <= 120


async def test_walk_that_is_broken_off_goes_on_from_its_kept_position(fake_time, store):
    count, last_id, position, _ = await walked(fake_time, store, WalkPosition(region="GB"), 10)
    assert (count, last_id, position.cursor) == (10 * RECORDS_PER_PAGE, f"rc_{10 * RECORDS_PER_PAGE - 1}", "10")
    kept = WalkPosition.model_validate_json(position.model_dump_json())
    count, last_id, _, _ = await walked(fake_time, store, kept, 1)
    assert (count, last_id) == (RECORDS_PER_PAGE, f"rc_{11 * RECORDS_PER_PAGE - 1}")


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_walk_of_100_000_races_holds_no_more_than_a_page(fake_time, store):
    tracemalloc.start()
    try:
        *_, held = await walked(fake_time, store, WalkPosition(), PAGES)
        peak = tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()
    assert len(held) == PAGES // 50
    assert held[-1] - held[0] < 0.5, held
    assert peak < 20

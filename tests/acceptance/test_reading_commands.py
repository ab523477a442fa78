"""What can be read: cards, results, lists of the archive; typed and clicked, answered by the real process."""

import json
import re

import pytest

from sandbox.racing_service.switches import Switches
from sandbox.slack.block_rules import NEW_BLOCKS
from tests.acceptance.conftest import settled
from tests.acceptance.payloads import abandoned

CHANNEL = "CGB"


def words(message):
    return json.dumps([message.text, message.blocks], ensure_ascii=False)


def said_day(world):
    today = world.service.racing.today
    return f"{today:%a} {today.day} {today:%b}"


async def answered(answer):
    assert answer.status == 200, answer
    return await settled(answer)


def settle_and_abandon(world):
    """Of a meeting of GB today, on the flat: a race that settles, one that is called off, and those that are open."""
    meetings = world.service.racing.meetings(world.service.racing.today, "GB")
    meeting = next(meeting for meeting in meetings if meeting.races[0].run_type == "Flat")
    settled, lost, still_open = meeting.races[:3]
    world.service.racing.settle(settled)
    world.service.racing.abandon(lost, "Waterlogged")
    return meeting, settled, lost, still_open


async def test_results_tell_what_settled_what_was_abandoned_and_what_is_open(world):
    world.service.set_plan("analyst")
    meeting, settled, lost, _ = settle_and_abandon(world)
    said = await world.say("/results", "GB", channel=CHANNEL)
    winner = min(settled.runners, key=lambda runner: (not runner.position.isdigit(), runner.position.zfill(3)))
    assert meeting.course.name.split(" (")[0] in said
    assert f"1 {winner.horse.split(' (')[0]}" in said
    assert f"{lost.off_time}, Waterlogged" in said
    assert "not known yet" in said
    alone = await world.say("/results", f'GB "{meeting.course.name}" {lost.off_time}', channel=CHANNEL)
    assert f"{lost.off_time}, Waterlogged" in alone
    assert winner.horse.split(" (")[0] not in alone
    only = await world.say("/results", "abandoned today GB", channel=CHANNEL)
    assert "Abandonments: GB" in only
    assert "Waterlogged" in only
    assert winner.horse not in only
    everywhere = await world.say("/results", "", channel=CHANNEL)
    assert f"1 {winner.horse.split(' (')[0]}" in everywhere
    assert re.search(r"1 race abandoned, 1 result in, \d+ not known yet", everywhere)
    assert everywhere.count("not known yet") == 2, "once in the text, and once in the blocks"


async def test_results_tell_of_deliveries_that_no_list_has(world):
    world.service.set_plan("analyst")
    await world.bot.deliver(abandoned("rc_nowhere"))
    await world.bot.deliver(abandoned("rc_adrift", None, course="Far Away"))
    await world.subscribe("CALL", "all")
    while "Far Away" not in (said := await world.say("/results", "GB", channel=CHANNEL)):
        continue
    assert "Nowhere Park 15:05" in said
    assert "region unknown" in said


@pytest.mark.parametrize("refused", [True, False])
async def test_card_of_a_course_has_its_runners_with_or_without_tables(world, refused):
    world.service.set_plan("analyst")
    world.slack.refused_blocks = NEW_BLOCKS if refused else ()
    _, run, _, still_open = settle_and_abandon(world)
    person = world.person()
    day = words(await answered(await person.types("/racecard GB", channel=CHANNEL)))
    assert "🛑 *ABANDONED*" in day
    winner = next(runner.horse for runner in run.runners if runner.position == "1")
    assert re.search(rf"{run.off_time}  won by \*{re.escape(winner.split(' (')[0])}", day)
    card = await answered(await person.types(f"/racecard “{still_open.course.name}”", channel=CHANNEL))
    assert any(block["type"] == "data_table" for block in card.blocks) is not refused
    first = still_open.runners[0]
    assert first.horse.split(" (")[0] in words(card)
    assert (f"draw {first.draw}" in words(card)) is refused


async def test_near_miss_is_a_button_whose_answer_takes_its_place(world):
    world.service.set_plan("analyst")
    person = world.person()
    refused = await answered(await person.types("/racecard gbb today", channel=CHANNEL))
    assert "Did you mean GB?" in refused.text
    card = await answered(await person.clicks("GB", channel=CHANNEL))
    assert card.replace_original
    assert f"Racecard: GB, {said_day(world)}" in words(card)
    assert not any("Did you mean" in message.text for message in person.sees(CHANNEL))


async def test_pages_are_turned_in_place_and_lose_no_course(world):
    person = world.person()
    first = await answered(await person.types("/racing courses", channel=CHANNEL))
    second = await answered(await person.clicks("Page 2 of 3 →", channel=CHANNEL))
    third = await answered(await person.clicks("Page 3 of 3 →", channel=CHANNEL))
    assert second.replace_original
    assert sum(words(page).count("• *") for page in (first, second, third)) == 90
    back = await answered(await person.clicks("← Page 2", channel=CHANNEL))
    assert words(back) == words(second)
    assert len([message for message in person.sees(CHANNEL) if "90 courses" in message.text]) == 1


async def test_cards_of_all_regions_lose_no_meeting_and_each_page_has_number_and_abandonments(world):
    world.service.set_plan("analyst")
    _, _, lost, _ = settle_and_abandon(world)
    person = world.person()
    pages = [await answered(await person.types("/racecard all today", channel=CHANNEL))]
    while "→" in words(pages[-1]):
        (label,) = re.findall(r"Page \d+ of \d+ →", words(pages[-1]))
        pages.append(await answered(await person.clicks(label, channel=CHANNEL)))
    assert len(pages) > 1
    for number, page in enumerate(pages, 1):
        assert page.text.startswith(f"Racecard: all regions, {said_day(world)} (page {number} of {len(pages)}): ")
        assert re.search(rf"ABANDONED: [^;]* \(GB\) {lost.off_time}, Waterlogged", page.text)
        assert re.search(rf"🛑 \*ABANDONED\*\\n[^\\]* \(GB\) {lost.off_time}, Waterlogged", words(page))
    shown = "".join(map(words, pages))
    for meeting in world.service.racing.meetings(world.service.racing.today):
        assert meeting.course.name in shown


async def test_archive_is_listed_as_it_is_published(world):
    said = await world.say("/racing", "coverage ITY", channel=CHANNEL)
    assert "no full finishing order (61.2% of runners have a recorded position)" in said
    assert "Placed horses only before 2020" in said
    found = await world.say("/racing", "courses  kempton", channel=CHANNEL)
    assert "Kempton (AW)" in found
    assert "GB" in found
    refused = await answered(await world.person().types("/racing courses Kemptn", channel=CHANNEL))
    assert "Did you mean Kempton" in refused.text


async def test_progress_is_said_once_and_the_answer_follows_it(make_world):
    async with make_world(switches=Switches(allow_http_loopback=True, slow_s=4.5)) as world:
        world.service.set_plan("analyst")
        world.service.fail_next("/races/search", "slow")
        person = world.person()
        answer = await person.types("/racecard GB", channel=CHANNEL)
        await answer.responses(2)
        progress, card = (message.text for message in person.sees(CHANNEL))
        assert "Reading the data service's list of GB" in progress
        assert progress.endswith("; the answer follows.")
        assert "Racecard: GB" in card


async def test_progress_of_a_button_in_place_is_replaced_by_the_answer(make_world):
    async with make_world(switches=Switches(allow_http_loopback=True, slow_s=4.5)) as world:
        world.service.set_plan("analyst")
        person = world.person()
        await answered(await person.types("/racecard gbb today", channel=CHANNEL))
        world.service.fail_next("/races/search", "slow")
        answer = await person.clicks("GB", channel=CHANNEL)
        progress, _ = await answer.responses(2)
        assert progress.text.endswith("The answer comes here.")
        (card,) = (message.text for message in person.sees(CHANNEL))
        assert "Racecard: GB" in card


@pytest.mark.long
async def test_slow_service_leaves_no_card_without_an_answer(make_world):
    async with make_world(switches=Switches(allow_http_loopback=True, slow_s=120)) as world:
        world.service.set_plan("analyst")
        await world.bot.deliver(abandoned("rc_9"))
        world.service.fail_next("/races/search", "slow", times=50)
        answer = await world.person().types("/results GB", channel=CHANNEL)
        told = await answered(answer)
        assert "Nowhere Park" in told.text
        assert "This may not be all. The data service did not answer." in words(told)

"""Lines of `unsubscribe` in plain English: what ends, and what is asked about because too much would end."""

import pytest

from bot.errors import CommandError
from tests.unit.commands.town import BOTH


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("from GB", [f"{BOTH} from IRE"]),
        ("the UK", [f"{BOTH} from IRE"]),
        ("GB and Ireland", []),
        ("all results", ["abandonments from GB, without York", "abandonments from IRE"]),
        ("all results from Ireland", [f"{BOTH} from GB, without York", "abandonments from IRE"]),
        ("the results", ["abandonments from GB, without York", "abandonments from IRE"]),
        ("GB -course:York", [f"{BOTH} from GB", f"{BOTH} from IRE"]),
    ],
)
async def test_unsubscribing_in_plain_english(town, typed, receives):
    here = await town.here("subscribe GB except York", "subscribe IRE")
    await town.types(here, f"unsubscribe {typed}")
    assert await town.receives(here) == receives


@pytest.mark.parametrize(
    ("typed", "told", "buttons"),
    [
        ("all except GB", "I can't end all but something", {"End IRE": "unsubscribe IRE"}),
        ("GB except results", "I can't end all but something", {}),
        ("GB no results", "I can't end all but something", {}),
        ("Germany", "no subscription to Germany", {}),
        ("GB tomorrow", "has no day", {"Without the day": "unsubscribe GB"}),
        (
            "Ffos Las",
            "names the course Ffos Las",
            {"Leave out Ffos Las of GB": 'subscribe GB -course:"Ffos Las"'},
        ),
    ],
)
async def test_what_would_end_too_much_is_refused(town, typed, told, buttons):
    here = await town.here("subscribe GB except York", "subscribe IRE")
    error = await town.refused(here, f"unsubscribe {typed}")
    assert told in str(error)
    assert error.lines == buttons


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("York entirely", [f"{BOTH} from GB, only Ffos Las", f"{BOTH} from IRE"]),
        ("abandonments entirely", ["results from GB, only York and Ffos Las", f"{BOTH} from IRE"]),
    ],
)
async def test_topic_of_a_course_alone_can_not_be_ended_and_both_wholes_are_offered(town, typed, receives):
    here = await town.here("subscribe GB York, Ffos Las", "subscribe IRE")
    for line in ("GB abandonments York", "abandonments for York from GB", "GB York abandonments"):
        error = await town.refused(here, f"unsubscribe {line}")
        assert "abandonments of York alone can't be ended" in str(error)
        assert set(error.lines) == {"York entirely", "abandonments entirely"}
        with pytest.raises(CommandError):
            await town.types(here, f"unsubscribe {line}")
    await town.types(here, error.lines[typed])
    assert await town.receives(here) == receives


async def test_topic_of_a_course_that_no_subscription_names_offers_to_leave_the_course_out(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "unsubscribe GB abandonments York")
    assert error.lines == {
        "abandonments entirely": "unsubscribe GB abandonments",
        "Leave out York": "subscribe GB -course:York",
    }
    left_out = await town.here("subscribe GB except York")
    error = await town.refused(left_out, "unsubscribe GB abandonments -course:York")
    await town.types(left_out, error.lines["York is no longer left out"])
    assert await town.receives(left_out) == [f"{BOTH} from GB"]


async def test_course_that_is_left_out_already_is_offered_to_be_taken_back(town):
    here = await town.here("subscribe GB racecards except York")
    error = await town.refused(here, "unsubscribe york")
    assert str(error) == "York is already left out."
    await town.types(here, error.lines["Take York back in"])
    assert await town.receives(here) == ["racecards from GB"]


async def test_course_of_another_region_is_never_subscribed_by_a_button_of_unsubscribe(town):
    error = await town.refused(await town.here("subscribe GB"), "unsubscribe Curragh")
    assert error.lines == {}


async def test_course_of_all_regions_is_offered_to_be_left_out(town):
    here = await town.here("subscribe all")
    error = await town.refused(here, "unsubscribe York")
    await town.types(here, error.lines["Leave out York"])
    assert await town.receives(here) == [f"{BOTH} from all regions, without York"]


async def test_course_of_a_whole_region_is_offered_to_be_left_out(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "unsubscribe York")
    await town.types(here, error.lines["Leave out York"])
    assert await town.receives(here) == [f"{BOTH} from GB, without York"]

"""Lines in plain English while no list of the data service is known."""

import pytest
from sqlalchemy import delete

from bot.db.tables import StoredState
from bot.errors import CommandError
from tests.unit.commands.town import BOTH


@pytest.mark.parametrize(
    ("typed", "buttons"),
    [
        (
            "GB no results for Ascot",
            ["GB abandonments", "GB results abandonments -course:Ascot", "GB abandonments course:Ascot"],
        ),
        ("GB results and IRE", ["GB results", "IRE", "GB IRE results"]),
        ("all abandonments, GB results", ["all abandonments", "GB results", "GB results abandonments"]),
    ],
)
async def test_without_lists_a_line_of_several_readings_is_refused_too(town, typed, buttons):
    await town.desk.database.write(lambda session: session.execute(delete(StoredState)).rowcount)
    here = await town.here()
    error = await town.refused(here, f"subscribe {typed}")
    assert [line.removeprefix("subscribe ") for line in error.lines.values()] == buttons
    assert await town.receives(here) == []


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("for GB", [f"{BOTH} from GB"]),
        ("GB and IRE results only", ["results from GB", "results from IRE"]),
        ("GB except Ascot", [f"{BOTH} from GB, without Ascot"]),
        ("USA no results", ["abandonments from USA"]),
        ("Ireland", []),
        ("the UK", []),
    ],
)
async def test_without_lists_joining_words_are_understood_and_countries_are_refused(town, typed, receives):
    await town.desk.database.write(lambda session: session.execute(delete(StoredState)).rowcount)
    here = await town.here()
    if receives:
        assert (await town.types(here, f"subscribe {typed}")).unchecked
    else:
        with pytest.raises(CommandError, match="is away, so I can't look up its code"):
            await town.types(here, f"subscribe {typed}")
    assert await town.receives(here) == receives

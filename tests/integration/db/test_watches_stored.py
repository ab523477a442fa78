"""The names that are watched, and what the race book says of a name, on both engines."""

from datetime import date
from functools import partial

from bot.channels import watches
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.races import Race, Runner
from bot.racedata import race_book_store
from bot.racedata.declared_names import look_up
from tests.clock import START as NOW
from tests.databases import on_both

GOLDEN = WatchedName(WatchKind.HORSE, "Golden Melody")
MOORE = WatchedName(WatchKind.JOCKEY, "R Moore")


@on_both
async def test_race_book_says_where_a_name_runs_and_which_names_are_alike(database):
    runners = (Runner(horse="Golden Melody (IRE)", jockey="R Moore"),)
    race = Race(race_id="rc_1", race_date="2026-11-21", region="GB", runners=runners)
    races = [race, race.model_copy(update={"race_id": "rc_0", "race_date": "2026-11-19"})]
    await database.write(lambda session: race_book_store.put(session, races, NOW))
    misspelt = WatchedName(WatchKind.HORSE, "Goldn Melody")
    wanted = [GOLDEN, MOORE, misspelt]
    found = await database.read(lambda session: look_up(session, wanted, date(2026, 11, 20)))
    assert [race.race_id for race, _ in found[GOLDEN].coming] == ["rc_1"]
    assert [race.race_id for race, _ in found[MOORE].coming] == ["rc_1"]
    assert (found[misspelt].is_known, found[misspelt].near) == (False, ("Golden Melody (IRE)",))


@on_both
async def test_person_has_one_place_and_each_name_once(database):
    def change(session):
        add = partial(watches.add, session, user_id="U1", now=NOW, person_id="U1")
        assert watches.direct_message_of(session, "U1") == "U1"
        assert add("U1", names=[GOLDEN, MOORE]) == [GOLDEN, MOORE]
        watches.move_person(session, "U1", "D1")
        again = [WatchedName(WatchKind.HORSE, "golden melody")]
        assert add(watches.direct_message_of(session, "U1"), names=again) == []
        assert {row.channel_id for row in watches.of_person(session, "U1")} == {"D1"}
        assert watches.of_channel(session, "D1") == []
        return [(row.id, row.name) for row in watches.of_person(session, "U1")]

    for number, name in await database.write(change):
        found = await database.read(partial(watches.find, number=number))
        assert found.name == name

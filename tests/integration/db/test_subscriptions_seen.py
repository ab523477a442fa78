"""Stored subscriptions, changes, watches and races, as people see the rows. On both engines."""

from datetime import UTC, date, datetime, timedelta
from functools import partial

from bot.channels import audit_log, subscriptions, watches
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.channels.watches import WatchedName
from bot.db.tables import AuditEntry, SubscriptionState, WatchKind
from bot.deliveries import inbox
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race, Runner
from bot.racedata import race_book_store
from bot.racedata.day_views import look_up, recent
from tests.databases import on_both, store_told

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TODAY = date(2026, 11, 20)
GB = ChannelFilter(region="GB", topics=frozenset(Topic))


def change(session, number, channel_id="C1", user_id="U1", before=None):
    entry = AuditEntry(
        at=NOW + timedelta(seconds=number),
        user_id=user_id,
        channel_id=channel_id,
        action="subscribe",
        before=before,
        after=f"after {number}",
        reference=f"cmd-{number}",
    )
    audit_log.add(session, entry)


@on_both
async def test_audit_has_every_change_newest_first_in_pages(database):
    def write(session):
        for number in range(40):
            change(session, number, channel_id="C1" if number % 2 else "C2", user_id="U1" if number < 30 else "U2")
        change(session, 99, before="after 99")

    await database.write(write)

    def read(session):
        return (
            audit_log.page(session),
            audit_log.page(session, channel_id="C1"),
            audit_log.page(session, user_id="U2"),
            audit_log.page(session, number=99),
            audit_log.last_of_channel(session, "C2"),
            audit_log.last_of_channel(session, "C3"),
        )

    every, channel, person, beyond, last, none = await database.read(read)
    assert (every.total, every.pages, every.entries[0].after) == (40, 3, "after 39")
    assert (channel.total, {entry.channel_id for entry in channel.entries}) == (20, {"C1"})
    assert (person.total, {entry.user_id for entry in person.entries}) == (10, {"U2"})
    assert (beyond.number, len(beyond.entries)) == (3, 10)
    assert last.after == "after 38"
    assert none is None


def event(kind, race_id, day="2026-11-20", region="GB", course="Ascot", **more):
    race = Race(race_id=race_id, region=region, race_date=day, course=Course(name=course))
    return RacingEvent(key=f"{kind}:{race_id}", kind=kind, race=race, **more)


async def lately(database, *filters):
    return await database.read(lambda session: recent(session, filters, NOW, inbox.first_received_at(session)))


@on_both
async def test_recent_counts_deliveries_and_book_once_and_names_today(database):
    lost = event(EventKind.MEETING_ABANDONED, None, races=(Race(race_id="rc_5"),))

    def write(session):
        store_told(
            session,
            event(EventKind.RESULT_RECEIVED, "rc_1"),
            event(EventKind.RESULT_RECEIVED, "rc_2", day="2026-11-14"),
            event(EventKind.RESULT_RECEIVED, "rc_too_old", day="2026-11-13"),
            event(EventKind.RESULT_RECEIVED, "rc_elsewhere", region="IRE"),
            event(EventKind.RACE_ABANDONED, "rc_4", course="York"),
            lost.model_copy(update={"key": "meeting.abandoned:meeting=mt_1"}),
            received_at=NOW - timedelta(days=7),
        )
        ascot = Course(name="Ascot")
        runners = (Runner(horse="Blue Moon", position="1"),)
        book = [
            Race(race_id="rc_1", region="GB", race_date="2026-11-20", runners=runners),
            Race(race_id="rc_3", region="GB", race_date="2026-11-19", runners=runners),
            Race(race_id="rc_5", region="GB", race_date="2026-11-20", abandoned=True, course=ascot),
            Race(race_id="rc_6", region="GB", race_date="2026-11-19", abandoned=True, course=ascot),
            Race(race_id="rc_7", region="GB", race_date="2026-11-20"),
        ]
        race_book_store.put(session, book, NOW, region="GB")

    await database.write(write)
    found = await lately(database, GB)
    assert (found.results, found.abandonments, found.is_whole) == (3, 3, True)
    assert sorted(one.race.course.name for one in found.abandoned) == ["Ascot", "York"]
    everywhere = await lately(database, GB, GB.model_copy(update={"region": ALL_REGIONS}))
    assert everywhere.results == 4
    only_york = await lately(database, GB.model_copy(update={"courses": (Course(name="York"),)}))
    assert [one.race.course.name for one in only_york.abandoned] == ["York"]


@on_both
async def test_recent_of_a_bot_that_has_heard_nothing_knows_nothing(database):
    found = await lately(database, GB)
    assert (found.results, found.abandonments, found.is_whole, found.abandoned) == (0, 0, False, ())


@on_both
async def test_subscriptions_to_other_regions_are_found_and_moved(database):
    def move(session):
        for region in ("gb", "IRE", "*"):
            chosen = GB.model_copy(update={"region": region})
            subscriptions.save(session, "C1", chosen, user_id="U1", now=NOW)
        for row in subscriptions.to_be_checked(session, ["GB", "IRE"]):
            moved = subscriptions.read_filter(row).model_copy(update={"region": "GB"})
            subscriptions.put_filter(session, row, moved, NOW)

    await database.write(move)
    found = await database.read(subscriptions.listening)
    assert sorted(chosen.region for _, chosen in found) == ["*", "GB", "IRE"]
    assert await database.read(lambda session: subscriptions.to_be_checked(session, ["GB", "IRE"])) == []


@on_both
async def test_unchecked_subscriptions_are_found_whatever_their_region(database):
    assert await database.read(subscriptions.has_unchecked) is False

    def save(session):
        for channel_id, since in (("C1", NOW), ("C2", None), ("C3", NOW)):
            chosen = GB.model_copy(update={"unchecked_since": since})
            subscriptions.save(session, channel_id, chosen, user_id="U1", now=NOW)
        subscriptions.set_state(session, "C3", SubscriptionState.WAITING, NOW)

    await database.write(save)
    assert await database.read(subscriptions.has_unchecked) is True
    live = await database.read(lambda session: subscriptions.to_be_checked(session, ["GB"]))
    waiting = await database.read(subscriptions.unchecked_and_waiting)
    assert ([row.channel_id for row in live], [row.channel_id for row in waiting]) == (["C1"], ["C3"])


# The watched names, and the race book's words on a name


GOLDEN = WatchedName(WatchKind.HORSE, "Golden Melody")
MOORE = WatchedName(WatchKind.JOCKEY, "R Moore")


@on_both
async def test_race_book_says_where_a_name_runs_and_which_names_are_alike(database):
    runners = (Runner(horse="Golden Melody (IRE)", jockey="R Moore"),)
    race = Race(race_id="rc_1", race_date="2026-11-21", region="GB", runners=runners)
    races = [race, race.model_copy(update={"race_id": "rc_0", "race_date": "2026-11-19"})]
    # A date as published, of no day, is never past.
    races.append(race.model_copy(update={"race_id": "rc_2", "race_date": "Tuesday"}))
    await database.write(lambda session: race_book_store.put(session, races, NOW))
    misspelt = WatchedName(WatchKind.HORSE, "Goldn Melody")
    wanted = [GOLDEN, MOORE, misspelt]
    found = await database.read(lambda session: look_up(session, wanted, date(2026, 11, 20)))
    assert [race.race_id for race, _ in found[GOLDEN].coming] == ["rc_1", "rc_2"]
    assert [race.race_id for race, _ in found[MOORE].coming] == ["rc_1", "rc_2"]
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

    await database.write(change)

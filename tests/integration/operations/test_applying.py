"""A file of subscriptions against real databases: what changes, together or not at all, and what is written down."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import Session

from bot.channels import audit_log, channel_lock, subscriptions, watches
from bot.cli.subscriptions_command import Applying, checked, difference, run_apply, told
from bot.db import engine
from bot.db.tables import SubscriptionState
from bot.errors import LockTaken, ShellCommandFailed, StorageUnavailable, SubscriptionFileWrong
from bot.events.event import Topic
from bot.events.races import Course
from bot.operations.subscription_file import as_data, as_yaml, read
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.lexicon import Lexicon
from tests.answering import answering
from tests.databases import on_both, on_postgresql
from tests.integration.pipeline.steps import fan_out, pause
from tests.unit.pages import settings

LISTS = Lexicon(
    ("GB", "IRE", "NO"),
    (
        KnownCourse(course_id="cr_1", name="Ascot", region="GB", country="England"),
        KnownCourse(course_id="cr_3", name="York", region="GB"),
    ),
    (KnownCountry(country_code="IRE", name="Ireland"),),
    ("Class 1", "Class 4", "Group 2"),
)
ASCOT = Course(course_id="cr_1", name="Ascot", country="England")
WHO = "operator jo"


def make(pipeline, member: bool | None = True) -> Applying:
    chosen: Any = SimpleNamespace(announce_changes=True)
    return Applying(pipeline.database, chosen, pipeline.clock, WHO, answering(member), reference="apply-1")


async def every(pipeline):
    return await pipeline.database.read(subscriptions.every)


async def regions(pipeline):
    return sorted((channel_id, chosen.region) for channel_id, chosen in await every(pipeline))


async def rows(pipeline, channel_id):
    return await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))


async def checked_file(pipeline, text):
    return checked(read(text), await every(pipeline), LISTS, pipeline.clock())


async def apply(pipeline, text, **more):
    applying = make(pipeline, **more)
    wanted, _ = await checked_file(pipeline, text)
    shown = await shown_of(pipeline, wanted)
    await applying.carry_out(wanted, shown)
    return told(shown)


async def shown_of(pipeline, wanted):
    return await pipeline.database.read(lambda session: difference(session, wanted))


def file(**channels):
    return f"version: 1\nchannels: {{{', '.join(f'{name}: [{some}]' for name, some in channels.items())}}}\n"


NOTHING = "version: 1\nchannels: {}"
GB = "{region: GB, topics: [results, abandonments]}"
IRE = "{region: IRE, topics: [racecards]}"


async def test_export_that_is_applied_changes_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB", courses=(ASCOT, Course(name="Ascto")), mentions=("here",))
    await pipeline.subscribe("CALL", "*", not_courses=(Course(course_id="cr_9"),))
    await pipeline.subscribe("CIRE", "NO")
    await pause(pipeline, "CGB", pipeline.clock() + timedelta(days=1))
    wanted, warnings = await checked_file(pipeline, as_yaml(as_data(await every(pipeline))))
    assert (await shown_of(pipeline, wanted), warnings) == ([], [])


async def test_difference_is_made_and_written_down(pipeline):
    await pipeline.subscribe("CGB", "GB", topics=frozenset({Topic.RESULTS}))
    await pipeline.subscribe("CALL", "*")
    await pipeline.subscribe("CALL", "GB")
    told = await apply(pipeline, file(CGB=f"{GB}, {IRE}", CALL=GB))
    assert told.splitlines() == [
        "CALL",
        "  - results and abandonments from all regions",
        "CGB",
        "  - results from GB",
        "  + results and abandonments from GB",
        "  + racecards from IRE",
        "1 new, 1 changed, 1 ended",
    ]
    assert await regions(pipeline) == [("CALL", "GB"), ("CGB", "GB"), ("CGB", "IRE")]
    kept, made = await rows(pipeline, "CGB")
    assert (kept.created_by, made.created_by) == ("UALICE", WHO)
    page = await pipeline.database.read(audit_log.page)
    changed = {(one.channel_id, one.user_id, one.action, one.reference) for one in page.entries}
    assert changed == {(channel_id, WHO, "apply", "apply-1") for channel_id in ("CGB", "CALL")}
    await pipeline.post_all()
    assert pipeline.texts("CALL")[0].startswith("operator jo ended")
    assert pipeline.texts("CGB") == []


@on_both
async def test_watches_of_the_file_are_made_and_others_ended(pipeline):
    await apply(pipeline, NOTHING + "\nwatches: {CGB: {horse: [Golden Melody], jockey: [R. Moore]}}")
    assert await apply(pipeline, NOTHING) == "", "the file says nothing of watches"
    told = await apply(pipeline, NOTHING + "\nwatches: {CGB: {horse: [GOLDEN MELODY], trainer: [A. Smith]}}")
    assert told.splitlines() == ["CGB", "  - watches jockey R. Moore", "  + watches trainer A. Smith"]
    left = await pipeline.database.read(watches.of_channels)
    assert {name.name for _, name in left} == {"Golden Melody", "A. Smith"}
    page = await pipeline.database.read(audit_log.page)
    assert [one.action for one in page.entries].count("watch") == 3
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_channels_that_lose_something_are_all_told(pipeline):
    for channel_id in ("CGB", "CIRE"):
        await pipeline.subscribe(channel_id, "GB")
    await apply(pipeline, NOTHING)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == len(pipeline.texts("CIRE")) == 1


@on_both
async def test_change_of_somebody_else_since_the_showing_refuses_everything(gb):
    applying = make(gb)
    wanted, _ = await checked_file(gb, file(CIRE=IRE))
    shown = await shown_of(gb, wanted)
    await gb.subscribe("CALL", "*")
    before = await every(gb)
    with pytest.raises(ShellCommandFailed, match="nothing was changed"):
        await applying.carry_out(wanted, shown)
    assert await every(gb) == before
    assert (await gb.database.read(audit_log.page)).total == 0


async def test_failure_in_the_middle_changes_nothing(gb, monkeypatch):
    remove = subscriptions.remove

    def fail(session, channel_id, *rest):
        if channel_id == "CIRE":
            raise StorageUnavailable("the disk is full")
        return remove(session, channel_id, *rest)

    monkeypatch.setattr(subscriptions, "remove", fail)
    with pytest.raises(StorageUnavailable):
        await apply(gb, file(CALL=GB, CIRE=IRE))
    assert await regions(gb) == [("CGB", "GB")]


async def test_running_bot_takes_the_new_subscriptions_at_once(gb):
    told = []
    for number in range(2):
        race = {"race_id": f"rc_{number}", "region": "GB", "course": "Ascot"}
        await gb.deliver({"event": "race.abandoned", "race": race})
        await gb.post_all()
        told.append([len(gb.texts(channel_id)) for channel_id in ("CGB", "CALL")])
        await apply(gb, file(CALL=GB))
        await gb.post_all()
    # With the notice of the change in CGB.
    assert (told, len(gb.texts("CGB"))) == ([[1, 0], [2, 1]], 2)


async def test_paused_channel_stays_paused_and_what_waits_goes_with_its_last_subscription(gb):
    await pause(gb, "CGB")
    await apply(gb, file(CGB=f"{GB}, {IRE}"))
    assert {row.state for row in await rows(gb, "CGB")} == {SubscriptionState.PAUSED}
    await fan_out(gb, {"event": "race.abandoned", "race": {"race_id": "rc_1", "region": "GB"}})
    assert await gb.waiting() == {"queued": 1}
    await apply(gb, NOTHING)
    await gb.post_all()
    (told,) = gb.texts("CGB")
    assert told.startswith("operator jo ended")


@pytest.mark.parametrize(
    ("member", "state"),
    [(True, SubscriptionState.LIVE), (None, SubscriptionState.LIVE), (False, SubscriptionState.WAITING)],
)
async def test_new_subscription_without_the_bot_waits_for_the_invitation(pipeline, member, state):
    await apply(pipeline, file(CNEW=GB), member=member)
    (row,) = await rows(pipeline, "CNEW")
    assert row.state == state


async def test_names_become_published_ones_and_wrong_words_are_warned_of(pipeline):
    text = """version: 1
channels:
  CGB:
  - {region: gb, topics: [results], only: [ascot, York, Yrk, {id: cr_1}, {id: cr_8}]}
  - {region: Ireland, topics: [results]}
  - {region: XX, topics: [results]}
"""
    wanted, warnings = await checked_file(pipeline, text)
    assert [one.partition(" is not")[0] for one in warnings] == [
        "CGB, gb: The course Yrk",
        "CGB, gb: The course cr_8",
        "CGB, XX: The region XX",
    ]
    assert 'Did you mean "York"?' in warnings[0]
    york = Course(course_id="cr_3", name="York")
    filters = [chosen for _, chosen in wanted.subscriptions]
    assert filters[0].courses == (ASCOT, york, Course(name="Yrk"), ASCOT, Course(course_id="cr_8"))
    found = [(one.region, one.unchecked_since is not None) for one in filters]
    assert found == [("GB", True), ("IRE", False), ("XX", True)]


async def test_without_lists_words_are_kept_and_checked_later(pipeline):
    text = file(CGB="{region: gb, topics: [results], only: [Ascot]}")
    wanted, warnings = checked(read(text), [], Lexicon(), pipeline.clock())
    ((_, one),) = wanted.subscriptions
    assert (one.region, one.courses) == ("gb", (Course(name="Ascot"),))
    assert [told.partition(": ")[2] for told in warnings] == [
        "The region gb could not be checked: no list of regions is known. The bot checks the name later.",
        "The course Ascot could not be checked: no list of courses is known. The bot checks the name later.",
    ]
    assert one.unchecked_since is not None


async def test_race_class_that_the_service_does_not_list_is_refused(pipeline):
    text = file(CGB="{region: GB, topics: [results], classes: [class4, Gruop 2, group 2, G2, Class 9, Open]}")
    with pytest.raises(SubscriptionFileWrong) as refused:
        await checked_file(pipeline, text)
    first, second, third = refused.value.problems
    assert (first.count("Gruop 2"), first.count('Did you mean "Group 2"?')) == (1, 1)
    assert "Class 9" in second
    assert ("Open" in third, "Listed are Class 1" in third) == (True, True)
    stored = read(text)
    await pipeline.database.write(
        lambda session: subscriptions.save(session, *stored.subscriptions[0], user_id="U1", now=pipeline.clock())
    )
    wanted, warnings = await checked_file(pipeline, text)
    assert (wanted, warnings) == (stored, [])


async def test_two_spellings_of_a_region_are_refused(pipeline):
    with pytest.raises(SubscriptionFileWrong, match="CGB: the region GB stands twice"):
        await checked_file(pipeline, file(CGB="{region: gb, topics: [results]}, {region: GB, topics: [racecards]}"))


async def test_unchecked_filter_stays_unchecked_since_its_beginning(pipeline):
    since = pipeline.clock() - timedelta(hours=1)
    await pipeline.subscribe("CGB", "GB", unchecked_since=since)
    await apply(pipeline, file(CGB="{region: GB, topics: [racecards]}"))
    ((_, chosen),) = await every(pipeline)
    assert (chosen.topics, chosen.unchecked_since) == ({Topic.RACECARDS}, since)


@on_postgresql
async def test_channel_that_another_replica_changes_is_left_alone(pipeline, monkeypatch):
    monkeypatch.setattr(engine, "LOCK_PATIENCE_S", 0.0)
    await pipeline.subscribe("CGB", "GB")
    with Session(pipeline.database._reader) as other:
        channel_lock.take(other, "CGB")
        with pytest.raises(LockTaken):
            await apply(pipeline, file(CGB=IRE, CALL=GB))
    assert await regions(pipeline) == [("CGB", "GB")]
    await apply(pipeline, file(CGB=IRE))
    assert await regions(pipeline) == [("CGB", "IRE")]


async def test_difference_is_shown_before_the_question_and_a_no_changes_nothing(gb):
    of_bot = settings(database_url=str(gb.database.url))
    said: list[str] = []

    def no():
        said.append("asked")
        return False

    with pytest.raises(ShellCommandFailed):
        await run_apply(of_bot, file(CIRE=IRE), show=said.append, warn=lambda _: None, agree=no)
    assert said[0].endswith("1 new, 1 ended")
    assert said[1:] == ["asked"]
    assert await regions(gb) == [("CGB", "GB")]

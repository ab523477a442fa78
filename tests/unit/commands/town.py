"""A town of people who type, click and fill in forms, with the kept lists of the data service, and a day's racing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

from sqlmodel import SQLModel

from bot.channels import subscriptions
from bot.errors import CommandError, SlackUnreached
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.held_channels import Reopening
from bot.racedata import lexicon as rows
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.client.service_errors import ServiceUnreachable
from bot.racedata.day_card import Card, Coverage, outcomes_of
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_book import ReferenceBook
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.present_subscriptions import UNSUBSCRIBE_COMMAND
from bot.slack.commands.subscribe import FORM_SUBMITTED, SUBSCRIBE_COMMAND
from bot.slack.commands.table import find_command, unknown_command
from bot.slack.listeners.command_runner import with_working_offers
from bot.slack.messages.answers.filter_words import describe
from bot.slack.subscribe_form import FormOf, read_form, subscribe_form
from bot.slack.workspace import Person
from sandbox.slack import modals
from tests.answering import answering

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""A Friday."""

REGIONS = ["AUS", "FR", "GB", "HK", "IRE", "NO", "New South Wales", "SA", "ST", "USA"]
NAMES = {"GB": "Great Britain", "IRE": "Ireland", "HK": "Hong Kong", "NO": "Norway", "SWE": "Sweden"}
COUNTRIES = [KnownCountry(country_code=code, name=name) for code, name in NAMES.items()]
COURSES = [
    KnownCourse(course_id=f"cr_{number}", name=name, region=region, shortcode=shortcode, country=country)
    for number, (name, region, shortcode, country) in enumerate(
        [
            ("Ascot", "GB", "ASC", None),
            ("Ascot", "AUS", None, "Western Australia"),
            ("Bath", "GB", None, None),
            ("Ffos Las", "GB", None, "Wales"),
            ("Curragh", "IRE", None, None),
            ("Goodwood", "GB", None, None),
            ("York", "GB", "YOR", None),
            ("Clonmel and Powerstown", "IRE", "AND", None),
            ("Belmont at the Big A", "USA", None, None),
            ("Øvrevoll", "NO", None, None),
            ("No Man's Land", "NO", None, None),
            ("Newcastle", "GB", "NCS", None),
            ("Newcastle", "AUS", None, None),
            ("Dundalk (AW)", "IRE", None, None),
            ("Ascot Heath", "AUS", None, None),
            ("Fairyhouse's End", "IRE", None, None),
            ("Wolverhampton (AW)", "GB", None, None),
            ("Royal Randwick", "New South Wales", None, None),
        ],
        start=1,
    )
]
BATH, FFOS_LAS = (Course(course_id=one.course_id, name=one.name, country=one.country) for one in COURSES[2:4])


class ReadOnce:
    """The database of the lists, never changed: each list is read once for a desk."""

    def __init__(self, database):
        self._database = database
        self._read = {}

    async def read(self, work):
        if work not in self._read:
            self._read[work] = await self._database.read(work)
        return self._read[work]


class Away:
    """The data service without an answer."""

    def for_upkeep(self):
        return self

    async def fails(self, *_asked, **_more):
        raise ServiceUnreachable("reference", message="silent", may_have_arrived=True)

    reference = courses = countries = fails


allow = answering()


async def unreached(method, *_args, **_more):
    """The tests ignore whether the bot is in the channel."""
    raise SlackUnreached(method, "no_connection")


no_meetings = answering(SimpleNamespace(meetings=()))
in_paris = answering(Person(zone="Europe/Paris"))


async def make_desk(database, *, regions: Sequence[str] = REGIONS, courses: Sequence[KnownCourse] = COURSES) -> Any:
    """A desk with just read lists; without regions no list has ever come."""
    away: Any = Away()
    lists: Any = ReadOnce(database)

    def keep(session):
        rows.REGIONS.put(session, regions, NOW)
        rows.COUNTRIES.put(session, COUNTRIES, NOW)
        if courses:
            rows.COURSES.put(session, courses, NOW)

    if regions and not await database.read(rows.REGIONS.kept):
        await database.write(keep)
    return SimpleNamespace(
        settings=SimpleNamespace(announce_changes=True, queue_keep_hours=72),
        wake=asyncio.Event(),
        database=database,
        reference=ReferenceBook(lists, away, lambda: NOW),
        people=SimpleNamespace(check_may_change=allow, person=in_paris),
        races=SimpleNamespace(known=no_meetings),
        slack=SimpleNamespace(call=unreached),
        reopening=Reopening(lambda _backlog: []),
        clock=lambda: NOW,
    )


async def refusal(desk, invocation, line):
    """Why the bot refuses a line, or None."""
    command, text = find_command(line)
    if command is None:
        return unknown_command(text)
    try:
        await command.would_change(desk, replace(invocation, text=text))
    except CommandError as error:
        return error
    return None


def typed(words="", **changes):
    """An invocation in the only channel of a test."""
    return Invocation(
        **{"text": words, "channel_id": "C1", "user_id": "U1", "reference": "cmd-1", "trigger_id": "1.2"} | changes
    )


def copy_rows(database, channel_id, to):
    """Copy a channel's rows to a new channel. Typing the lines again takes ten times as long."""
    with database.writer.begin() as connection:
        for name, table in SQLModel.metadata.tables.items():
            if "channel_id" in table.c and name != "message":
                names = ", ".join(one.name for one in table.c if one.name not in {"id", "channel_id"})
                connection.exec_driver_sql(
                    f"INSERT INTO {name} (channel_id, {names}) SELECT ?, {names} FROM {name} WHERE channel_id = ?",
                    (to, channel_id),
                )


@dataclass
class Town:
    """People who type and click, each time in a channel of its own."""

    desk: Any
    numbers: Any = field(default_factory=count)
    kept: dict[tuple[str, ...], Invocation] = field(default_factory=dict)
    """Typed lines → a channel after these lines, kept for the next test of a line."""
    first: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Typed lines → the first channel after these lines, whose rows the other channels get."""
    pressed: set[tuple[str, ...]] = field(default_factory=set)

    async def here(self, *lines):
        """A new channel after typed lines."""
        if lines and lines not in self.first:
            first = await self.here()
            for line in lines:
                await self.types(first, line)
            self.first[lines] = first.channel_id
        here = Invocation("", f"C{next(self.numbers)}", "U1", "cmd-1")
        if lines:
            copy_rows(self.desk.database, self.first[lines], here.channel_id)
        return here

    async def types(self, here, line):
        """Carry out a line that changes something; of any other line, read the words."""
        command, text = find_command(line)
        assert command is not None
        invocation = Invocation(text, here.channel_id, here.user_id, here.reference)
        if command.is_a_change:
            return await command.commit(self.desk, invocation)
        return await command.plan(self.desk, invocation)

    async def filters(self, here):
        found = await self.desk.database.read(lambda session: subscriptions.of_channel(session, here.channel_id))
        return [subscriptions.read_filter(row) for row in found]

    async def receives(self, here):
        """The channel's subscriptions in words."""
        return [describe(one) for one in await self.filters(here)]

    async def refused(self, here, line):
        """The refusal of a line, and the lines of the buttons; None for an understood line."""
        error = await refusal(self.desk, here, line)
        return error and await with_working_offers(error, self.desk, here, line)


@dataclass
class Channel:
    """A channel whose people type and fill in forms, with subscriptions in the database."""

    desk: Any
    known: Lexicon = field(default_factory=lambda: Lexicon(REGIONS, COURSES))

    async def types(self, words):
        return await SUBSCRIBE_COMMAND.commit(self.desk, typed(words))

    async def ends(self, words):
        return await UNSUBSCRIBE_COMMAND.commit(self.desk, typed(words))

    async def receives(self):
        found = await self.desk.database.read(lambda session: subscriptions.of_channel(session, "C1"))
        return {row.region: subscriptions.read_filter(row) for row in found}

    async def stores(self, *filters):
        def save(session):
            for one in filters:
                subscriptions.save(session, "C1", one, user_id="U1", now=NOW)

        await self.desk.database.write(save)

    async def opens(self, region=None):
        """The form of a subscription, present or new."""
        chosen = (await self.receives())[region] if region else None
        was = chosen.fingerprint() if chosen else None
        return subscribe_form(FormOf(channel_id="C1", editing=region, was=was), chosen, self.known)

    async def saves(self, view, values=None):
        form, submitted = read_form({**view, "state": {"values": modals.filled_in(view, values or {})}})
        return await FORM_SUBMITTED.commit(self.desk, typed(form=(form, submitted)))


def option(value):
    return {"text": {"type": "plain_text", "text": value}, "value": value}


def buttons(message):
    """Every button of a message's rows, by label."""
    rows_of = [block["elements"] for block in message.blocks if block["type"] == "actions"]
    assert all(len({one["action_id"] for one in row}) == len(row) for row in rows_of)
    return {one["text"]["text"]: one for row in rows_of for one in row}


BOTH = "results and abandonments"


# Races, cards and results of a day, as the answers to `/racecard` and `/results` are made of


TODAY = NOW.date()
TOMORROW = date(2026, 11, 21)
ASCOT = Course(name="Ascot")


def make_race(off="14:30", course="Ascot", **fields):
    given = {"race_id": f"{course}-{off}", "region": "GB", "race_date": "2026-11-20"}
    return Race(**given | {"course": Course(name=course), "off": OffTime(text=off)} | fields)


def make_card(races=(), told=(), coverage=Coverage.COMPLETE, **fields):
    given = {"day": TODAY, "region": "GB", "course": None, "coverage": coverage} | fields
    return Card(**{"outcomes": outcomes_of(races, told, given["region"], given["course"])} | given)


def lost_meeting(course="Ascot", reason="Flood", region="GB", race_date="2026-11-20", **fields):
    race = Race(course=Course(name=course), region=region, race_date=race_date, off=OffTime(text=None), **fields)
    return RacingEvent(key=f"meeting:{course}", kind=EventKind.MEETING_ABANDONED, race=race, reason=reason)


def timed(race, hour, minute=0):
    """The race with the moment of its off, for readers' own clocks."""
    return race.model_copy(update={"off": OffTime(text=race.off.text, off_at=NOW.replace(hour=hour, minute=minute))})


RACE_OFF = RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=make_race("15:00", race_id=None), reason="Frost")
MEETING_OFF = lost_meeting(meeting_id="m_1")
OF_A_DAY = [make_race("14:30", title="Hurdle"), make_race("15:00", title="Chase"), make_race(course="Naas")]
DISPUTED = make_race("13:00", abandoned=True, reason="Frost", status="result", title="Flat")
DECLARED = (
    Runner(number="4", draw="3", horse="Desert Crown", jockey="R Moore", trainer="A O'Brien", official_rating="121"),
    Runner(horse="Lone Star"),
    Runner(number="9", horse="Stays Home", position="NR"),
)
WINNER = (Runner(horse="Early Bird", position="1"),)
FIELD = (
    Runner(horse="Third", position="3"),
    Runner(horse="Winner", position="1", starting_price="5/2"),
    Runner(horse="Second", position="2="),
    Runner(horse="Also Second", position="2="),
    Runner(horse="Fourth", position="4"),
    Runner(horse="Fell", position="F"),
)
RACES = [
    make_race("14:30", runners=FIELD),
    make_race("15:00", abandoned=True, reason="Frost"),
    make_race("15:30"),
    make_race("13:00", course="Naas", status="result"),
]


def pages_of(show):
    """All pages of an answer, as the buttons turn them."""
    pages = [show(1)]
    while f"page:{len(pages) + 1}" in str(pages[-1].blocks):
        pages.append(show(len(pages) + 1))
    return pages

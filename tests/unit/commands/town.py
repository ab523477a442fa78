"""A town of people who type lines, with the data service's lists as they are kept."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

from bot.channels import subscriptions
from bot.errors import SlackUnreached
from bot.racedata import reference_store as rows
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCountry, KnownCourse
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.refusal_buttons import refusal, with_working_offers
from bot.slack.commands.table import find_command
from bot.slack.messages.answers.filter_words import describe
from bot.slack.permissions import Person

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""A Friday."""

REGIONS = ["AUS", "FR", "GB", "HK", "IRE", "NO", "New South Wales", "USA"]
COUNTRIES = [
    KnownCountry(country_code="GB", name="Great Britain"),
    KnownCountry(country_code="IRE", name="Ireland"),
    KnownCountry(country_code="HK", name="Hong Kong"),
    KnownCountry(country_code="NO", name="Norway"),
    KnownCountry(country_code="SWE", name="Sweden"),
]
COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia"),
    KnownCourse(course_id="cr_3", name="York", shortcode="YOR", region="GB"),
    KnownCourse(course_id="cr_4", name="Ffos Las", region="GB", country="Wales"),
    KnownCourse(course_id="cr_5", name="Clonmel and Powerstown", shortcode="AND", region="IRE"),
    KnownCourse(course_id="cr_6", name="Curragh", region="IRE"),
    KnownCourse(course_id="cr_7", name="Belmont at the Big A", region="USA"),
    KnownCourse(course_id="cr_8", name="Øvrevoll", region="NO"),
    KnownCourse(course_id="cr_9", name="No Man's Land", region="NO"),
]


@dataclass
class Town:
    """People who type and click, each time in a channel of its own."""

    desk: Any
    numbers: Any = field(default_factory=count)
    kept: dict[str, Invocation] = field(default_factory=dict)

    async def here(self, *lines):
        """A new channel in which these lines were typed."""
        here = Invocation("", f"C{next(self.numbers)}", "U1", "cmd-1")
        for line in lines:
            await self.types(here, line)
        return here

    async def types(self, here, line):
        """Carry a line out that changes something; of any other, read its words."""
        command, text = find_command(line)
        assert command is not None
        typed = Invocation(text, here.channel_id, here.user_id, here.reference)
        if command.commit is not None:
            return await command.commit(self.desk, typed)
        assert command.check is not None
        return await command.check(self.desk, typed)

    async def receives(self, here):
        """What the channel receives, in words."""
        found = await self.desk.database.read(lambda session: subscriptions.of_channel(session, here.channel_id))
        return [describe(subscriptions.read_filter(row)) for row in found]

    async def refused(self, here, line):
        """What is told of a line, and the lines of its buttons; None where it is understood."""
        error = await refusal(self.desk, here, line)
        return error and await with_working_offers(error, self.desk, here, line)


async def allow(_user_id, _channel_id):
    return None


async def unreached(method, *_args, **_more):
    raise SlackUnreached(method, "no_connection")


async def no_meetings(_day):
    return ()


async def person(_user_id):
    return Person(zone="Europe/Paris")


async def make_town(database) -> Town:
    """A town whose lists are as they are kept: nothing is to be asked for."""
    nobody: Any = None
    book = ReferenceBook(database, nobody, lambda: NOW)
    book._refreshed_at = NOW

    def keep(session):
        rows.put_regions(session, REGIONS, NOW)
        rows.put_courses(session, COURSES, NOW)
        rows.put_countries(session, COUNTRIES, NOW)

    await database.write(keep)
    return Town(
        SimpleNamespace(
            settings=SimpleNamespace(announce_changes=True),
            wake=asyncio.Event(),
            database=database,
            reference=book,
            people=SimpleNamespace(check_may_change=allow, person=person),
            races=SimpleNamespace(meetings=no_meetings),
            slack=SimpleNamespace(call=unreached),
            clock=lambda: NOW,
        )
    )


BOTH = "results and abandonments"
BUT_GB = 'AUS FR HK IRE NO "New South Wales" USA'

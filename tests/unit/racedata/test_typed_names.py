"""Names as people type them: countries, courses and near misses."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from bot.channels import audit_log, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import ChannelSubscriptionRow, OutboxMessage, SubscriptionState
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Course
from bot.fanout.unchecked_filters import with_listed_courses
from bot.operations.jobs.routine_jobs import CHECK_EVERY_S, refresh_lists
from bot.outbox.message import Message
from bot.outbox.notices import Notices
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX, WrongWord, likely, refusal, wrong_words
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.alert_notes import admin_notice
from tests.rows import over
from tests.said import WARNING, level_of
from tests.unit.racedata.conftest import START

COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB", country="England"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia"),
    KnownCourse(course_id="cr_3", name="Down Royal", region="IRE", country="Northern Ireland"),
]
COUNTRIES = [
    KnownCountry(country_code="IRE", name="Ireland"),
    KnownCountry(country_code="SWE", name="Sweden"),
    KnownCountry(country_code="AUS", name="Land of Plenty"),
    KnownCountry(),
]
LEXICON = Lexicon(("AUS", "GB", "HK", "IRE", "NO", "USA"), COURSES, COUNTRIES)
# Typed words: the named code, the called code, the meant code.
REGIONS = {
    **dict.fromkeys(("Ireland", "ireland", "IE"), ("IRE", "IRE", "IRE")),
    **dict.fromkeys(("UK", "u.k.", "Great Britain", "great britain"), ("GB", "GB", "GB")),
    "Hong-Kong": ("HK", "HK", "HK"),
    "land of plenty": ("AUS", "AUS", "AUS"),
    **dict.fromkeys(("GB", "gb"), (None, "GB", "GB")),
    **dict.fromkeys(("usa", "Usa"), (None, "USA", "USA")),
    "irl": (None, "IRE", "IRE"),
    "NO": (None, "NO", "NO"),
    "Norway": (None, None, None),
    "Sweden": (None, None, None),
    "England": (None, None, "GB"),
    "western australia": (None, None, "AUS"),
    **dict.fromkeys(("Ascot", "Nowhere", ""), (None, None, None)),
}


PARTS = dict.fromkeys(("England", "Scotland"), "GB") | dict.fromkeys(("Ireland", "GB"), "")
PARTS |= {"western australia": "AUS", "Northern Ireland": "IRE"}


def test_names_of_countries_and_of_their_parts_are_published_codes():
    found = {
        typed: (LEXICON.region_named(typed), LEXICON.region_called(typed), LEXICON.region_meant(typed))
        for typed in REGIONS
    }
    assert found == REGIONS
    assert {typed: " ".join(LEXICON.parts_of(typed)) for typed in PARTS} == PARTS


def test_codes_that_may_be_meant_are_told_apart_and_without_a_list_nothing_is_a_region():
    both = Lexicon(("IRE", "IE"))
    assert both.region_named("Ireland") is None
    assert both.is_country("Ireland")
    named = Lexicon(("IRE", "IE"), (), [KnownCountry(country_code="IE", name="Ireland")])
    assert named.region_named("Ireland") == "IE"
    cases = Lexicon(("GB", "Gb"))
    assert [cases.region_called(typed) for typed in ("GB", "Gb", "gb")] == ["GB", "Gb", None]
    assert cases.region_meant("gb") is None
    assert Lexicon().region_named("Ireland") is None
    assert [Lexicon().is_country(typed) for typed in ("Ireland", "UK", "USA", "IRE")] == [True, True, False, False]
    assert dict(Lexicon().names) == {}


@given(st.text(max_size=20) | st.sampled_from([*LEXICON.names]))
def test_any_text_is_a_published_code_or_none(typed):
    assert LEXICON.region_named(typed) in {None, *LEXICON.regions}


@over("typed", ["Down Royal", "down royal", "DOWN ROYAL", "cr_3", "CR_3", "dr", "Ascot", "Nowhere"])
def test_typed_course_is_the_only_course_of_the_id_name_or_code_in_any_case(typed):
    courses = [*COURSES[:2], COURSES[2].model_copy(update={"shortcode": "DR"})]
    as_typed = Course(name=typed)
    typed_filter = ChannelFilter(region=ALL_REGIONS, topics=DEFAULT_TOPICS, courses=(as_typed,))
    chosen, wrong = with_listed_courses(typed_filter, [as_typed], courses)
    found = typed not in {"Ascot", "Nowhere"}
    assert [one.course_id for one in chosen.courses] == ["cr_3" if found else None]
    assert wrong == ([] if found else [as_typed])
    # Published with curly signs, and found by plain ones.
    published = Lexicon(("FR",), (KnownCourse(course_id="cr_1", name="Font\u2019s\u00a0End \u2013 Park", region="FR"),))
    assert published.course_in_any_case("Font's End - Park") == published.courses[0].name
    coded = Lexicon(("GB",), (KnownCourse(course_id="cr_1", name="York", region="GB", shortcode="YORK"),))
    assert coded.course_in_any_case("york") == coded.spelled(Course(name="YORK")).name == "York"
    kempton = Lexicon(("AUS", "GB"), (KnownCourse(course_id="cr_1", name="Kempton (AW)", region="GB"),))
    countries = {country: kempton.spelled(Course(name="Kempton", country=country)).name for country in (None, "Oz")}
    assert countries == {None: "Kempton (AW)", "Oz": "Kempton"}
    names = (("Ascot", "GB"), ("Ascot (AUS)", "AUS"), ("Newcastle", "GB"))
    both = Lexicon(("AUS", "GB"), [KnownCourse(course_id=f"cr_{name}", name=name, region=at) for name, at in names])
    said = "ASCOT (AUS)", "NEWCASTLE (GB)", "Newcastle (AUS)", "Newtown (AUS)"
    spelled = ["Ascot (AUS)", "Newcastle", "Newcastle (AUS)", "Newtown"]
    assert [both.spelled(Course(name=name)).name for name in said] == spelled
    assert both.spelled(Course(name="ASCOT (AUS)"), "AUS").name == "Ascot (AUS)"


LISTED = {
    "GB": "Ascot, Bangor-on-Dee, Chelmsford City, Epsom, Haydock Park, Kempton (AW), Newcastle, Newcastle (AW), "
    "Newmarket (July), Newmarket (Rowley), Sandown, York",
    "AUS": "Sandown-Hillside",
    "FR": "Auteuil, Chantilly, Saint-Cloud",
}
IN_OTHER_WORDS = {
    "GB": {
        "York": "York Racecourse, york races, York Race Course, The York Racetrack",
        "Kempton (AW)": "Kempton Park, Kempton Park (AW), Kempton Park Racecourse (GB)",
        "Haydock Park": "Haydock",
        "Sandown": "Sandown Park",
        "Epsom": "Epsom Downs",
        "Bangor-on-Dee": "Bangor",
        "Chelmsford City": "Chelmsford, Chelmsford (AW)",
        "Newmarket (July)": "Newmarket July Course",
    },
    "FR": {"Chantilly": "Hippodrome de Chantilly", "Auteuil": "HIPPODROME D'AUTEUIL"},
}
OF_NO_COURSE = {
    "GB": "Newmarket, Newmarket Racecourse, Newcastle Park, Bangor Park, Park, Yorkshire, Ascot (AUS), York City Bay",
    "AUS": "Newcastle, Haydock, York Racecourse, Kempton Park, Sandown Lakeside",
    "FR": "Bangor",
    None: "York Racecourse, Haydock, Bangor, Sandown Park",
}


def test_course_in_other_words_is_the_only_one_of_its_region_that_is_called_so_or_begins_so():
    each = ((name, region) for region, names in LISTED.items() for name in names.split(", "))
    lists = Lexicon((*LISTED,), [KnownCourse(name=name, region=region) for name, region in each])
    for region, names in IN_OTHER_WORDS.items():
        for name, words in names.items():
            assert {lists.spelled(Course(name=said), region).name for said in words.split(", ")} == {name}
    for unlisted, words in OF_NO_COURSE.items():
        each_said = words.split(", ")
        assert [lists.spelled(Course(name=said), unlisted).name for said in each_said] == each_said
    with_id = Course(course_id="cr_9", name="Haydock")
    assert lists.spelled(with_id, "GB") == with_id


# Near misses of typed words, and the refusals that name them

NEAR = {"gb": "GB", "IRL": "IRE", "good to firm": "Good to Firm", "Yuilding": "Yielding"}
VOCABULARY = {word: word for word in ("GB", "IRE", "Newcastle", "Ffos Las", "results")} | {
    "Goodwood": "course:Goodwood"
}


def test_near_miss_is_found_and_nothing_where_nothing_is_near():
    assert {typed: likely(typed, ["GB", "IRE", "Good to Firm", "Yielding", "FR"])[0] for typed in NEAR} == NEAR
    assert likely("zzzz", ["GB", "IRE"]) == likely("Grand", ["GER", "AND", "German"]) == []
    assert wrong_words(["rests"], VOCABULARY, 0.9) == [WrongWord("rests")], "as strict as asked"


@over(
    ("words", "wrong"),
    [
        ("gb goodwod", [WrongWord("gb", ("GB",)), WrongWord("goodwod", ("course:Goodwood",))]),
        ("ffos la", [WrongWord("ffos la", ("Ffos Las",))]),
        ("Newcastle gb", [WrongWord("gb", ("GB",))]),
        ("zzzzz reslts", [WrongWord("zzzzz"), WrongWord("reslts", ("results",))]),
        ("Goodwood", [WrongWord("Goodwood", ("course:Goodwood",))]),
        ("rests", [WrongWord("rests", ("results",))]),
    ],
)
def test_each_wrong_word_has_its_nearest_names_and_right_words_are_left_out(words, wrong):
    assert wrong_words(words.split(), VOCABULARY) == wrong


def test_words_after_so_many_are_wrong_and_not_looked_up():
    wrong = [f"reslts{number}" for number in range(LOOKED_UP_MAX)]
    found = wrong_words(["GB", *wrong, "resltsx", "IRE"], VOCABULARY)
    assert [one.typed for one in found] == [*wrong, "resltsx"]
    assert [bool(one.meant) for one in found] == [True] * LOOKED_UP_MAX + [False]


def test_single_wrong_word_has_buttons_and_several_have_none():
    single = refusal("Wrong.", [WrongWord("goodwod", ("course:Goodwood",))])
    assert (str(single), single.offers) == (
        'Wrong. Did you mean "Goodwood"?',
        {"Goodwood": {"goodwod": "course:Goodwood"}},
    )
    several = refusal("Wrong.", [WrongWord("gb", ("GB",)), WrongWord("zzzzz")], after="Regions: GB.")
    assert (str(several), several.offers) == ('Wrong. Did you mean "GB" for "gb"? Regions: GB.', {})


WORDS = st.sampled_from([*VOCABULARY, "gb", "ffos", "las", "goodwod"]) | st.text(min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=9))
def test_every_wrong_word_is_told_and_only_understood_words_are_meant(words):
    found = wrong_words(words, VOCABULARY)
    wrong = dict.fromkeys(word for word in words if VOCABULARY.get(word) != word)
    assert " ".join(one.typed for one in found) == " ".join(wrong)
    assert {meant for one in found for meant in one.meant} <= set(VOCABULARY.values())


# A subscription to an unknown region, made while no list was known


FAULT = ServerFault("reference", code="server_error", status=500)
AWAY = {"courses": FAULT, "reference": FAULT, "countries": FAULT}
BACK = {
    "courses": [{"name": "Elsewhere"}],
    "reference": {"regions": ["AUS", "GB", "HK", "hk", "IRE"]},
    "countries": [{"name": "Nowhere Land"}],
}


class Desk:
    """A channel's subscriptions, and replicas that take turns."""

    def __init__(self, database, client, clock):
        self.database, self.client, self.clock = database, client, clock
        self.notices = Notices("CADMINS", admin_notice, clock=clock)
        self.books = [ReferenceBook(database, client, clock) for _ in range(3)]
        client.answers = AWAY

    async def subscribe(self, *regions, **unchecked):
        def write(session):
            for region in regions:
                chosen = ChannelFilter(region=region, topics=DEFAULT_TOPICS, **unchecked)
                subscriptions.save(session, "C1", chosen, user_id="U1", now=self.clock())

        await self.database.write(write)

    def jobs(self, book):
        return refresh_lists(book, self.database, self.notices, self.clock, asyncio.Event())

    async def refresh(self, answers=BACK, *, times=1):
        """Run the job, some time later, with the service away or back."""
        self.client.answers = answers
        for _ in range(times):
            self.clock.pass_(minutes=10)
            # A run fails while the service is away.
            with suppress(ServerFault):
                await self.jobs(self.books[0])[0].run()

    async def slots(self, count):
        """Run the job for unchecked filters in so many slots. Returns the number of requests in each."""
        asked = []
        for number in range(count):
            before = len(self.client.asked)
            _, job = self.jobs(self.books[number % 3])
            if await self.database.read(job.look):
                await job.run()
            asked.append(len(self.client.asked) - before)
            self.clock.pass_(seconds=CHECK_EVERY_S)
        return asked

    async def rows(self):
        return await self.database.read(lambda session: subscriptions.of_channel(session, "C1"))

    async def regions(self):
        rows = await self.rows()
        assert [row.region for row in rows] == [subscriptions.read_filter(row).region for row in rows]
        return {row.region for row in rows}

    async def told(self):
        """The messages, by channel."""
        found = await self.database.read(lambda session: session.exec(select(OutboxMessage)).all())
        return [(post.channel_id, Message.from_json(post.content).text) for post in found]

    async def spoil(self):
        """Leave an unreadable filter."""

        def spoil(session):
            row = session.exec(select(ChannelSubscriptionRow)).one()
            row.filter = "{"
            session.add(row)

        await self.database.write(spoil)


@pytest.fixture
def desk(database, client, clock):
    return Desk(database, client, clock)


# The regions of the channel before and after, and the notice.
WRONG = {
    "letter case, beside others": (["gb", "IRE", ALL_REGIONS], ["GB", "IRE", ALL_REGIONS], "subscribed to gb"),
    "letter case, beside the right one": (["gb", "GB"], ["GB"], "the subscription is to GB now"),
    "another code": (["IRL"], ["IRE"], "the subscription is to IRE now"),
    "a name": (["great britain"], ["GB"], "the subscription is to GB now"),
    "two that it may be": (["Hk"], ["Hk"], 'Did you mean "HK" or "hk"?'),
    "a mistake": (["IREX"], ["IREX"], 'Did you mean "IRE"?'),
    "nothing near": (["nowhere"], ["nowhere"], "to nowhere, but the data service publishes no such region"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_region_is_mended_or_told_once_with_what_may_be_right(desk, name):
    typed, kept, words = WRONG[name]
    await desk.subscribe(*typed)
    await desk.refresh(AWAY)
    assert (await desk.regions(), await desk.told()) == (set(typed), [])
    await desk.refresh(times=2)
    assert await desk.regions() == set(kept)
    told = await desk.told()
    assert [channel_id for channel_id, _ in told] == ["CADMINS", "C1"]
    assert {level_of(text) for _, text in told} == {WARNING}
    assert all(words in text for _, text in told)
    if name == "letter case, beside the right one":
        entry = await desk.database.read(lambda session: audit_log.last_of_channel(session, "C1"))
        assert (entry.before, entry.after) == ("the region gb", "the region GB")


async def test_subscription_that_waits_for_the_bot_is_looked_at_once_it_is_live(desk):
    await desk.subscribe("gb")
    await desk.database.write(lambda session: subscriptions.set_state(session, "C1", SubscriptionState.WAITING, START))
    await desk.refresh()
    assert (await desk.regions(), await desk.told()) == ({"gb"}, [])
    await desk.database.write(lambda session: subscriptions.reopen(session, "C1", START))
    await desk.refresh()
    assert await desk.regions() == {"GB"}


@pytest.mark.parametrize(("spoilt", "later"), [("gb", ()), ("GB", ("gb",))], ids=["by itself", "beside another"])
async def test_filter_that_can_not_be_read_is_not_written_over_and_joined_with_none(desk, spoilt, later):
    await desk.subscribe(spoilt)
    await desk.spoil()
    await desk.subscribe(*later)
    await desk.refresh()
    found = [(row.region, row.filter == "{") for row in await desk.rows()]
    assert found == [(spoilt, True), *((region, False) for region in later)]
    assert len(await desk.told()) == 2


@pytest.mark.parametrize("came_by_another_way", [False, True])
async def test_unchecked_filters_cost_no_request_and_use_lists_that_any_replica_stored(desk, came_by_another_way):
    await desk.subscribe("gb", unchecked_since=desk.clock())
    assert await desk.slots(6) == [0] * 6
    if came_by_another_way:
        await desk.database.write(lambda session: lexicon.REGIONS.put(session, ["GB"], desk.clock()))
        await desk.slots(1)
    else:
        await desk.refresh()
    assert await desk.regions() == {"GB"}

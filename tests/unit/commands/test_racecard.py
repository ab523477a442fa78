import re
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.day_card import Card, Coverage, outcomes_of
from bot.racedata.lexicon import Lexicon
from bot.slack.commands import racecard as command
from bot.slack.commands.invocation import Invocation
from bot.slack.messages.answers.racecard_answer import racecard
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX, SECTION_MAX, size

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
TOMORROW = date(2026, 11, 21)


def make_race(off="14:30", course="Ascot", **fields):
    given = {"race_id": f"{course}-{off}", "region": "GB", "race_date": "2026-11-20"}
    return Race(**given | {"course": Course(name=course), "off": OffTime(text=off)} | fields)


def make_card(races=(), coverage=Coverage.COMPLETE, told=(), **fields):
    given = {"day": TODAY, "region": "GB", "course": None, "coverage": coverage} | fields
    return Card(**{"outcomes": outcomes_of(races, told, given["region"], given["course"])} | given)


def shown(message):
    texts = [block["text"]["text"] for block in message.blocks if "text" in block]
    small_print = [one for block in message.blocks if block["type"] == "context" for one in block["elements"]]
    return "\n".join(texts + [one["text"] for one in small_print])


def test_card_lists_each_courses_races_in_order():
    races = [
        make_race("14:30", title="Novices' Hurdle", distance="2m", race_class="4", field_size=12, going="Good"),
        make_race("9:30", title="Early Stakes", going="Good"),
        make_race("15:00", course="Naas", title="Flat Race", abandoned=True, reason="Frost"),
    ]
    text = shown(racecard(make_card(races, data_as_of="2026-11-20T11:59:00+00:00", read_at=NOW), TODAY))
    assert text.index("9:30  Early Stakes") < text.index("14:30  Novices' Hurdle · 2m · Class 4 · 12 runners")
    assert "*Ascot* · Going: Good" in text
    assert "15:00  Flat Race · *abandoned*: Frost" in text
    assert "Racecard: GB, 2026-11-20" in text
    assert "data as of 2026-11-20T11" in text


@pytest.mark.parametrize("course", [None, Course(name="Ascot")])
def test_card_marks_what_deliveries_called_off(course):
    race_off = RacingEvent(
        key="r", kind=EventKind.RACE_ABANDONED, race=make_race("15:00", race_id=None), reason="Frost"
    )
    lost = make_race(None, race_id=None, meeting_id="m_1")
    meeting_off = RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=lost, reason="Flood")
    races = [make_race("14:30", title="Hurdle"), make_race("15:00", title="Chase"), make_race(course="Naas")]
    text = shown(racecard(make_card(races, told=[race_off], course=course), TODAY))
    assert "*ABANDONED*\nAscot 15:00, Frost" in text
    assert re.search("15:00.*Chase.*abandoned.*: Frost", text)
    assert text.count("*abandoned*") == 1
    message = racecard(make_card(races, told=[meeting_off], course=course), TODAY)
    assert "ABANDONED: Ascot, whole meeting, Flood" in message.text
    assert shown(message).count("*abandoned*: Flood") == 2


def test_card_marks_a_course_at_which_another_meetings_id_was_abandoned():
    lost = RacingEvent(
        key="m", kind=EventKind.MEETING_ABANDONED, race=make_race(None, race_id=None, meeting_id="m_1"), reason="Flood"
    )
    card = make_card([make_race(meeting_id="m_2"), make_race(course="Naas", meeting_id="m_3")], told=[lost])
    text = shown(racecard(card, TODAY))
    assert "*Ascot* · *meeting abandoned*" in text
    assert "*Naas*\n" in text


def test_card_of_a_day_of_which_only_an_abandonment_is_known_does_not_say_that_there_is_no_racing():
    lost = RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=make_race(None, race_id=None))
    text = shown(racecard(make_card(told=[lost]), TODAY))
    assert "No racing" not in text
    assert "Ascot, whole meeting" in text


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (make_card(), "No racing: the data service lists none for GB on 2026-11-20."),
        (make_card(region=None), "lists none in any region on 2026-11-20"),
        (make_card(course=Course(name="Ascot")), r"none for Ascot \(GB\)"),
        (make_card(day=TOMORROW), "No card has been published yet for GB on 2026-11-21"),
        (make_card(coverage=Coverage.UNREAD, reached="2019-03-02"), "Not read yet: .* come to 2019-03-02. Ask again"),
        (make_card([make_race()], Coverage.PARTIAL), "This may not be all: "),
        (make_card(coverage=Coverage.OUTSIDE_WINDOW, window="2023 → upcoming"), r"outside your plan's window \(2023 →"),
        (make_card(coverage=Coverage.QUOTA), "Not read: stopped by quota. .*COMMAND_QUOTA_SHARE|Not read: stopped by"),
        (
            make_card([make_race()], Coverage.FAILED, failure=ServerFault("races/search", request_id="req_7")),
            r"This may not be all\. The data service failed.*req_7",
        ),
    ],
)
def test_card_says_what_is_not_known(card, said):
    message = racecard(card, TODAY)
    assert re.search(said, shown(message))
    if card.coverage is not Coverage.COMPLETE:
        assert "No racing" not in shown(message)


def test_card_of_unchecked_words_does_not_say_that_there_is_no_racing():
    text = shown(racecard(make_card(region="XX"), TODAY, ("XX",)))
    assert "No racing" not in text
    assert "I could not check XX" in text


names = st.text(max_size=120)
racing = st.builds(make_race, off=names, course=names, title=names, distance=names, going=names)


@given(races=st.lists(racing, max_size=12), repeat=st.sampled_from([1, 30]), coverage=st.sampled_from(Coverage))
def test_card_stays_within_slacks_limits(races, repeat, coverage):
    many = [
        race.model_copy(update={"course": Course(name=f"{race.course.name}{number}")})
        for number in range(repeat)
        for race in races
    ]
    message = racecard(make_card(many, coverage), TODAY)
    assert len(message.blocks) <= BLOCKS_MAX
    assert weight(message.blocks) <= MESSAGE_MAX
    for block in message.blocks:
        assert block["type"] in {"context", "actions"} or 0 < size(block["text"]["text"]) <= SECTION_MAX


def pages_of(show):
    """All pages of an answer, as the buttons turn them."""
    pages = [show(1)]
    while any("page:" + str(len(pages) + 1) in button["value"] for button in buttons(pages[-1])):
        pages.append(show(len(pages) + 1))
    return pages


def buttons(message):
    rows = [block["elements"] for block in message.blocks if block["type"] == "actions"]
    return [button for row in rows for button in row]


def test_card_too_large_has_its_meetings_on_pages():
    races = [make_race(f"{hour}:00", f"Course {number:03}") for number in range(99) for hour in range(12, 18)]
    card = make_card(races)
    pages = pages_of(lambda page: racecard(card, TODAY, page=page))
    assert len(pages) > 2
    text = "".join(map(shown, pages))
    assert [f"*Course {number:03}*" in text for number in range(99)] == [True] * 99
    assert text.count("*Course") == 99
    assert {button["value"] for button in buttons(pages[1])} == {
        "racecard GB 2026-11-20 page:1",
        "racecard GB 2026-11-20 page:3",
    }
    assert shown(racecard(card, TODAY, page=500)) == shown(pages[-1])


def test_meeting_of_a_card_has_a_button_to_its_own():
    (button,) = [
        block["accessory"] for block in racecard(make_card([make_race()]), TODAY).blocks if "accessory" in block
    ]
    assert button["value"] == 'racecard GB 2026-11-20 "Ascot"'


def test_card_of_a_course_has_each_races_runners():
    runners = (
        Runner(
            number="4", draw="3", horse="Desert Crown", jockey="R Moore", trainer="A O'Brien", official_rating="121"
        ),
        Runner(horse="Lone Star"),
        Runner(number="9", horse="Stays Home", position="NR"),
    )
    races = [make_race("14:30", title="Novices' Hurdle", runners=runners), make_race("15:00", field_size=7)]
    text = shown(racecard(make_card(races, course=Course(name="Ascot")), TODAY))
    assert "*14:30*  Novices' Hurdle\n4  Desert Crown (3) · R Moore / A O'Brien · OR 121\nLone Star" in text
    assert "9  Stays Home · non-runner" in text
    assert "7 runners" in text
    assert "None" not in text


def test_meeting_too_long_says_how_many_races_are_left_out():
    races = [make_race(f"{number:05}", title="x" * 90) for number in range(100)]
    text = shown(racecard(make_card(races), TODAY))
    left = int(re.findall(r"and (\d+) more", text)[0])
    assert left + len(re.findall(r"^\d{5}", text, re.MULTILINE)) == 100


async def no_meetings(_day):
    return ()


class Reference:
    """A reference book whose lists never came."""

    async def lexicon(self, _timeout_s):
        return Lexicon()

    async def regions(self, _timeout_s):
        return None

    async def courses(self, _timeout_s):
        return None

    async def check_course(self, typed, _timeout_s, *, regions):
        return Course(name=typed)


@pytest.fixture
def asked():
    return []


async def no(_user_id):
    return False


@pytest.fixture
def make_desk(asked):
    def make(card):
        async def give(*args):
            asked.append(args)
            return card

        return SimpleNamespace(
            clock=lambda: NOW,
            people=SimpleNamespace(is_admin=no, admin_users=frozenset()),
            reference=Reference(),
            races=SimpleNamespace(card=give, meetings=no_meetings, progress=lambda _region: None),
        )

    return make


def typed(text):
    return Invocation(text=text, channel_id="C1", user_id="U1", reference="cmd-1")


async def test_racecard_asks_for_what_was_typed(make_desk, asked):
    desk = make_desk(make_card([make_race()]))
    await command.answer(desk, typed("GB tomorrow “Ascot Heath”"), None)
    await command.answer(desk, typed(""), None)
    assert asked == [("GB", TOMORROW, Course(name="Ascot Heath")), (None, TODAY, None)]


async def test_racecard_raises_a_failure_that_leaves_nothing_to_show(make_desk):
    failure = ServerFault("races/search", request_id="req_7")
    with pytest.raises(ServerFault):
        await command.answer(make_desk(make_card(coverage=Coverage.FAILED, failure=failure)), typed(""), None)
    with_races = make_card([make_race()], Coverage.FAILED, failure=failure)
    assert "req_7" in shown(await command.answer(make_desk(with_races), typed(""), None))

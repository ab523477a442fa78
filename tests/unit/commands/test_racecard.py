import re
from datetime import UTC, date, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
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
from sandbox.slack.block_rules import block_problems

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
TOMORROW = date(2026, 11, 21)
NONE = "\N{EN DASH}"


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
    text = shown(racecard(make_card(races, data_as_of="2026-11-20T11:59:00+00:00", read_at=NOW), NOW))
    assert text.index("9:30  Early Stakes") < text.index("14:30  Novices' Hurdle · 2m · Class 4 · 12 runners")
    assert "*Ascot* · Going: Good" in text
    assert "🛑 *ABANDONED*\nNaas 15:00, Frost" in text
    assert "*Naas*" not in text
    assert "Racecard: GB, Fri 20 Nov" in text
    assert "data as of <!date^1795175940^{time}|11:59 UTC>" in text
    assert "list read <!date^1795176000^{time}|12:00 UTC>; news since then from deliveries" in text


def test_card_of_a_list_that_was_not_read_lately_says_the_latest_news_alone():
    text = shown(racecard(make_card([make_race()], latest_at=datetime(2026, 11, 19, 21, 30, tzinfo=UTC)), NOW))
    assert "latest news <!date^1795123800^{date_short} {time}|2026-11-19 21:30 UTC>" in text
    assert "list read" not in text


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ("2026-11-20T00:01:00Z", "<!date^1795132860^{time}|00:01 UTC>"),
        ("2026-11-19T23:59:00+00:00", "<!date^1795132740^{date_short} {time}|2026-11-19 23:59 UTC>"),
        ("2026-11-19", "Thu 19 Nov"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("2026-11-20T12:59:00", "2026-11-20T12:59:00"),
        ("half past *two*", "half past \N{ASTERISK OPERATOR}two\N{ASTERISK OPERATOR}"),
    ],
)
def test_time_of_the_data_is_said_by_the_readers_clock_with_the_day_where_it_is_long_ago(published, said):
    assert f"\ndata as of {said}\n" in shown(racecard(make_card([make_race()], data_as_of=published), NOW))


ASCOT = Course(name="Ascot")
RACE_OFF = RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=make_race("15:00", race_id=None), reason="Frost")
MEETING_OFF = RacingEvent(
    key="m",
    kind=EventKind.MEETING_ABANDONED,
    race=make_race(None, race_id=None, meeting_id="m_1"),
    reason="Flood",
)
OF_A_DAY = [make_race("14:30", title="Hurdle"), make_race("15:00", title="Chase"), make_race(course="Naas")]


@pytest.mark.parametrize("course", [None, ASCOT])
def test_card_marks_an_abandoned_race(course):
    text = shown(racecard(make_card(OF_A_DAY, told=[RACE_OFF], course=course), NOW))
    assert "🛑 *ABANDONED*\nAscot 15:00, Frost" in text
    assert text.index("🛑") < text.index("Hurdle")
    assert "15:00  🛑 *ABANDONED*, Frost · Chase" in text
    assert text.count("🛑 *ABANDONED*") == text.count("ABANDONED") == 2


def test_dead_meeting_is_one_line_of_a_day():
    message = racecard(make_card(OF_A_DAY, told=[MEETING_OFF]), NOW)
    assert "3 races, 1 meeting (2 races) abandoned. ABANDONED: Ascot, whole meeting, Flood" in message.text
    text = shown(message)
    assert text.count("Ascot") == 1
    assert "*Naas*" in text


def test_dead_meeting_is_one_line_of_its_own_card():
    message = racecard(make_card(OF_A_DAY, told=[MEETING_OFF], course=ASCOT), NOW)
    assert message.text == (
        "Racecard: Ascot (GB), Fri 20 Nov: 1 meeting (2 races) abandoned. ABANDONED: Ascot, whole meeting, Flood"
    )
    assert [block["text"]["text"] for block in message.blocks if "text" in block] == [
        "Racecard: Ascot (GB), Fri 20 Nov",
        "🛑 *ABANDONED*\nAscot, whole meeting, Flood",
        "1 meeting (2 races) abandoned",
    ]


def test_dead_meeting_beside_a_meeting_of_the_same_name_leaves_the_other_its_card():
    races = [make_race("14:30", region="GB"), make_race("15:00", region="AUS", title="Cup", runners=DECLARED)]
    lost = MEETING_OFF.model_copy(update={"race": make_race(None, race_id=None, region="GB")})
    text = shown(racecard(make_card(races, told=[lost], course=ASCOT, region=None), NOW))
    assert "Ascot (GB), whole meeting, Flood" in text
    assert "*15:00*  Cup" in text
    assert "14:30" not in text


def test_course_whose_races_are_lost_one_by_one_is_no_more_than_their_line():
    races = [make_race("14:30", abandoned=True, reason="Frost"), make_race("15:00", abandoned=True, reason="Frost")]
    text = shown(racecard(make_card(races, course=ASCOT), NOW))
    assert "🛑 *ABANDONED*\nAscot 14:30 and 15:00, Frost\n2 races abandoned\n" in text
    assert text.count("ABANDONED") == 1


DISPUTED = make_race("13:00", abandoned=True, reason="Frost", status="result", title="Flat")


@pytest.mark.parametrize("course", [None, ASCOT])
def test_disputed_race_has_a_list_of_its_own_right_after_the_abandonments(course):
    message = racecard(make_card([DISPUTED, *OF_A_DAY], told=[RACE_OFF], course=course), NOW)
    text = shown(message)
    assert (
        "🛑 *ABANDONED*\nAscot 15:00, Frost\n⚠️ *CONFLICT*: reported abandoned and as run, check\nAscot 13:00, Frost\n"
    ) in text
    assert "1 race abandoned, 1 race in conflict" in text
    assert (
        "ABANDONED: Ascot 15:00, Frost. CONFLICT, reported abandoned and as run, check: Ascot 13:00, Frost"
    ) in message.text


def test_disputed_race_of_a_lost_meeting_is_named():
    lost = make_card([DISPUTED, make_race("14:30")], told=[MEETING_OFF])
    assert "as run, check\nAscot 13:00, Frost" in shown(racecard(lost, NOW))


def test_disputed_races_without_number_are_all_on_the_pages():
    why = "Standing water in the back straight after heavy rain, and the stewards could not agree"
    races = [
        make_race("13:00", f"Course {number:03}", abandoned=True, reason=why, status="result") for number in range(60)
    ]
    pages = pages_of(lambda page: racecard(make_card([*races, make_race(abandoned=True)]), NOW, page=page))
    listed = [line for page in pages for line in shown(page).split("\n") if line.endswith(f"13:00, {why}")]
    assert listed == [f"Course {number:03} 13:00, {why}" for number in range(60)]
    for page in pages:
        assert "1 race abandoned, 60 races in conflict" in shown(page)
        assert "🛑 *ABANDONED*\nAscot 14:30\n" in shown(page)
        assert "and 48 more, listed below" in page.text


def test_meeting_of_which_a_race_was_run_is_abandoned_for_the_rest():
    run = make_race("14:00", title="Flat", runners=(Runner(horse="Early Bird", position="1"),))
    text = shown(racecard(make_card([run, *OF_A_DAY], told=[MEETING_OFF]), NOW))
    assert "Ascot, rest of the meeting, Flood" in text
    assert "*Ascot* · 🛑 *REST OF THE MEETING ABANDONED*" in text
    assert "14:00  won by *Early Bird* · Flat · 1 runner" in text
    assert "14:30  🛑 *ABANDONED*, Flood · Hurdle" in text


def test_abandoned_races_of_a_meeting_with_one_reason_are_one_line():
    races = [make_race(f"1{hour}:00", abandoned=True, reason="Frost") for hour in range(3, 6)]
    wind = make_race("16:00", abandoned=True, reason="Wind")
    message = racecard(make_card([*races, wind, make_race("17:00")]), NOW)
    assert "🛑 *ABANDONED*\nAscot 13:00, 14:00 and 15:00, Frost\nAscot 16:00, Wind" in shown(message)
    assert "ABANDONED: Ascot 13:00, 14:00 and 15:00, Frost; Ascot 16:00, Wind" in message.text


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (["2", "1"], "won by *Horse 1*"),
        (["1=", "=1"], "dead heat *Horse 0 and Horse 1*"),
        ([], "result in, placings not received"),
    ],
)
def test_race_that_was_run_shows_its_winner(positions, said):
    runners = tuple(Runner(horse=f"Horse {number}", position=place) for number, place in enumerate(positions))
    text = shown(racecard(make_card([make_race(title="Hurdle", status="result", runners=runners)]), NOW))
    assert f"14:30  {said} · Hurdle" in text
    assert "1 race, 1 run" in text


@pytest.mark.parametrize("course", [None, ASCOT])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"status": "Void"}, "🚫 *VOID*"),
        ({"abandoned": True, "reason": "Frost"}, "🛑 *ABANDONED*, Frost"),
        ({"abandoned": True, "reason": "Frost", "status": "result"}, "⚠️ *CONFLICT*: reported abandoned (Frost) and as"),
        ({"status": "result", "runners": (Runner(horse="Early Bird", position="1"),)}, "won by *Early Bird*"),
        ({}, "no result yet"),
    ],
)
def test_outcome_of_a_race_stands_with_its_mark_before_the_details(fields, said, course):
    race = make_race("11:00", title="Hurdle", distance="2m", **fields)
    race = race.model_copy(update={"off": OffTime(text="11:00", off_at=NOW.replace(hour=11))})
    text = shown(racecard(make_card([race, make_race("15:00")], course=course), NOW))
    (line,) = re.findall(rf"^.*11:00.*{re.escape(said)}.*$", text, re.MULTILINE)
    assert line.index(said) < line.index("Hurdle") < line.index("2m")


def test_line_of_a_race_without_a_title_names_no_id_beside_its_time():
    lost = make_race("15:00", abandoned=True)
    assert "\n15:00  🛑 *ABANDONED*" in shown(racecard(make_card([lost, make_race("16:00")]), NOW))
    assert "Ascot-15:00" not in shown(racecard(make_card([lost, make_race("16:00")]), NOW))


def test_card_marks_a_course_at_which_another_meetings_id_was_abandoned():
    lost = RacingEvent(
        key="m", kind=EventKind.MEETING_ABANDONED, race=make_race(None, race_id=None, meeting_id="m_1"), reason="Flood"
    )
    card = make_card([make_race(meeting_id="m_2"), make_race(course="Naas", meeting_id="m_3")], told=[lost])
    text = shown(racecard(card, NOW))
    assert "*Ascot* · 🛑 *MEETING ABANDONED*" in text
    assert "*Naas*\n" in text


def test_card_of_a_day_of_which_only_an_abandonment_is_known_does_not_say_that_there_is_no_racing():
    lost = RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=make_race(None, race_id=None))
    text = shown(racecard(make_card(told=[lost]), NOW))
    assert "No racing" not in text
    assert "Ascot, whole meeting" in text


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (make_card(), "No racing: the data service lists none for GB on Fri 20 Nov."),
        (make_card(region=None), "lists none in any region on Fri 20 Nov"),
        (make_card(course=Course(name="Ascot")), r"none for Ascot \(GB\)"),
        (make_card(day=TOMORROW), "No card has been published yet for GB on Sat 21 Nov"),
        (
            make_card(coverage=Coverage.UNREAD, reached="2019-03-02"),
            "Not read yet: .* come to Sat 2 Mar 2019. Ask again",
        ),
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
    message = racecard(card, NOW)
    assert re.search(said, shown(message))
    if card.coverage is not Coverage.COMPLETE:
        assert "No racing" not in shown(message)


def test_card_of_unchecked_words_does_not_say_that_there_is_no_racing():
    text = shown(racecard(make_card(region="XX"), NOW, ("XX",)))
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
    message = racecard(make_card(many, coverage), NOW)
    assert len(message.blocks) <= BLOCKS_MAX
    assert weight(message.blocks) <= MESSAGE_MAX
    for block in (*message.blocks, *message.plain_blocks):
        assert block["type"] in {"context", "actions", "data_table"} or 0 < size(block["text"]["text"]) <= SECTION_MAX


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
    card = make_card(races, told=[MEETING_OFF])
    pages = pages_of(lambda page: racecard(card, NOW, page=page))
    assert len(pages) > 2
    text = "".join(map(shown, pages))
    assert [f"*Course {number:03}*" in text for number in range(99)] == [True] * 99
    assert text.count("*Course") == 99
    for number, page in enumerate(pages, 1):
        assert page.blocks[0]["text"]["text"] == f"Racecard: GB, Fri 20 Nov (page {number} of {len(pages)})"
        assert f"(page {number} of {len(pages)}): 99 meetings" in page.text
        assert "ABANDONED: Ascot, whole meeting, Flood" in page.text
        assert "🛑 *ABANDONED*\nAscot, whole meeting, Flood" in shown(page)
    assert {button["value"] for button in buttons(pages[1])} == {
        "racecard GB 2026-11-20 page:1",
        "racecard GB 2026-11-20 page:3",
    }
    assert shown(racecard(card, NOW, page=500)) == shown(pages[-1])


def test_card_of_another_year_says_the_year():
    assert "Racecard: GB, Thu 20 Nov 2025: " in racecard(make_card([make_race()], day=date(2025, 11, 20)), NOW).text


def test_meeting_of_a_card_has_a_button_to_its_own():
    (button,) = [block["accessory"] for block in racecard(make_card([make_race()]), NOW).blocks if "accessory" in block]
    assert button["value"] == 'racecard GB 2026-11-20 "Ascot"'


DECLARED = (
    Runner(number="4", draw="3", horse="Desert Crown", jockey="R Moore", trainer="A O'Brien", official_rating="121"),
    Runner(horse="Lone Star"),
    Runner(number="9", horse="Stays Home", position="NR"),
)


def tables(message):
    """The rows of each native table."""
    found = [block for block in message.blocks if block["type"] == "data_table"]
    return [[[cell["text"] for cell in row] for row in block["rows"]] for block in found]


def test_card_of_a_course_has_each_races_runners_in_a_table():
    races = [make_race("14:30", title="Novices' Hurdle", runners=DECLARED), make_race("15:00", field_size=7)]
    message = racecard(make_card(races, course=ASCOT), NOW)
    (table,) = tables(message)
    assert table == [
        ["No.", "Horse", "Draw", "Jockey", "Trainer", "OR", "Status"],
        ["4", "Desert Crown", "3", "R Moore", "A O'Brien", "121", NONE],
        [NONE, "Lone Star", NONE, NONE, NONE, NONE, NONE],
        ["9", "Stays Home", NONE, NONE, NONE, NONE, "non-runner"],
    ]
    assert "*14:30*  Novices' Hurdle" in shown(message)
    assert "7 runners" in shown(message)


def test_card_of_a_course_in_sections_labels_the_draw():
    races = [make_race("14:30", title="Novices' Hurdle", runners=DECLARED), make_race("15:00", field_size=7)]
    text = shown(racecard(make_card(races, course=ASCOT), NOW).in_sections())
    assert "*14:30*  Novices' Hurdle\n4  Desert Crown · draw 3 · R Moore / A O'Brien · OR 121\nLone Star" in text
    assert "9  Stays Home · non-runner" in text
    assert "7 runners" in text
    assert "None" not in text


def test_card_of_a_race_that_was_run_has_the_winner_first():
    runners = (Runner(number="1", horse="Fell", position="F"), Runner(number="2", horse="Winner", position="1"))
    message = racecard(make_card([make_race(title="Hurdle", runners=runners)], course=ASCOT), NOW)
    assert tables(message) == [[["Pos", "No.", "Horse"], ["1", "2", "Winner"], ["F", "1", "Fell"]]]
    assert "*14:30*  won by *Winner* · Hurdle\n1  Winner · no. 2\nF  Fell · no. 1" in shown(message.in_sections())


def test_pages_of_a_large_course_card_hold_slacks_limits_and_the_same_races_in_both_forms():
    field = tuple(
        Runner(
            number=str(number), draw=str(number), horse=f"Horse Number {number:03}", jockey="J" * 30, trainer="T" * 30
        )
        for number in range(24)
    )
    card = make_card([make_race(f"{hour}:00", title="Handicap", runners=field) for hour in range(10, 20)], course=ASCOT)
    pages = pages_of(lambda page: racecard(card, NOW, page=page))
    heads = []
    for page in pages:
        assert not block_problems(list(page.blocks), most=BLOCKS_MAX)
        assert not block_problems(list(page.plain_blocks), most=BLOCKS_MAX)
        off = re.findall(r"\*(\d\d:00)\*", shown(page))
        assert off == re.findall(r"\*(\d\d:00)\*", shown(page.in_sections()))
        heads += off
    assert heads == [f"{hour}:00" for hour in range(10, 20)]


def test_meeting_too_long_says_how_many_races_are_left_out():
    races = [make_race(f"{number:05}", title="x" * 90) for number in range(100)]
    text = shown(racecard(make_card(races), NOW))
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
    await command.answer(desk, typed('GB tomorrow "Ascot Heath"'), None)
    await command.answer(desk, typed(""), None)
    assert asked == [("GB", TOMORROW, Course(name="Ascot Heath")), (None, TODAY, None)]


async def test_racecard_raises_a_failure_that_leaves_nothing_to_show(make_desk):
    failure = ServerFault("races/search", request_id="req_7")
    with pytest.raises(ServerFault):
        await command.answer(make_desk(make_card(coverage=Coverage.FAILED, failure=failure)), typed(""), None)
    with_races = make_card([make_race()], Coverage.FAILED, failure=failure)
    assert "req_7" in shown(await command.answer(make_desk(with_races), typed(""), None))


async def test_course_with_an_off_time_is_that_race_alone_and_no_race_is_hidden_by_a_wrong_time(make_desk, asked):
    desk = make_desk(make_card(OF_A_DAY[:2], told=[RACE_OFF], course=ASCOT))
    run = await command.answer(desk, typed("Ascot 14:30"), None)
    assert run.text.startswith("Racecard: Ascot (GB), 14:30, Fri 20 Nov: 1 meeting, 1 race. ")
    assert "Chase" not in shown(run)
    lost = await command.answer(desk, typed("15:00 Ascot"), None)
    assert "ABANDONED: Ascot 15:00, Frost" in lost.text
    assert "Hurdle" not in shown(lost)
    assert "1 race abandoned" in shown(lost)
    whole = await command.answer(desk, typed("Ascot 15:01"), None)
    assert "I know no race off at 15:01 there: these are the nearest." in whole.text
    assert "ABANDONED: Ascot 15:00, Frost" in whole.text
    assert "Hurdle" in shown(whole)
    assert "Chase" in shown(whole)
    assert asked == [(None, TODAY, ASCOT)] * 3


@pytest.mark.parametrize("words", ["Ascot 14.30", "2.30pm Ascot", "Ascot 2:30", "2.30 Ascot"])
async def test_off_time_is_read_as_people_say_it(make_desk, asked, words):
    said = await command.answer(make_desk(make_card(OF_A_DAY[:2], course=ASCOT)), typed(words), None)
    assert said.text.startswith("Racecard: Ascot (GB), 14:30, Fri 20 Nov: 1 meeting, 1 race.")
    assert len(asked) == 1


async def test_abandoned_race_that_is_asked_for_is_shown_with_its_runners(make_desk):
    runners = tuple(Runner(number=str(number), horse=f"Horse {number}") for number in (1, 2))
    race = make_race("13:25", title="Juvenile Hurdle", distance="2m", race_class="2", runners=runners)
    meeting = RacingEvent(
        key="m", kind=EventKind.MEETING_ABANDONED, race=make_race("").model_copy(update={"race_id": None})
    )
    for card in (
        make_card([race.model_copy(update={"abandoned": True, "reason": "Frost"}), make_race()], course=ASCOT),
        make_card([race, make_race()], told=[meeting], course=ASCOT),
    ):
        said = await command.answer(make_desk(card), typed("Ascot 1.25"), None)
        assert "ABANDONED" in said.text
        assert "🛑 *ABANDONED*" in shown(said)
        for words in ("Juvenile Hurdle", "2m", "Class 2", "Horse 1", "Horse 2"):
            assert words in str(said.blocks)
        assert "14:30" not in str(said.blocks)


async def test_time_without_a_race_names_the_nearest_races_with_buttons_and_no_table(make_desk):
    offs = [f"{hour}:{minute}" for hour in (13, 14, 15, 16) for minute in ("05", "40")]
    runners = (Runner(number="1", horse="Horse"),)
    card = make_card([make_race(off, title=f"Race of {off}", runners=runners) for off in offs], course=ASCOT)
    said = await command.answer(make_desk(card), typed("Ascot 2.30"), None)
    assert "I know no race off at 14:30 there: these are the nearest." in said.text
    assert "table" not in {block["type"] for block in said.blocks}
    buttons = [block["accessory"] for block in said.blocks if "accessory" in block]
    lines = [button["value"] for button in buttons]
    assert [line.split()[-1] for line in lines[:-1]] == ["13:05", "13:40", "14:05", "14:40", "15:05", "15:40"]
    assert lines[-1] == 'racecard GB 2026-11-20 "Ascot"'
    for line in lines[:-1]:
        one = await command.answer(make_desk(card), typed(line.partition(" ")[2]), None)
        assert "1 meeting, 1 race." in one.text
    assert not any(block_problems(said.blocks))


async def test_day_and_off_time_are_told_apart(make_desk, asked):
    said = await command.answer(make_desk(make_card(OF_A_DAY[:2], course=ASCOT)), typed("Ascot 5/12 2pm"), None)
    assert asked == [(None, date(2026, 12, 5), ASCOT)]
    assert "I know no race off at 14:00 there" in said.text


PARIS = ZoneInfo("Europe/Paris")
WITH_MOMENTS = [
    make_race("13:30").model_copy(update={"off": OffTime(text="13:30", off_at=NOW.replace(minute=30))}),
    make_race("15:00").model_copy(update={"off": OffTime(text="15:00", off_at=NOW.replace(hour=15))}),
]


@pytest.mark.parametrize("zone", [PARIS, None])
async def test_readers_clock_is_told_only_where_it_differs(make_desk, zone):
    asks = []

    async def tell(user_id):
        asks.append(user_id)
        return zone

    desk = make_desk(make_card(WITH_MOMENTS, course=ASCOT))
    desk.people.zone = tell
    text = shown(await command.answer(desk, typed("Ascot"), None))
    assert ("*13:30*" in text) == (zone is PARIS)
    assert "*15:00 (your clock: <!date^" in text
    assert text.count("your clock") == (1 if zone else 2)
    assert asks == ["U1"]


@pytest.mark.parametrize(
    "card",
    [
        make_card(WITH_MOMENTS),
        make_card([make_race()], course=ASCOT),
        make_card(WITH_MOMENTS, told=[MEETING_OFF], course=ASCOT),
        make_card([WITH_MOMENTS[0].model_copy(update={"abandoned": True}), make_race("16:00")], course=ASCOT),
    ],
)
async def test_slack_is_not_asked_for_a_clock_that_no_line_shows(make_desk, card):
    async def refuse(_user_id):
        raise AssertionError

    desk = make_desk(card)
    desk.people.zone = refuse
    assert "your clock" not in shown(await command.answer(desk, typed("Ascot"), None))


async def test_two_off_times_are_asked_back(make_desk):
    with pytest.raises(CommandError, match="One off time at a time") as refused:
        await command.answer(make_desk(make_card()), typed("Ascot 14:30 15:00"), None)
    assert refused.value.lines == {"14:30": "racecard Ascot 14:30", "15:00": "racecard Ascot 15:00"}

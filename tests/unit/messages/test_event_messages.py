import re
from datetime import UTC, datetime, timedelta

import pytest

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, VersionRemarks, changes_between
from bot.events.races import Course, OffTime, Race, Runner
from bot.slack.messages import EVENT_MESSAGES, Corrected, MessageContext, render
from bot.slack.messages.alerts.unreadable import reference

NOW = datetime(2026, 11, 20, 14, 32, 10, tzinfo=UTC)
CONTEXT = MessageContext(received_at=NOW, now=NOW, late_after_s=600)
RACE = Race(
    race_id="rc_1", region="GB", course=Course(name="Kempton"), race_date="2026-11-20", off=OffTime(text="14:30")
)


def finish(*positions):
    return tuple(
        Runner(horse=f"Horse {letter}", position=at) for letter, at in zip("ABCDEFGH", positions, strict=False)
    )


def event(kind, race=RACE, **more):
    return RacingEvent(key="k", kind=kind, race=race, **more)


def result(*positions, **more):
    return event(EventKind.RESULT_RECEIVED, RACE.model_copy(update={"runners": finish(*positions), **more}))


def seen(message):
    """Collapsed blocks too."""
    texts = [
        text["text"]
        for outer in message.blocks
        for block in outer.get("child_blocks", [outer])
        for text in [
            *([block["text"]] if "text" in block else []),
            *block.get("fields", []),
            *(block.get("elements", []) if block["type"] != "actions" else []),
        ]
    ]
    return "\n".join(texts)


def rows(message):
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    return [[one["text"] for one in row] for row in table["rows"]]


def collapsed(message):
    (rest,) = [block for block in message.blocks if block["type"] == "container"]
    return rest["title"]["text"], "\n".join(block["text"]["text"] for block in rest["child_blocks"])


def with_context(**changes):
    return CONTEXT.model_copy(update=changes)


def test_every_event_has_a_message():
    assert set(EVENT_MESSAGES) == set(EventKind)


def test_result_text_has_the_first_three():
    message = render(result("3", "1", "2", "4"), CONTEXT)
    assert message.text == "Result: Kempton 14:30 (GB): 1 Horse B, 2 Horse C, 3 Horse A"


def test_result_lists_placed_runners_best_first_then_the_others():
    message = render(result("PU", "2", "1", "F", "PU", None), CONTEXT)
    listed = seen(message.in_sections())
    assert "1  Horse C\n2  Horse B\nPU: Horse A, Horse E\nF: Horse D\nNo position: Horse F" in listed


def test_result_is_a_table_of_what_was_published_in_the_order_of_the_sections():
    table = rows(render(result("PU", "2=", "1", "0", None), CONTEXT))
    assert table == [
        ["Pos", "Horse"],
        ["1", "Horse C"],
        ["2=", "Horse B"],
        ["PU", "Horse A"],
        ["0", "Horse D"],
        ["–", "Horse E"],  # noqa: RUF001  the dash of an empty cell
    ]


def test_table_shows_data_as_it_came_on_one_line():
    runners = (Runner(horse="<!channel> & *Sons* \u202e\n2nd", position="1"), Runner(number="7", position="2"))
    table = rows(render(event(EventKind.RESULT_RECEIVED, RACE.model_copy(update={"runners": runners})), CONTEXT))
    assert table[1:] == [["1", "<!channel> & *Sons* 2nd"], ["2", "no. 7"]]


def test_runners_that_no_table_holds_are_counted():
    runners = tuple(Runner(horse="x" * 60, jockey="y" * 60, position=str(n)) for n in range(1, 151))
    message = render(event(EventKind.RESULT_RECEIVED, RACE.model_copy(update={"runners": runners})), CONTEXT)
    assert f"and {151 - len(rows(message.plainer))} more" in seen(message.plainer)
    title, lines = collapsed(message)
    assert title == "147 other runners"
    assert re.search(rf"and {147 - len(re.findall('x{60}', lines))} more$", lines)


def test_table_has_the_first_three_and_the_container_the_others():
    message = render(result("PU", "2=", "1", "2=", "4", "5", "0"), CONTEXT)
    assert [row[0] for row in rows(message)] == ["Pos", "1", "2=", "2="]
    assert collapsed(message) == ("4 other runners", "4  Horse E\n5  Horse F\nPU: Horse A\n0: Horse G")
    assert rows(message.plainer)[4:] == [["4", "Horse E"], ["5", "Horse F"], ["PU", "Horse A"], ["0", "Horse G"]]


@pytest.mark.parametrize("positions", [("1", "2", "3", "4", "5"), "1" * 6])
def test_small_field_and_many_in_front_are_one_table(positions):
    message = render(result(*positions), CONTEXT)
    assert len(rows(message)) == 1 + len(positions)
    assert "container" not in message.kinds


@pytest.mark.parametrize("kind", [EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED])
def test_abandonment_has_no_native_block(kind):
    race = RACE.model_copy(update={"runners": finish("1", "2")})
    assert render(event(kind, race, races=(race,) * 9), CONTEXT).plain_blocks == ()


def test_dead_heat_keeps_equal_positions():
    message = render(result("1=", "1=", "3"), CONTEXT)
    assert message.text.endswith("1= Horse A, 1= Horse B, 3 Horse C")


def test_many_in_the_first_three_places_are_counted():
    assert render(result(*"1" * 8), CONTEXT).text.endswith("1 Horse F, and 2 more")


def test_position_of_zero_is_no_place():
    message = render(result("0", "1"), CONTEXT)
    assert message.text.endswith(": 1 Horse B")
    assert "0: Horse A" in seen(message.in_sections())


@pytest.mark.parametrize("positions", [(), (None, None)])
def test_result_without_an_order_says_so(positions):
    message = render(result(*positions), CONTEXT)
    assert message.text == "Result: Kempton 14:30 (GB): placings not received"
    assert "Result in, placings not received" in seen(message)


@pytest.mark.parametrize(("status", "shown"), [("Weighed In", False), ("Official", False), ("Postponed", True)])
def test_result_shows_an_unusual_status(status, shown):
    message = render(result("1", status=status), CONTEXT)
    assert (f"Status: {status}" in message.text) is shown
    assert (f"Status: {status}" in seen(message)) is shown


def test_void_race_has_no_winner():
    old = result("1", "2", status="Result")
    first = render(result("1", "2", status="Void"), CONTEXT)
    assert first.text == "VOID: Kempton 14:30 (GB). Race declared void"
    assert "Horse A" not in seen(first)
    void = result(status="Race void")
    changes = changes_between(old, void, received_at=NOW)
    assert any(change.rings for change in changes)
    told = render(void, with_context(changes=changes)).text
    assert told == "VOID: Kempton 14:30 (GB). Race declared void; the earlier result no longer stands"
    unsure = render(void, with_context(changes=changes, order_unknown=True)).text
    assert unsure == "VOID: Kempton 14:30 (GB). Race declared void in one of two versions, not in the other: check"
    assert not changes_between(void, result(status="declared_void"), received_at=NOW)


@pytest.mark.parametrize("positions", [("1",), (None,)])
def test_walkover_is_said_by_the_horse(positions):
    text = render(result(*positions, status="walk-over"), CONTEXT).text
    assert text.endswith(". Walkover: Horse A")
    assert "Status" not in text


@pytest.mark.parametrize(
    "say", [lambda event, context: render(event, context).in_sections(), render], ids=["sections", "table"]
)
def test_nothing_is_called_corrected_where_the_order_is_unknown(say):
    old, new = result("1", "2", going="Good"), result("2", "1", going="Soft")
    changes = changes_between(old, new, received_at=NOW)
    corrected = Corrected(at=NOW, changes=changes, order_unknown=True)
    for context in (with_context(changes=changes, order_unknown=True), with_context(corrected=corrected)):
        message = say(new, context)
        assert not re.search("corrected|changed", f"{message.text}\n{seen(message)}", re.IGNORECASE)


@pytest.mark.parametrize("kind", [EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED])
def test_contradiction_is_in_the_headline(kind):
    message = render(event(kind), with_context(contradicts="race.abandoned"))
    assert "CONFLICT" in message.blocks[0]["text"]["text"]
    assert message.text.startswith("CONFLICT: " if kind is EventKind.RESULT_RECEIVED else "ABANDONED: ")
    assert "CONFLICT" in message.text


def test_result_that_is_also_marked_abandoned_says_so():
    assert "The delivery marks this race abandoned" in render(result("1", abandoned=True), CONTEXT).text


def test_grand_national_is_shown_whole():
    runners = tuple(
        Runner(
            horse=f"A Long Horse Name {n}",
            position=str(n),
            jockey="A Jockey",
            trainer="A Trainer",
            starting_price="100/1",
        )
        for n in range(1, 41)
    )
    message = render(event(EventKind.RESULT_RECEIVED, RACE.model_copy(update={"runners": runners})), CONTEXT)
    assert "40  A Long Horse Name 40 (A Jockey / A Trainer)  SP 100/1" in seen(message.in_sections())
    assert rows(message.plainer)[-1] == ["40", "A Long Horse Name 40", "100/1", "A Jockey", "A Trainer"]
    assert "40  A Long Horse Name 40 (A Jockey / A Trainer)  SP 100/1" in collapsed(message)[1]
    assert not any(" more" in seen(form) for form in message.forms)


def test_corrected_result_says_what_changed_and_links_the_earlier_message():
    old, new = result("1", "2", "3"), result("2", "1", "3")
    context = with_context(
        changes=changes_between(old, new, received_at=NOW),
        previous_link="https://x.slack.com/archives/C1/p1?a=1&b=2",
    )
    assert render(new, context).text == (
        "CORRECTION: Kempton 14:30 (GB): 1st was Horse A, now Horse B; 2nd was Horse B, now Horse A."
        " Now 1 Horse B, 2 Horse A, 3 Horse C."
        " See the <https://x.slack.com/archives/C1/p1?a=1&amp;b=2|earlier message>"
    )
    assert "corrected <!date^" in seen(render(new, context))


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (("1", "2"), ("DSQ", "1"), "Horse A is now DSQ (was 1st); 1st was Horse A, now Horse B"),
        (("1", "2"), (None, "1"), "1st was Horse A, now Horse B"),
        (("1", "2"), ("1", "1"), "dead heat for 1st: Horse A and Horse B"),
        (
            ("1", "2", "3"),
            ("2", "1", "1"),
            "1st was Horse A, now a dead heat: Horse B and Horse C; 2nd was Horse B, now Horse A",
        ),
        (("11", "12"), ("12", "11"), "11th was Horse A, now Horse B; 12th was Horse B, now Horse A"),
        (("PU", "1"), ("2", "1"), "2nd is now Horse A, which was PU"),
    ],
)
def test_correction_says_who_has_which_place_now(before, now, said):
    old, new = result(*before), result(*now)
    text = render(new, with_context(changes=changes_between(old, new, received_at=NOW))).text
    assert text.startswith(f"CORRECTION: Kempton 14:30 (GB): {said}. Now ")


def test_disqualified_winner_is_said_before_the_moves_and_its_reason_stands_with_the_runner():
    old, new = result(*"1234567"), result("DSQ", *"123456")
    first, *others = new.race.runners
    runners = (first.model_copy(update={"position_reason": "Weighed in light"}), *others)
    new = new.model_copy(update={"race": new.race.model_copy(update={"runners": runners})})
    message = render(new, with_context(changes=changes_between(old, new, received_at=NOW)))
    assert (
        ": Horse A is now DSQ (was 1st), because: Weighed in light; 1st was Horse A, now Horse B; 2nd was"
        in message.text
    )
    assert rows(message.plainer)[-1] == ["DSQ", "Horse A", "Weighed in light"]
    assert "DSQ: Horse A (Weighed in light)" in collapsed(message)[1]


def test_runner_without_a_name_is_said_by_its_number():
    def numbered(position):
        runners = (Runner(horse="Alpha", position="1"), Runner(number="7", position=position))
        return event(EventKind.RESULT_RECEIVED, RACE.model_copy(update={"runners": runners}))

    changes = changes_between(numbered("2"), numbered("1"), received_at=NOW)
    text = render(numbered("1"), with_context(changes=changes)).text
    assert "dead heat for 1st: Alpha and no. 7" in text


def test_place_that_is_shared_by_now_is_said():
    old, new = result("1"), result("1=")
    corrected = Corrected(at=NOW, changes=changes_between(old, new, received_at=NOW))
    assert "Corrected 14:32 UTC: Horse A is now 1= (was 1st)" in render(new, with_context(corrected=corrected)).text


def test_ringing_version_is_never_called_a_first_result():
    changes = (Change(field="runner.position", of="Horse A", before="1", now="1", rings=True),)
    assert render(result("1"), with_context(changes=changes)).text.startswith("CORRECTION: ")


def test_runners_of_a_card_are_said_together():
    def card_of(*names):
        horses = tuple(Runner(horse=name.strip("!"), position="NR" if "!" in name else None) for name in names)
        return event(EventKind.RACECARD_PUBLISHED, Race(), races=(Race(title="T", runners=horses), Race(title="U")))

    changes = changes_between(card_of("A", "B", "C", "D", "E"), card_of("A", "B", "C!"), received_at=NOW)
    text = render(card_of("A", "B", "C!"), with_context(changes=changes)).text
    assert "D and E in the T are no longer declared; C in the T is now a non-runner" in text


def test_racecard_says_which_races_it_marks_abandoned_and_why():
    card = Race(region="GB", course=Course(name="Ascot"), race_date="2026-11-21")
    races = (
        Race(off=OffTime(text="13:00"), title="First", abandoned=True, status="Abandoned", reason="fog"),
        Race(off=OffTime(text="13:30"), title="Second", status="Postponed"),
        Race(off=OffTime(text="14:00"), title="Third", status="Declared"),
    )
    message = render(event(EventKind.RACECARD_PUBLISHED, card, races=races), CONTEXT)
    assert message.text.endswith(": 3 races declared. The delivery marks 1 race abandoned: 13:00  First · fog")
    assert "13:00  First · 🛑 ABANDONED · fog\n13:30  Second · Status: Postponed\n14:00  Third" in seen(message)


def test_correction_of_other_facts_is_said_in_their_words():
    changes = (
        Change(field="race.going", before="Good to Firm", now="Soft"),
        Change(field="race.off", before="14:30", now="14:35"),
        Change(field="runner.starting_price", of="Golden Melody", before="7/2", now="99/1"),
    )
    text = render(result("1"), with_context(changes=changes)).text
    assert "going was Good to Firm, now Soft; off time was 14:30, now 14:35" in text
    assert "starting price of Golden Melody was 7/2, now 99/1" in text


def test_corrections_that_an_earlier_version_of_the_bot_stored_are_still_said():
    stored = '{"changes":{"going":["good","soft"],"position of horse b":["2","1"],"something":["a","b"]}}'
    changes = VersionRemarks.model_validate_json(stored).changes
    text = render(result("1", "1"), with_context(changes=changes)).text
    assert "dead heat for 1st: Horse A and Horse B; going was good, now soft; something was a, now b" in text


def test_many_corrections_are_counted():
    changes = tuple(Change(field=f"fact {n}", before="a", now="b") for n in range(9))
    assert "; and 4 more. Now" in render(result("1"), with_context(changes=changes)).text


@pytest.mark.parametrize("link", ["http://x.example", "https://x|<!channel>", "https://x y", "javascript:alert(1)"])
def test_link_that_is_no_https_address_is_left_out(link):
    assert "earlier message" not in render(result("1"), with_context(previous_link=link)).text


def test_abandoned_race_names_course_time_region_and_reason():
    message = render(event(EventKind.RACE_ABANDONED, reason="frozen track"), CONTEXT)
    assert message.text == "ABANDONED: Kempton 14:30 (GB), frozen track"


def test_abandoned_race_of_another_day_names_the_day():
    race = RACE.model_copy(update={"race_date": "2026-11-28"})
    assert render(event(EventKind.RACE_ABANDONED, race), CONTEXT).text == "ABANDONED: Kempton 14:30, Sat 28 Nov (GB)"


def test_abandoned_race_of_unknown_region_is_marked_in_text_and_blocks():
    message = render(event(EventKind.RACE_ABANDONED, RACE.model_copy(update={"region": None})), CONTEXT)
    assert message.text == "ABANDONED: Kempton 14:30 (region unknown)"
    assert "region unknown" in seen(message)


def test_abandoned_race_says_what_did_not_come():
    assert render(event(EventKind.RACE_ABANDONED, Race(region="GB")), CONTEXT).text == (
        "ABANDONED: course not given, time not given (GB), the delivery did not say which race"
    )
    assert render(event(EventKind.RACE_ABANDONED, Race(race_id="rc_9", off=OffTime(text="14:30"))), CONTEXT).text == (
        "ABANDONED: course not given, 14:30 (region unknown), race rc_9"
    )


def test_abandonment_still_begins_as_one_when_corrected_late_and_contradicting():
    context = with_context(
        now=NOW + timedelta(minutes=42),
        changes=(Change(field="event.reason", before="frost", now="frozen track"),),
        contradicts="result.received",
        order_unknown=True,
    )
    assert render(event(EventKind.RACE_ABANDONED, reason="frozen track"), context).text == (
        "ABANDONED: Kempton 14:30 (GB), frozen track."
        " Two versions disagree: reason is frost in one, frozen track in the other."
        " CONFLICT: check which is true. Contradicts an earlier report: a result was reported (alert 42 min late)"
    )


def test_abandoned_meeting_names_itself_and_counts_its_races():
    meeting = Race(region="GB", course=Course(name="Ascot"), race_date="2026-11-21")
    races = (Race(off=OffTime(text="13:00"), title="First"), Race(race_id="rc_2"))
    message = render(event(EventKind.MEETING_ABANDONED, meeting, races=races, reason="waterlogged"), CONTEXT)
    assert message.text == "ABANDONED: Ascot, whole meeting, Sat 21 Nov (GB), waterlogged, 2 races"
    assert "13:00  First\nrace rc_2" in seen(message)


@pytest.mark.parametrize(
    ("filled_in", "is_said"),
    [
        ({"title": "Cup"}, True),
        ({"field_size": 9}, True),
        ({"reason": "fog"}, True),
        ({"reason": "waterlogged "}, False),
        ({"going": "Soft"}, False),
        ({"title": "Cup", "runners": finish("1")}, False),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_abandoned_meeting_says_from_the_race_book_only_what_a_line_shows(filled_in, is_said, is_named):
    race = RACE.model_copy(update=filled_in | {"from_book": tuple(filled_in)})
    lost = () if is_named else (event(EventKind.RACE_ABANDONED, race),)
    meeting = event(EventKind.MEETING_ABANDONED, races=(race,) if is_named else (), reason="Waterlogged")
    said = "details of races from the race book" in seen(render(meeting, with_context(lost=lost)))
    assert said is is_said


def test_racecard_says_from_the_race_book_only_what_a_line_shows():
    def small_print(**filled_in):
        race = RACE.model_copy(update=filled_in | {"from_book": tuple(filled_in)})
        return seen(render(event(EventKind.RACECARD_PUBLISHED, races=(race,)), CONTEXT))

    assert "details of races from the race book" in small_print(title="Cup")
    assert "from the race book" not in small_print(region="GB", going="Soft")


def test_race_with_a_result_is_not_shown_abandoned():
    races = (RACE.model_copy(update={"runners": finish("1", "2"), "title": "Settled one"}), Race(race_id="rc_2"))
    message = render(event(EventKind.MEETING_ABANDONED, races=races), with_context(partly_run=True))
    assert message.text == ("ABANDONED: Kempton, rest of the meeting, Fri 20 Nov (GB), 1 race lost, 1 run")
    assert "\n1 race lost, 1 run\n" in seen(message)
    assert "Settled one" not in seen(message)
    assert "was run" not in seen(message)


def test_racecard_counts_races_or_runners_or_neither():
    card = Race(region="GB", course=Course(name="Ascot"), race_date="2026-11-21")
    kind = EventKind.RACECARD_PUBLISHED
    one_race = RACE.model_copy(update={"field_size": 12})
    assert (
        render(event(kind, card, races=(Race(),) * 6), CONTEXT).text
        == "Racecard: Ascot, Sat 21 Nov (GB): 6 races declared"
    )
    assert render(event(kind, card), CONTEXT).text == "Racecard: Ascot, Sat 21 Nov (GB): declarations available"
    assert render(event(kind, one_race), CONTEXT).text == (
        "Racecard: Kempton 14:30, Fri 20 Nov (GB): 12 runners declared"
    )


def test_number_of_runners_that_no_race_has_is_not_shown():
    race = RACE.model_copy(update={"field_size": 10**5_000})
    assert "declarations available" in render(event(EventKind.RACECARD_PUBLISHED, race), CONTEXT).text


def test_unreadable_delivery_is_a_plain_line_with_its_reference():
    key = f"unreadable:{'0123456789abcdef' * 4}"
    assert render(RacingEvent(key=key), CONTEXT).text == (
        "A delivery could not be read. It may be an abandonment: check your other source. Admins were told."
        " Reference inbox-0123456789ab"
    )
    assert render(RacingEvent(key=key, name="<!here>"), CONTEXT).text.endswith(
        "inbox-0123456789ab (event `&lt;!here&gt;`)"
    )
    assert "Reference inbox-17" in render(RacingEvent(key=key), with_context(reference="inbox-17")).text


def test_reference_of_a_key_without_a_hash_is_made_from_the_key():
    assert reference("what:ever") == reference("what:ever") != reference("what:else")


@pytest.mark.parametrize("kind", [*EventKind, None])
def test_small_print_stands_under_every_message(kind):
    context = with_context(may_be_repeat=True, data_as_of="2026-11-20T14:00:00+00:00")
    small_print = [element["text"] for element in render(event(kind), context).blocks[-2]["elements"]]
    assert small_print == [
        "GB",
        "2026-11-20",
        "race rc_1",
        "received <!date^1795185130^{time_secs}|14:32:10 UTC>",
        "data as of <!date^1795183200^{date_short} {time}|2026-11-20 14:00 UTC>",
        "may be a repeat",
    ]

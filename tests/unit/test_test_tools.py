"""The tests' own tools: the soak's judge, the judge of the payload cases, the order of tests, clock and ledger."""

import inspect
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, union_all, update
from sqlalchemy.dialects import sqlite
from sqlmodel import col

from bot.channels import watches
from bot.db.tables import BookRace, Notice, WatchRow
from bot.ports import Ports
from sandbox.racing_service.racing_standin import RacingService
from sandbox.slack.values import PostedMessage
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import now
from tests.conftest import spread
from tests.integration.payloads.door import faults_of
from tests.rows import over
from tests.said import ALL_CLEAR, WARNING
from tests.sim.people import Choice, PeoplesChannel
from tests.soak.oracle import ADMINS, Oracle, missing, received_in_order
from tests.soak.racing import Races, SoakChannel
from tests.statements import Ledger, shapes

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHANNEL = SoakChannel("CR0", ("R0",))
PLACE = f"channel <#{CHANNEL.channel_id}>"
CLOSED = f"{WARNING}Slack no longer lets me post in {PLACE} (archived). Invite me back."
OPEN = f"{ALL_CLEAR}Slack lets me post in {PLACE} again. Its subscriptions go on."


@pytest.fixture
def races():
    return Races(Random(1), NOW, regions=("R0",))


def message(channel_id, number, text, key, every_s=1.0):
    at = NOW + timedelta(seconds=number * every_s)
    metadata = {"event_payload": {"post": f"{key}@{channel_id}"}}
    return PostedMessage(
        ts=f"{number}.0", channel=channel_id, text=text, user="U0BOT", received_at=at, metadata=metadata
    )


def posted(deliveries, *, every_s=1.0, also=""):
    """The channel as expected, with a message a second and `also` at the end of each message."""
    return [
        message(CHANNEL.channel_id, number, f"{one.begins}: {one.says}{also}", one.name, every_s)
        for number, one in enumerate(deliveries)
    ]


def judged(deliveries, messages, admins=(), refused=(), closed=()):
    """By receipt in the order of `deliveries`. `refused`: deliveries whose message Slack refused."""
    order = {id(one): number for number, one in enumerate(deliveries)}
    keys = {f"{one.name}@{CHANNEL.channel_id}" for one in refused}
    oracle = Oracle(deliveries, [CHANNEL], lambda one, other: order[id(one)] < order[id(other)], 1.0, keys, closed)
    told = [message(ADMINS, number, text, f"notice-{number}") for number, text in enumerate(admins)]
    return oracle.judge({CHANNEL.channel_id: messages, ADMINS: told})


def faults(*case):
    """The names of the faults."""
    verdict = judged(*case)
    return [name for name in ("lost", "doubled", "out_of_order", "noise", "too_fast") for _ in getattr(verdict, name)]


def was_given_up(delivery):
    return (
        f"{WARNING}A message for {PLACE} was not posted: chat.postMessage: msg_too_long. It is kept, and not tried "
        f"again by itself ({delivery.name}@{CHANNEL.channel_id})."
    )


@pytest.mark.parametrize(
    ("kinds", "order", "wrong"),
    [
        (("result", "abandoned", "result", "meeting"), (0, 1, 3, 2), []),
        (("result", "result"), (0,), ["lost"]),
        (("result",), (0, 0), ["doubled"]),
        (("result", "result"), (1, 0), ["out_of_order"]),
        (("abandoned", "abandoned"), (1, 0), ["out_of_order"]),
        (("abandoned", "result"), (1, 0), ["out_of_order"]),
        (("contradicted",), (1, 0), ["out_of_order"]),
        (("mended",), (0,), ["lost"]),
        # Slack refused the edit.
        (("mended",), (0, 1), []),
    ],
)
def test_soak_oracle_finds_what_is_wrong(races, kinds, order, wrong):
    deliveries = [one for kind in kinds for one in getattr(races, kind)()]
    assert faults(deliveries, posted([deliveries[number] for number in order])) == wrong


def test_soak_oracle_finds_words_of_another_haste_noise_and_an_edit_that_was_made_twice(races):
    one, other = races.result()[0], races.result()[0]
    first, second = posted([one, other])
    assert set(faults([one, other], [first, replace(second, text=first.text)])) == {"lost", "doubled"}
    assert faults([one, other], posted([one, other], every_s=0.5)) == ["too_fast"]
    assert faults([one], posted([one, other])) == ["noise"]
    result, edit = races.mended()
    assert faults([result, edit], posted([result], also=f" {edit.says}")) == []
    assert faults([result, edit], posted([result, edit], also=f" {edit.says}")) == ["doubled"]


def test_soak_oracle_takes_a_message_as_given_up_that_slack_refused_and_admins_were_told_of(races):
    one, other = races.result()[0], races.result()[0]
    both, told = [one, other], [was_given_up(other)]
    verdict = judged(both, posted([one]), told, [other])
    assert (verdict.problems, verdict.given_up) == ([], 1)
    assert faults(both, posted([one]), [], [other]) == ["lost"]
    assert faults(both, posted([one]), told) == ["lost"]
    assert faults(both, posted(both), told, [other]) == ["doubled"]
    assert faults(both, posted([one]), told * 2, [other]) == ["noise"]
    # A given-up message hurries the result of the race all the same.
    result, abandonment = races.contradicted()
    told = [was_given_up(abandonment)]
    assert faults([one, result, abandonment], posted([result, one]), told, [abandonment]) == []
    assert faults([one, result], posted([result, one])) == ["out_of_order"]


def test_soak_oracle_takes_a_correction_that_was_given_up_in_the_message_of_the_version_before(races):
    (result,) = races.result()
    correction = replace(result, version=2, body=result.body + b" ", begins="CORRECTION", says="1st was A, now B")
    (plain,) = posted([result])
    edited = replace(plain, text=f"{result.begins}: Corrected: {correction.says}")
    for shown in (edited, plain):
        assert faults([result, correction], [shown], [was_given_up(correction)], [correction]) == []
    assert faults([result, correction], [edited]) != []


def test_soak_oracle_takes_each_closing_once_and_with_its_end(races):
    deliveries = races.result()

    def wrong(*told, closed=(CHANNEL.channel_id,)):
        return faults(deliveries, posted(deliveries), told, (), closed)

    assert wrong(CLOSED, OPEN, CLOSED, OPEN) == wrong(CLOSED, OPEN, CLOSED) == []
    assert len(wrong(CLOSED, CLOSED)) == len(wrong(CLOSED, OPEN, OPEN)) == 1
    assert len(wrong(CLOSED, OPEN, closed=())) == len(wrong("Something else.")) == 1


def test_soak_oracle_takes_the_inbox_for_the_order_of_receipt_and_finds_what_is_missing_there(races):
    one, other = races.result()[0], races.result()[0]
    assert len(missing({}, [one])) == 1
    receipts = {(one.key, one.sha256): (NOW, 1), (other.key, other.sha256): (NOW, 2)}
    assert received_in_order(receipts, one_process=True)(one, other)
    precedes = received_in_order(receipts, one_process=False)
    assert not precedes(one, other)
    one.answered_at, other.sent_at = NOW, NOW + timedelta(seconds=1)
    assert (precedes(one, other), precedes(other, one)) == (True, False)


def chose(at_s, regions=("R0",), *, is_paused=False):
    at = NOW + timedelta(seconds=at_s)
    return Choice(at, at, frozenset(regions), is_paused)


@pytest.mark.parametrize(
    ("choices", "stand", "found"),
    [
        ([chose(0)], 1, []),
        ([chose(0)], 0, ["is told by nothing"]),
        ([chose(0)], 2, ["stands 2 times", "is told twice"]),
        ([chose(0), chose(30, ())], 1, ["nobody wanted"]),
        ([chose(0), chose(30, ())], 0, []),
        ([chose(0), chose(65, ())], 0, []),
        ([chose(0), chose(65, ())], 1, []),
        ([chose(0), chose(30, is_paused=True), chose(90)], 1, ["told in a pause"]),
    ],
    ids=["right", "lost", "doubled", "unwanted", "ended", "just before the end", "told before the end", "paused"],
)
def test_channel_is_judged_by_its_choices_at_the_time(races, choices, stand, found):
    (result,) = races.result()
    result.sent_at = result.answered_at = NOW + timedelta(seconds=60)
    (told,) = posted([result])
    there = [replace(told, received_at=result.answered_at)] * stand
    problems = list(PeoplesChannel(CHANNEL.channel_id, choices).problems([result], there))
    assert len(problems) == len(found)
    assert all(words in problem for words, problem in zip(found, problems, strict=True))


# The judge of the payload cases sees the faults of a message


TEXT = "Result: Thirsk 14:37 (GB): 1 Plum Heron, 2 Cobalt Fiddle"
CELLS = [[{"text": "1"}, {"text": "Plum Heron"}], [{"text": "Onyx Wren"}, {"text": "non-runner"}]]
TABLE = {"type": "table", "rows": CELLS}


@over(
    ("rules", "text"),
    [
        *(({"contians": ["14:37"]}, TEXT), ({"begins": "ABANDONED: "}, TEXT), ({"contains": ["4:37"]}, TEXT)),
        *(({"never": [said]}, TEXT) for said in ("Plum Heron", "non-runner")),
        ({"order": ["Cobalt Fiddle", "14:37"]}, TEXT),
        *(({"placed": wrong}, TEXT) for wrong in (["Cobalt Fiddle", "Plum Heron"], ["Cobalt Fiddle"])),
        ({"placed": [["Plum Heron", "Cobalt Fiddle"]]}, TEXT),
        ({"placed": ["Plum Heron"], "unplaced": ["Cobalt Fiddle"]}, TEXT),
        ({"placed": ["Plum Heron", "Cobalt Fiddle"]}, "Result: 1st (disqua… Plum Heron, 1 Cobalt Fiddle"),
        *(({"runners": [missing]}, TEXT) for missing in ("Marsh Acorn", "Onyx Wren")),
        ({"non_runners": ["Plum Heron"]}, TEXT),
    ],
)
def test_wrong_message_has_a_fault_and_words_and_figures_count_only_whole(rules, text):
    """That a right message has no faults, the payload cases tell."""
    assert len(faults_of(rules, [SimpleNamespace(text=text, blocks=[TABLE])])) >= 1
    right = {"contains": ["thirsk"], "never": ["1 run", "4:37", "fid"]}
    assert faults_of(right, [SimpleNamespace(text=TEXT, blocks=[TABLE])]) == []


# The order in which the tests are handed to workers


TESTS = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=60).map(
    lambda drawn: [
        (number, f"file {file}" if runs_bot else None, is_long)
        for number, (file, runs_bot, is_long) in enumerate(sorted(drawn))
    ]
)


def in_order(tests, workers):
    return spread(tests, workers, is_long=lambda test: test[2], bot_of=lambda test: test[1])


@given(TESTS, st.integers(1, 6))
def test_every_test_is_run_once(tests, workers):
    assert sorted(in_order(tests, workers), key=lambda test: test[0]) == tests


# The clock of the tests


def test_bot_and_stand_ins_have_the_clock_of_the_tests():
    clocks = {name: module.utc_now for name, module in tuple(sys.modules.items()) if hasattr(module, "utc_now")}
    assert {"bot.ports", "sandbox.slack.state"} <= clocks.keys()
    assert {name for name, clock in clocks.items() if clock is not now} == set()
    assert Ports().clock is now
    for made in (SlackWorkspace, RacingService):
        assert inspect.signature(made).parameters["clock"].default is now


# The ledger of statements


RACES = select(col(BookRace.race_id))


def on_sqlite(statement):
    return set(shapes(statement.compile(dialect=sqlite.dialect())))


def test_parts_of_a_statement_are_shapes_and_a_lock_is_a_shape_of_its_own():
    assert on_sqlite(RACES).isdisjoint(on_sqlite(RACES.with_for_update(skip_locked=True)))
    days = select(col(BookRace.race_date))
    assert on_sqlite(union_all(RACES, days)) == on_sqlite(RACES) | on_sqlite(days)
    assert len(on_sqlite(update(WatchRow).where(col(WatchRow.id) == 1).values(name="a", kind="b"))) == 2


@pytest.fixture
def ledger():
    kept = Ledger()
    yield kept
    kept.close()


async def test_statement_of_the_bot_is_missing_on_postgresql_and_a_statement_of_a_test_is_not(ledger, database):
    await database.read(lambda session: session.execute(select(col(Notice.key))).all())
    assert ledger.missing() == {}
    await database.read(lambda session: watches.of_channel(session, "C1"))
    ((shape, test),) = ledger.missing().items()
    assert "FROM watch WHERE" in shape
    assert "test_statement_of_the_bot" in test
    ledger.ran["postgresql"][shape] = "another test"
    assert ledger.missing() == {}

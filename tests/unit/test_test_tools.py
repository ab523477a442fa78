"""The tests' own tools: the soak's judge, the judge of the payload cases, and the order of the tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.slack.values import PostedMessage
from tests.integration.payloads.judge import faults_of
from tests.notice_levels import ALL_CLEAR, WARNING
from tests.soak.oracle import ADMINS, Oracle, missing, received_in_order
from tests.soak.racing import Races, SoakChannel
from tests.spread import spread

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHANNEL = SoakChannel("CR0", ("R0",))


@pytest.fixture
def races():
    return Races(Random(1), NOW, regions=("R0",))


def posted(deliveries, *, every_s=1.0):
    """The channel as it should be, a message a second."""
    return [
        PostedMessage(
            ts=f"{number}.0",
            channel=CHANNEL.channel_id,
            text=f"{one.begins}: {one.says}",
            user="U0BOT",
            received_at=NOW + timedelta(seconds=number * every_s),
            metadata={"event_payload": {"post": f"{one.name}@{CHANNEL.channel_id}"}},
        )
        for number, one in enumerate(deliveries)
    ]


def judged(deliveries, messages, admins=(), refused=(), archived=()):
    """By receipt in the order of `deliveries`."""
    order = {id(one): number for number, one in enumerate(deliveries)}
    oracle = Oracle(deliveries, [CHANNEL], lambda one, other: order[id(one)] < order[id(other)], 1.0, refused, archived)
    return oracle.judge({CHANNEL.channel_id: messages, ADMINS: notices(admins)})


def notices(texts):
    """The admins' channel."""
    return [
        PostedMessage(
            ts=f"{number}.0",
            channel=ADMINS,
            text=text,
            user="U0BOT",
            received_at=NOW,
            metadata={"event_payload": {"post": f"notice-{number}@{ADMINS}"}},
        )
        for number, text in enumerate(texts)
    ]


def key_in_channel(delivery):
    return f"{delivery.name}@{CHANNEL.channel_id}"


def was_given_up(delivery):
    return (
        f"{WARNING}A message for channel <#{CHANNEL.channel_id}> was not posted: chat.postMessage: msg_too_long. It is "
        f"kept, and not tried again by itself ({key_in_channel(delivery)})."
    )


CLOSED = f"{WARNING}Slack no longer lets me post in channel <#{CHANNEL.channel_id}> (archived). Invite me back."
OPEN = f"{ALL_CLEAR}Slack lets me post in channel <#{CHANNEL.channel_id}> again. Its subscriptions go on."


def test_soak_oracle_is_content_with_what_is_right(races):
    deliveries = [*races.result(), *races.abandoned(), *races.result(), *races.meeting()]
    first, lost, second, meeting = deliveries
    assert judged(deliveries, posted([first, lost, meeting, second])).problems == []


def two(races, first, second=None):
    return [*getattr(races, first)(), *getattr(races, second or first)()]


def with_words_of_the_first(deliveries):
    right, wrong = posted(deliveries)
    return [right, PostedMessage(**{**vars(wrong), "text": right.text})]


@pytest.mark.parametrize(
    ("make", "post", "found"),
    [
        (lambda races: two(races, "result"), lambda all_: posted(all_[:1]), {"lost": 1}),
        (lambda races: two(races, "result"), with_words_of_the_first, {"lost": 1, "doubled": 1}),
        (lambda races: races.result(), lambda all_: posted(all_ * 2), {"doubled": 1}),
        (lambda races: two(races, "result"), lambda all_: posted(all_[::-1]), {"out_of_order": 1}),
        (lambda races: two(races, "abandoned"), lambda all_: posted(all_[::-1]), {"out_of_order": 1}),
        (lambda races: two(races, "abandoned", "result"), lambda all_: posted(all_[::-1]), {"out_of_order": 1}),
        (lambda races: races.contradicted(), lambda all_: posted(all_[::-1]), {"out_of_order": 1}),
        (lambda races: two(races, "result"), lambda all_: posted(all_, every_s=0.5), {"too_fast": 1}),
    ],
    ids=[
        "lost",
        "words of another",
        "doubled",
        "results",
        "abandonments",
        "behind a later result",
        "before its own race's",
        "too fast",
    ],
)
def test_soak_oracle_finds_what_is_wrong(races, make, post, found):
    deliveries = make(races)
    verdict = judged(deliveries, post(deliveries))
    assert {name: len(getattr(verdict, name)) for name in found} == found


def test_soak_oracle_finds_a_message_that_nobody_asked_for(races):
    wanted, other = races.result()[0], races.result()[0]
    assert len(judged([wanted], posted([wanted, other])).noise) == 1


def test_soak_oracle_finds_an_edit_that_was_not_made(races):
    result, edit = races.mended()
    assert len(judged([result, edit], posted([result])).lost) == 1
    mended = [PostedMessage(**{**vars(one), "text": f"{one.text} {edit.says}"}) for one in posted([result])]
    assert judged([result, edit], mended).problems == []


def test_soak_oracle_takes_a_refused_edit_as_a_message_of_its_own_and_once(races):
    deliveries = races.mended()
    assert judged(deliveries, posted(deliveries)).problems == []
    both = [PostedMessage(**{**vars(one), "text": f"{one.text} {deliveries[1].says}"}) for one in posted(deliveries)]
    assert len(judged(deliveries, both).doubled) == 1


def test_soak_oracle_takes_a_message_as_given_up_that_slack_refused_and_admins_were_told_of(races):
    first, second = races.result()[0], races.result()[0]
    told, refused = [was_given_up(second)], {key_in_channel(second)}
    verdict = judged([first, second], posted([first]), told, refused)
    assert (verdict.problems, verdict.given_up) == ([], 1)
    assert len(judged([first, second], posted([first]), [], refused).lost) == 1
    assert len(judged([first, second], posted([first]), told).lost) == 1
    assert len(judged([first, second], posted([first, second]), told, refused).doubled) == 1
    assert len(judged([first, second], posted([first]), told * 2, refused).noise) == 1


def test_soak_oracle_takes_a_result_as_hurried_by_an_abandonment_that_was_given_up(races):
    first, (second, abandonment) = races.result()[0], races.contradicted()
    told, refused = [was_given_up(abandonment)], {key_in_channel(abandonment)}
    deliveries = [first, second, abandonment]
    assert judged(deliveries, posted([second, first]), told, refused).problems == []
    assert len(judged(deliveries[:2], posted([second, first])).out_of_order) == 1


def test_soak_oracle_takes_a_correction_that_was_given_up_in_the_message_of_the_version_before(races):
    result = races.result()[0]
    correction = replace(result, version=2, body=result.body + b" ", begins="CORRECTION", says="1st was A, now B")
    (message,) = posted([result])
    edited = PostedMessage(**{**vars(message), "text": f"{result.begins}: Corrected: {correction.says}"})
    told, refused = [was_given_up(correction)], {key_in_channel(correction)}
    assert judged([result, correction], [edited], told, refused).problems == []
    assert judged([result, correction], [message], told, refused).problems == []
    assert len(judged([result, correction], [edited]).problems) > 0


def test_soak_oracle_takes_each_closing_once_and_with_its_end(races):
    (delivery,) = races.result()

    def problems(*told, archived=(CHANNEL.channel_id,)):
        return judged([delivery], posted([delivery]), told, archived=archived).problems

    assert problems(CLOSED, OPEN, CLOSED, OPEN) == problems(CLOSED, OPEN, CLOSED) == []
    assert len(problems(CLOSED, CLOSED)) == len(problems(CLOSED, OPEN, OPEN)) == 1
    assert len(problems(CLOSED, OPEN, archived=())) == 1
    assert len(problems("Something else.")) == 1


def test_soak_oracle_takes_the_inbox_for_the_order_of_receipt(races):
    one, other = races.result()[0], races.result()[0]
    receipts = {(one.key, one.sha256): (NOW, 1), (other.key, other.sha256): (NOW, 2)}
    assert received_in_order(receipts, one_process=True)(one, other)
    assert not received_in_order(receipts, one_process=False)(one, other)
    one.answered_at, other.sent_at = NOW, NOW + timedelta(seconds=1)
    assert received_in_order(receipts, one_process=False)(one, other)
    assert not received_in_order(receipts, one_process=False)(other, one)


def test_soak_oracle_finds_a_delivery_that_was_answered_and_not_stored(races):
    (delivery,) = races.result()
    assert len(missing({}, [delivery])) == 1


# The judge of the payload cases sees what is wrong with a message


TEXT = "Result: Thirsk 14:37 (GB): 1 Plum Heron, 2 Cobalt Fiddle"
DEAD_HEAT = "Result: Thirsk 14:37 (GB): dead heat for 1st: Plum Heron and Cobalt Fiddle, 3 Marsh Acorn"
TABLE = {
    "type": "table",
    "rows": [[{"text": "1"}, {"text": "Plum Heron"}], [{"text": "Onyx Wren"}, {"text": "non-runner"}]],
}


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"begins": "Result: ", "contains": ["thirsk", ["2:37", "14:37"]], "never": ["1 run", "4:37", "fid"]}, TEXT),
        ({"placed": ["Plum Heron", "Cobalt Fiddle"], "unplaced": ["Marsh Acorn"]}, TEXT),
        ({"placed": [["Cobalt Fiddle", "Plum Heron"], "Marsh Acorn"]}, DEAD_HEAT),
        (
            {"placed": ["Plum Heron"], "unplaced": ["Cobalt Fiddle"]},
            "Result: 1 Plum Heron. Disqualified: Cobalt Fiddle",
        ),
        ({"order": ["14:37", "Cobalt Fiddle"], "runners": ["Plum Heron"], "non_runners": ["Onyx Wren"]}, TEXT),
    ],
)
def test_right_message_has_no_faults(rules, text):
    assert faults_of(rules, [SimpleNamespace(text=text, blocks=[TABLE])]) == []


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"contians": ["14:37"]}, TEXT),
        ({"begins": "ABANDONED: "}, TEXT),
        ({"contains": ["4:37"]}, TEXT),
        ({"never": ["Plum Heron"]}, TEXT),
        ({"never": ["non-runner"]}, TEXT),
        ({"order": ["Cobalt Fiddle", "14:37"]}, TEXT),
        ({"placed": ["Cobalt Fiddle", "Plum Heron"]}, TEXT),
        ({"placed": ["Cobalt Fiddle"]}, TEXT),
        ({"placed": [["Plum Heron", "Cobalt Fiddle"]]}, TEXT),
        ({"placed": ["Plum Heron"], "unplaced": ["Cobalt Fiddle"]}, TEXT),
        ({"placed": ["Plum Heron", "Cobalt Fiddle"]}, "Result: 1st (disqua… Plum Heron, 1 Cobalt Fiddle"),
        ({"runners": ["Marsh Acorn"]}, TEXT),
        ({"runners": ["Onyx Wren"]}, TEXT),
        ({"non_runners": ["Plum Heron"]}, TEXT),
    ],
)
def test_wrong_message_has_a_fault(rules, text):
    assert len(faults_of(rules, [SimpleNamespace(text=text, blocks=[TABLE])])) >= 1


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


def test_each_worker_begins_with_a_long_test_and_has_a_file_of_bots_whole():
    long = [(number, "slow", True) for number in range(2)]
    bots = [(number, f"file {number // 3}", False) for number in range(12, 24)]
    rest = [(number, None, False) for number in range(30, 48)]
    ordered = in_order([*rest, *bots, *long], 2)
    pieces = ordered[:16], ordered[16:]
    for piece in pieces:
        assert piece[0] in long
        assert len({file for _, file, _ in piece[1:7]}) == 2
        assert all(file is None for _, file, _ in piece[7:])

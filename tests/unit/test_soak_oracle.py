"""The soak's judge finds what it is there to find: a soak that can't fail shows nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from sandbox.slack.values import PostedMessage
from tests.notice_levels import ALL_CLEAR, WARNING
from tests.soak.oracle import ADMINS, Oracle, missing, received_in_order
from tests.soak.racing import Races, SoakChannel

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


def test_soak_oracle_finds_a_lost_message(races):
    deliveries = [*races.result(), *races.result()]
    assert len(judged(deliveries, posted(deliveries[:1])).lost) == 1


def test_soak_oracle_finds_a_message_whose_words_are_anothers(races):
    deliveries = [*races.result(), *races.result()]
    (right, wrong) = posted(deliveries)
    changed = PostedMessage(**{**vars(wrong), "text": right.text})
    verdict = judged(deliveries, [right, changed])
    assert (len(verdict.lost), len(verdict.doubled)) == (1, 1)


def test_soak_oracle_finds_a_doubled_message(races):
    (delivery,) = races.result()
    assert len(judged([delivery], posted([delivery, delivery])).doubled) == 1


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


@pytest.mark.parametrize("first", ["result", "abandoned"])
def test_soak_oracle_finds_equals_out_of_order(races, first):
    deliveries = [*getattr(races, first)(), *getattr(races, first)()]
    assert len(judged(deliveries, posted(deliveries[::-1])).out_of_order) == 1


def test_soak_oracle_finds_an_abandonment_behind_a_later_result(races):
    deliveries = [*races.abandoned(), *races.result()]
    assert len(judged(deliveries, posted(deliveries[::-1])).out_of_order) == 1


def test_soak_oracle_finds_an_abandonment_that_overtook_its_own_race(races):
    deliveries = races.contradicted()
    assert len(judged(deliveries, posted(deliveries[::-1])).out_of_order) == 1


def test_soak_oracle_finds_posts_that_follow_too_fast(races):
    deliveries = [*races.result(), *races.result()]
    assert len(judged(deliveries, posted(deliveries, every_s=0.5)).too_fast) == 1


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

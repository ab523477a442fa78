"""The log of an event: a line at each station, joined by the delivery's reference, up to channel and message."""

import structlog

from tests.acceptance.payloads import result
from tests.integration.operations.breaking import refuse_an_event
from tests.integration.operations.running_bot import run_bot


def lines_of(lines, reference):
    return [line for line in lines if line.get("reference") == reference]


async def test_lines_lead_from_the_request_to_the_message_in_its_channel(tmp_path):
    with structlog.testing.capture_logs() as lines:
        async with run_bot(tmp_path) as bot:
            await bot.tell("rc_1")
            assert await bot.deliver(result("rc_1")) == 200
        (message,) = bot.slack.messages("CALL")
    delivery, fanned_out, post = lines_of(lines, "inbox-1")
    assert (delivery["event"], delivery["outcome"], delivery["event_key"]) == (
        *("delivery", "accepted", "result.received:rc_1"),
    )
    assert (fanned_out["event"], fanned_out["channels"]) == ("fanned_out", 1)
    assert (post["event"], post["outcome"], post["channel_id"], post["message_ts"]) == (
        *("post", "sent", "CALL", message.ts),
    )
    assert 0 <= post["since_receipt_s"] < 60
    (duplicate,) = [line for line in lines if line.get("outcome") == "duplicate"]
    assert duplicate["reference"] == duplicate["request"] != delivery["request"]


async def test_fan_out_that_was_rolled_back_is_told_by_its_failure_alone(tmp_path):
    with structlog.testing.capture_logs() as lines:
        async with run_bot(tmp_path) as bot:
            await refuse_an_event(bot)
    assert [line["event"] for line in lines_of(lines, "inbox-1")][:2] == ["delivery", "fanout_failed"]
    assert "fanned_out" not in {line["event"] for line in lines}

"""Figures that the pages name are the figures of the code."""

from pathlib import Path

import pytest

from bot.db import threads
from bot.deliveries import admission, ingest
from bot.fanout import delivery_reader, fanout, transaction
from bot.outbox import claim_sender, poison_messages, poster, resolve, resume
from bot.slack import web_client
from bot.web import request_body
from tests.integration.pipeline import test_round_trips as round_trips

ROOT = Path(__file__).parents[2]
IN_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 8: "eight", 9: "nine"}


def page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def words(number):
    return IN_WORDS[int(number)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "design/event.md",
            f"{words(round_trips.ALONE_COMMITS)} transactions and at most {round_trips.ALONE_STATEMENTS} statements",
        ),
        ("design/event.md", f"lease runs out after {words(claim_sender.POST_CALL_S + poster.LEASE_MARGIN_S)} seconds"),
        ("design/outbox.md", f"outlives the call's deadline by {words(poster.LEASE_MARGIN_S)} seconds"),
        ("design/event.md", f"size, {words(request_body.BODY_S)} seconds, a budget"),
        ("design/event.md", f"holds {admission.ADMITTED_AT_ONCE} places"),
        ("architecture.md", f"not stored within {ingest.STORE_WITHIN_S} seconds"),
        ("design/event.md", f"up to {ingest.LARGEST_HAND_OVER} stored deliveries"),
        ("design/event.md", f"reads the inbox: {delivery_reader.DELIVERIES_PER_COMMIT} at a time"),
        ("design/event.md", f"at least {fanout.COMMIT_GAP_S * 1000:.0f} ms apart"),
        ("design/event.md", f"some {transaction.MESSAGES_PER_COMMIT:,} messages"),
        ("design/event.md", f"tried again after {fanout.OTHER_TURN_S * 1000:.0f} ms"),
        ("architecture.md", f"After {words(delivery_reader.READ_ATTEMPTS)} tries the event is told"),
        ("design/event.md", f"fewer than {poster.CALLS_AT_ONCE} calls"),
        ("design/event.md", f"{poster.OUTCOMES_APART_S * 1000:.0f} ms apart at least"),
        ("design/event.md", f"when {words(poison_messages.EDIT_ATTEMPTS)} calls were unanswered"),
        ("design/outbox.md", f"{words(poison_messages.GIVE_UP_AFTER)} calls ended in doubt"),
        ("design/outbox.md", f"After {words(poison_messages.PLAIN_AFTER - 1)} repeats, as plain text"),
        ("design/outbox.md", f"twice, {words(resolve.LOOK_AGAIN.total_seconds())} seconds apart"),
        ("design/outbox.md", f"{words(resolve.HISTORY_LOOK_BACK.total_seconds() / 60)} minutes either way"),
        ("design/outbox.md", f"older than {words(resume.SUMMARY_AFTER.total_seconds() / 3600)} hours"),
        ("architecture.md", f"for {claim_sender.BACKOFF_S[0]:g} to {claim_sender.BACKOFF_S[-1]:g} seconds"),
        ("promises.md", f"after {words(poison_messages.EDIT_LOOKS_MAX)} tries"),
        ("promises.md", f"the newest {web_client.EDITS_MAX} "),
        ("design/storage.md", f"{words(threads.READERS + 1).capitalize()} connections read"),
        ("decisions/0001-store-then-answer.md", f"not stored within {ingest.STORE_WITHIN_S} seconds"),
        ("decisions/0002-refuse-when-full.md", f"so {admission.ADMITTED_AT_ONCE} places"),
        ("decisions/0008-locks-are-tried.md", f"again after {fanout.OTHER_TURN_S * 1000:.0f} ms"),
        ("decisions/0008-locks-are-tried.md", f"again after {poster.CLAIM_AGAIN_S * 1000:.0f} ms"),
    ],
)
def test_pages_name_the_figures_of_the_code(name, said):
    assert said in page(f"docs/{name}")

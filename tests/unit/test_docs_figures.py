"""Figures that the pages name are the figures of the code."""

from pathlib import Path

import pytest

from bot.db import engine
from bot.deliveries import admission, ingest
from bot.fanout import delivery_reader, fanout, transaction
from bot.outbox import poison_messages, poster, resolve, resume
from bot.slack import web_client
from bot.web import request_body
from tests.integration.alerts import test_round_trips as round_trips

ROOT = Path(__file__).parents[2]
IN_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 8: "eight", 9: "nine"}


def page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def words(number):
    return IN_WORDS[int(number)]


@pytest.mark.parametrize(
    "said",
    [
        f"costs {words(round_trips.ALONE_COMMITS)} transactions and at most {round_trips.ALONE_STATEMENTS} statements",
        f"lease runs out after {words(poster.CALL_S + poster.LEASE_MARGIN_S)} seconds",
        f"outlives the call's deadline by {words(poster.LEASE_MARGIN_S)} seconds",
        f"size, {words(request_body.BODY_S)} seconds, a budget",
        f"holds {admission.LIMIT} places",
        f"not stored within {ingest.PATIENCE_S} seconds",
        f"up to {ingest.HANDED_OVER} stored deliveries",
        f"reads the inbox: {delivery_reader.DELIVERIES_PER_COMMIT} at a time",
        f"at least {fanout.COMMIT_GAP_S * 1000:.0f} ms apart",
        f"some {transaction.MESSAGES_PER_COMMIT:,} messages",
        f"rests {words(fanout.REST_PER_WORK)} times as long",
        f"tried again after {fanout.OTHER_TURN_S * 1000:.0f} ms",
        f"After {words(delivery_reader.READ_ATTEMPTS)} tries the event is told",
        f"fewer than {poster.AT_ONCE} calls",
        f"{poster.APART_S * 1000:.0f} ms apart at least",
        f"when {words(poison_messages.EDIT_ATTEMPTS)} calls were unanswered",
        f"{words(poison_messages.GIVE_UP_AFTER)} calls ended in doubt",
        f"After {words(poison_messages.PLAIN_AFTER - 1)} repeats, as plain text",
        f"twice, {words(resolve.LOOK_AGAIN.total_seconds())} seconds apart",
        f"{words(resolve.LOOK_BACK.total_seconds() / 60)} minutes either way",
        f"older than {words(resume.SUMMARY_AFTER.total_seconds() / 3600)} hours",
        f"for {poster.BACKOFF_S[0]:g} to {poster.BACKOFF_S[-1]:g} seconds",
        f"after {words(poison_messages.LOOKS)} tries",
        f"the newest {web_client.EDITS_MAX} ",
        f"{words(engine.READERS + 1).capitalize()} connections read",
    ],
)
def test_architecture_names_the_figures_of_the_code(said):
    assert said in page("docs/architecture.md")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("0001-store-then-answer.md", f"not stored within {ingest.PATIENCE_S} seconds"),
        ("0002-refuse-when-full.md", f"so {admission.LIMIT} places"),
        ("0008-locks-are-tried.md", f"again after {fanout.OTHER_TURN_S * 1000:.0f} ms"),
        ("0008-locks-are-tried.md", f"again after {poster.SOON_S * 1000:.0f} ms"),
    ],
)
def test_decisions_name_the_figures_of_the_code(name, said):
    assert said in page(f"docs/decisions/{name}")

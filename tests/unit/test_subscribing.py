"""What would come twice with a further subscription of ours."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.cli.subscribe_command import come_twice
from bot.db.tables import WebhookSubscriptionRow
from bot.events.event import EventKind

REGIONS = ["GB", "IRE", "FR"]
EVENTS = st.lists(st.sampled_from([*EventKind]), min_size=1, unique=True)
CHOICES = st.tuples(EVENTS, st.sampled_from([None, *REGIONS]))


def delivered(events, region):
    return {(event, one) for event in events for one in ([region] if region else REGIONS)}


def row(number, events, region):
    made = datetime(2026, 11, 20, tzinfo=UTC)
    return WebhookSubscriptionRow(
        id=number, url="https://a.example", events=",".join(events), region=region, created_at=made
    )


@given(st.lists(CHOICES, max_size=4), CHOICES)
def test_what_would_come_twice_is_exactly_what_both_deliver(live, new):
    rows = [row(number, *choice) for number, choice in enumerate(live)]
    found = {one.row.id: delivered(one.events, one.region) for one in come_twice(rows, *new)}
    expected = {number: delivered(*choice) & delivered(*new) for number, choice in enumerate(live)}
    assert found == {number: shared for number, shared in expected.items() if shared}

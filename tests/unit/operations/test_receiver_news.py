"""The receiver's news in the bot: any number of counts at once, and a failure stops no later news."""

import json

from bot.deliveries.signature_mismatches import Mismatches
from bot.operations.metrics import Metrics, ReceiverNews


async def test_millions_are_counted_at_once_and_failing_news_are_passed_over():
    metrics, noted, told = Metrics(()), [], []

    async def note(count):
        noted.append(count)
        return True

    async def tell_too_large():
        told.append(1)
        raise OSError

    news = ReceiverNews(metrics, Mismatches(note, note, lambda: 0.0), lambda: None, tell_too_large)
    many = 10**12
    failing = [[1, "never_heard_of"], [many, "webhook_events", "", "too_large"]]
    heard = [[many, "deliveries", "401"], [many, "signature_failures", "mismatch"], [many, "requests_refused", "path"]]
    await news.hear(json.dumps([*failing, *heard]).encode())
    counted = [
        metrics.registry.get_sample_value(f"racing_bot_{name}_total", labels)
        for name, labels in (
            ("webhook_events", {"event": "other", "outcome": "too_large"}),
            ("deliveries", {"status": "401"}),
            ("signature_failures", {"reason": "mismatch"}),
            ("requests_refused", {"reason": "path"}),
        )
    ]
    assert (counted, noted, told) == ([many] * 4, [many], [1])

from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import CommandError
from bot.racedata.forecast import Forecast
from bot.racedata.month_quota import QuotaReading, QuotaSource, UsageRow
from bot.slack.commands import usage as command
from bot.slack.commands.invocation import Invocation

NOON = datetime(2026, 11, 16, tzinfo=UTC)


def make_reading(**fields):
    given = {"taken_at": NOON, "month": "2026-11", "used": 10_000, "certain": True, "source": QuotaSource.ROWS}
    return QuotaReading(**given | {"limit": 15_000, "plan": "free"} | fields)


async def answer(text, reading, expected=None):
    asked = []

    async def read(by):
        asked.append(by)
        return reading

    async def forecast(_reading):
        return expected

    desk: Any = SimpleNamespace(quota=SimpleNamespace(read=read, forecast=forecast))
    typed = Invocation(text=text, channel_id="C1", user_id="U1", reference="cmd-1")
    message = await command.answer(desk, typed, None)
    return asked, message


def shown(message):
    texts = [block["text"]["text"] for block in message.blocks if "text" in block]
    return "\n".join(texts + [one["text"] for block in message.blocks for one in block.get("fields", ())])


@pytest.mark.parametrize(
    ("text", "by"), [("", "day"), (" Day ", "day"), ("endpoint", "endpoint"), ('"endpoints"', "endpoint")]
)
async def test_usage_is_grouped_as_typed(text, by):
    asked, _ = await answer(text, make_reading())
    assert asked == [by]


@pytest.mark.parametrize("text", ["week", "day endpoint"])
async def test_usage_by_another_word_is_told_what_would_be_right(text):
    with pytest.raises(CommandError, match="/usage endpoint"):
        await answer(text, make_reading())


async def test_usage_says_used_left_and_forecast():
    rows = (UsageRow(label="2026-11-01", requests=4_000), UsageRow(label="2026-11-02", requests=6_000, errors=3))
    expected = Forecast(
        month_total=20_000,
        low=18_000,
        high=22_000,
        days=15,
        runs_out_on=date(2026, 11, 23),
        may_run_out_on=date(2026, 11, 21),
    )
    _, message = await answer("", make_reading(rows=rows, errors=3, refusals=0), expected)
    text = shown(message)
    for said in ("10,000 (66%)", "15,000 (free)", "*Left*\n5,000", "20,000 by the end of the month"):
        assert said in text
    assert "(in 8 of 10 cases between 18,000 and 22,000): it runs out on 23 November, perhaps on 21 November" in text
    assert text.index("• Mon 2 Nov: 6,000 requests, 3 errors") < text.index("• Sun 1 Nov: 4,000 requests")
    assert message.text.startswith("Quota, November 2026: 10,000 (66%) used")
    assert "2026-11" not in str(message.blocks)


async def test_usage_row_that_is_no_day_is_as_published():
    rows = tuple(
        UsageRow(label=label, requests=1) for label in ("2026-11-31", "today", "2026-11-01T00:00:00Z", "2025-11-01")
    )
    text = shown((await answer("", make_reading(rows=rows)))[1])
    for said in (
        "• 2026-11-31: 1 request",
        "• today: 1 request",
        "• Sun 1 Nov: 1 request",
        "• Sat 1 Nov 2025: 1 request",
    ):
        assert said in text


async def test_usage_says_that_the_allowance_may_run_out():
    expected = Forecast(month_total=14_000, low=12_500, high=15_500, days=15, may_run_out_on=date(2026, 11, 30))
    _, message = await answer("", make_reading(), expected)
    assert "it may run out on 30 November" in shown(message)


async def test_usage_says_before_enough_days_that_there_is_no_forecast():
    _, message = await answer("", make_reading())
    assert "*Forecast*\nnone yet: it needs 7 whole days of use" in shown(message)


@pytest.mark.parametrize(("used", "spared"), [(14_000, None), (14_250, "what people ask for"), (14_850, "alone")])
async def test_usage_says_what_is_spared_where_little_is_left(used, spared):
    _, message = await answer("", make_reading(used=used))
    assert (spared is None) == ("left or less" not in shown(message))
    assert spared is None or spared in shown(message)


async def test_usage_says_where_the_figure_is_a_lower_bound():
    _, message = await answer("", make_reading(certain=False, source=QuotaSource.OWN_COUNT))
    text = shown(message)
    assert "at least 10,000" in text
    assert "at most 5,000" in text
    assert "only what this bot itself counted" in text


async def test_usage_without_a_limit_shows_no_percentages():
    _, message = await answer("endpoint", make_reading(limit=None, plan=None, grouped_by="endpoint"))
    text = shown(message)
    assert "%" not in text
    assert "MONTHLY_QUOTA" in text
    assert "no rows by endpoint" in text


async def test_usage_of_many_endpoints_stays_within_slacks_limits():
    rows = tuple(UsageRow(label=f"/<!here>/{number}" * 9, requests=number) for number in range(5_000))
    _, message = await answer("endpoint", make_reading(rows=rows, grouped_by="endpoint"))
    assert len(message.blocks) <= 50
    assert "<!" not in shown(message)
    assert "more" in shown(message)


@pytest.mark.parametrize("used", [15_000, 20_000])
async def test_usage_of_a_spent_month_says_when_the_month_turns(used):
    _, message = await answer("", make_reading(used=used))
    assert message.text.endswith("the month is spent, it turns on 1 December")
    assert "*This month*\nthe month is spent, it turns on 1 December" in shown(message)
    for stumble in ("runs out", "Forecast", "by the end of the month"):
        assert stumble not in shown(message) + message.text


async def test_usage_says_the_window_and_refusals_by_kind():
    kinds = (("rate_limited", 3), ("<!here>", 2))
    row = UsageRow(label="2026-11-01", requests=4, refusals=5, refusal_kinds=kinds)
    _, message = await answer("", make_reading(window="2017 → upcoming", refusals=5, refusal_kinds=kinds, rows=(row,)))
    text = shown(message)
    assert "*Window of the plan*\n2017 → upcoming" in text
    assert "*Refusals*\n5 (3 rate_limited, 2 &lt;!here&gt;)" in text
    assert "4 requests, 5 refusals (3 rate_limited, 2 &lt;!here&gt;)" in text


async def test_usage_of_very_many_kinds_names_the_most_frequent():
    kinds = tuple((f"kind_{number}", 100 - number) for number in range(20))
    _, message = await answer("", make_reading(refusals=sum(count for _, count in kinds), refusal_kinds=kinds))
    assert "93 kind_7, 1,038 of other kinds)" in shown(message)

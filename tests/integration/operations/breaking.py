"""Ways in which the running bot is broken, each as it happens in the world: no value of a metric is set by hand."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial

import httpx

from bot.db.tables import QuotaSample, WebhookSubscriptionRow
from bot.deliveries.journal import beside
from bot.racedata import webhook_subscriptions
from bot.racedata.client.service_errors import ServiceFailure
from bot.racedata.month_quota import QuotaSource, month_key
from sandbox.slack import failures
from tests.integration.operations.running_bot import MAX_BODY_BYTES
from tests.world import API_KEY, WEBHOOK_SECRET, result


async def until_degraded(bot, part):
    await bot.until(lambda scrape: scrape.value("racing_bot_degraded", part=part) == 1)


async def stop_listening(bot):
    await bot.listening.aclose()


async def lock_the_journal(bot):
    with closing(sqlite3.connect(beside(bot.database), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        bot.receiver.appending.patience_s = 0.2
        assert await asyncio.gather(*(bot.status_of(result(f"rc_{number}")) for number in range(2))) == [503, 503]
        connection.execute("ROLLBACK")


async def send_a_huge_body(bot):
    assert await bot.status_of(b" " * (MAX_BODY_BYTES + 1)) == 413


async def sign_with_another_secret(bot):
    for number in range(5):
        assert await bot.status_of(result(f"rc_{number}"), secret="whsec-of-somebody-else") == 401


async def knock_at_another_path(bot):
    async with httpx.AsyncClient() as http:
        assert (await http.post(f"{bot.url}/webhooks")).status_code == 404


async def subscribe(bot):
    secret = bot.service.vault.lock(WEBHOOK_SECRET)
    row = WebhookSubscriptionRow(
        url="https://bot.example.com", events="result.received", secret=secret, created_at=bot.clock()
    )
    await bot.service.database.write(partial(webhook_subscriptions.add, row=row))
    await bot.service.signing_secrets.read()
    await bot.receiver.signing_secrets.reread()


async def retire_the_secret(bot):
    await bot.service.database.write(partial(webhook_subscriptions.retire, subscription_id=1, now=bot.clock()))
    await until_degraded(bot, "webhooks")


async def lose_a_table(bot):
    bot.sql("ALTER TABLE message RENAME TO lost")
    await until_degraded(bot, "storage")


async def refuse_an_event(bot):
    bot.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.event_key LIKE '%:rc_refused'"
        " BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )
    assert await bot.status_of(result("rc_refused")) == 200
    await bot.until(lambda scrape: scrape.value("racing_bot_inbox_deliveries", state="failed") == 1)
    await bot.forward(180)


async def take_the_event(bot):
    bot.sql("DROP TRIGGER refuse")
    await bot.forward(600)
    await bot.settled()


async def counted(bot, name, more, **labels):
    """Until a counter is by so much higher than now."""
    wanted = (await bot.scrape()).value(name, **labels) + more
    return bot.until(lambda scrape: scrape.value(name, **labels) >= wanted)


async def post(bot, race_id, failure, outcome, *, times=1_000):
    """A result is delivered, whose post ends so."""
    bot.slack.script("chat.postMessage", [failure] * times)
    ended = await counted(bot, "racing_bot_posts_total", 1, outcome=outcome)
    assert await bot.status_of(result(race_id)) == 200
    await ended


async def post_late(bot):
    await post(bot, "rc_late", failures.rate_limited(30), "wait", times=1)
    sent = await counted(bot, "racing_bot_posts_total", 1, outcome="sent")
    await bot.forward(240)
    bot.service.queued.set()
    await sent


async def refuse_a_message(bot):
    await post(bot, "rc_refused", failures.slack_error("msg_too_long"), "parked", times=3)


async def revoke_the_token(bot):
    await post(bot, "rc_kept", failures.slack_error("token_revoked"), "credentials_dead")


async def limit_posts(bot):
    await post(bot, "rc_limited", failures.rate_limited(30), "wait")


async def end_the_limit(bot):
    bot.slack.script("chat.postMessage", [])
    sent = await counted(bot, "racing_bot_posts_total", 1, outcome="sent")
    await bot.forward(60)
    bot.service.queued.set()
    await sent


async def have_slack_down(bot):
    bot.slack.script("*", [], then_always=failures.http_error(503))
    doubtful = await counted(bot, "racing_bot_slack_calls_total", 1, method="chat.postMessage", answer="doubtful")
    assert await bot.status_of(result("rc_doubt")) == 200
    await doubtful


async def leave_slack_down(bot):
    looked = await counted(bot, "racing_bot_slack_calls_total", 1, method="conversations.history", answer="doubtful")
    await bot.forward(360)
    bot.service.queued.set()
    await looked


async def cut_the_socket(bot):
    bot.slack.script("apps.connections.open", [], then_always=failures.slack_error("internal_error"))
    await bot.slack.sockets.cut()
    await until_degraded(bot, "socket_mode")


async def archive_the_admins_channel(bot):
    await bot.slack.archive("CADMIN", bot.url)
    await until_degraded(bot, "admins")


async def read_quota(bot):
    with suppress(ServiceFailure):
        await bot.service.quota.read()


async def rotate_the_key(bot):
    bot.racing.rotate_key()
    await read_quota(bot)


async def mend_the_key(bot):
    bot.racing.rotate_key(API_KEY)
    await bot.service.racing.breakers.reset("unauthorized")


async def spend_the_quota(bot):
    bot.racing.set_used(15_000)
    with suppress(ServiceFailure):
        await anext(bot.service.racing.walk_races())


async def give_back_the_quota(bot):
    bot.racing.set_used(0)
    await bot.service.racing.breakers.reset("quota_exceeded")
    await read_quota(bot)


async def use_much_of_the_quota(bot):
    """With 700 requests on each day of the last three weeks, one request is left."""
    midnight = bot.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    ends = [midnight - timedelta(days=number) for number in range(21)]
    days = [end - timedelta(days=1) for end in ends]
    samples = [
        QuotaSample(taken_at=end, month=month_key(day), used=700 * day.day, certain=True, source=QuotaSource.ROWS)
        for day, end in zip(days, ends, strict=True)
    ]
    await bot.service.database.write(lambda session: session.add_all(samples))
    bot.racing.set_used(14_999)
    await read_quota(bot)


async def fail_the_service(bot):
    bot.racing.fail_next("*", "server_error", 10)
    for _ in range(3):
        with suppress(ServiceFailure):
            await bot.service.racing.in_one_try().usage()
    bot.racing.heal()


async def break_a_job(bot):
    bot.sql("ALTER TABLE channel_subscription RENAME TO lost")
    await bot.forward(600)
    await bot.settled()
    assert "end_pauses" in bot.service.jobs.failing

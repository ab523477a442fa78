"""More deliveries than the queue holds: the surplus is refused at once, and every accepted delivery is in the inbox."""

import asyncio
import threading
from contextlib import asynccontextmanager

from sqlalchemy import select
from sqlmodel import col
from structlog.testing import capture_logs

from bot.db.tables import InboxDelivery
from bot.deliveries.admission import Admission
from bot.deliveries.endpoint import WEBHOOK_PATH
from bot.deliveries.ingest import Ingest
from tests.integration.deliveries.webhooks import Seen, client_of, make_app, post, sign

LIMIT = 3
SURPLUS = 4


@asynccontextmanager
async def paused(database):
    """The database's writer stands still until the block ends."""
    pause = threading.Event()
    task = asyncio.create_task(database.write(lambda _session: pause.wait()))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        pause.set()
        await task


def body(number):
    return f'{{"event": "result.received", "race_id": "rc_{number}"}}'.encode()


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  a request has no event for the place that it takes
            await asyncio.sleep(0)


def full(admission):
    return admission.admitted_now == LIMIT


async def keys(database):
    return await database.read(lambda session: set(session.execute(select(col(InboxDelivery.event_key))).scalars()))


async def test_surplus_is_refused_at_once_and_all_that_is_accepted_is_kept(database):
    seen, admission = Seen(), Admission(lambda: 0.0, LIMIT)
    async with client_of(make_app(seen, Ingest(database, patience_s=60).store, admission=admission)) as client:
        async with paused(database):
            waiting = [asyncio.create_task(post(client, body(number))) for number in range(LIMIT)]
            await until(lambda: full(admission))
            with capture_logs() as lines:
                refused = [await post(client, body(LIMIT + number)) for number in range(SURPLUS)]
            assert not any(task.done() for task in waiting)
        accepted = await asyncio.gather(*waiting)
        again = await post(client, body(LIMIT))
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(503, "5")] * SURPLUS
    assert [answer.json() for answer in [*accepted, again]] == [{"status": "accepted"}] * (LIMIT + 1)
    assert await keys(database) == {f"result.received:rc_{number}" for number in range(LIMIT + 1)}
    assert [line["event"] for line in lines] == ["deliveries_turned_away"]


async def test_full_queue_refuses_before_the_body_is_read(database):
    seen, admission = Seen(), Admission(lambda: 0.0, LIMIT)

    begun = []

    async def unread():
        begun.append(True)
        yield b"{}"

    async with client_of(make_app(seen, Ingest(database, patience_s=60).store, admission=admission)) as client:
        async with paused(database):
            waiting = [asyncio.create_task(post(client, body(number))) for number in range(LIMIT)]
            await until(lambda: full(admission))
            refused = await client.post(WEBHOOK_PATH, content=unread(), headers={"X-SVC-Signature": sign(b"{}")})
            assert (refused.status_code, begun) == (503, [])
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}


async def test_slow_senders_hold_no_place(database):
    seen, admission, rest = Seen(), Admission(lambda: 0.0, LIMIT), asyncio.Event()
    begun = 0

    async def slow(number):
        nonlocal begun
        begun += 1
        yield body(number)[:5]
        await rest.wait()
        yield body(number)[5:]

    def send(number):
        return client.post(WEBHOOK_PATH, content=slow(number), headers={"X-SVC-Signature": sign(body(number))})

    app = make_app(seen, Ingest(database, patience_s=60).store, admission=admission, body_s=60)
    async with client_of(app) as client:
        senders = [asyncio.create_task(send(number)) for number in range(LIMIT)]
        await until(lambda: begun == LIMIT)
        quick = await post(client, body(LIMIT))
        rest.set()
        assert {answer.status_code for answer in [quick, *await asyncio.gather(*senders)]} == {200}


async def test_patience_that_ends_gives_the_places_back(database):
    seen, admission = Seen(), Admission(lambda: 0.0, LIMIT)
    async with client_of(make_app(seen, Ingest(database, patience_s=0.05).store, admission=admission)) as client:
        async with paused(database):
            answers = await asyncio.gather(*(post(client, body(number)) for number in range(LIMIT)))
            assert {answer.status_code for answer in answers} == {503}
        assert (await post(client, body(LIMIT))).status_code == 200

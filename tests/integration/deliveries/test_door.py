"""`POST /webhooks/racing` as an ASGI application with a real journal, also with more deliveries than it holds."""

import asyncio
import gzip
import json
import zlib
from contextlib import contextmanager
from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.db.vault import OpenedSecrets
from bot.deliveries.journal import Journal
from bot.errors import StorageUnavailable
from bot.operations.signature_mismatches import LASTS_S
from bot.receiver.door import Appending
from bot.web.plain_answers import WEBHOOK_PATH
from tests.integration.deliveries.webhooks import MAX_BYTES, SECRETS, Seen, client_of, make_app, post, sign

GZIP = {"Content-Encoding": "gzip"}


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def journal(tmp_path):
    journal = Journal(f"sqlite:///{tmp_path / 'bot.db'}", lambda: 0.0)
    journal.durable = False
    yield journal
    journal.close()


@pytest.fixture
async def client(journal: Journal, seen: Seen):
    async with client_of(make_app(seen, appending(journal).store)) as client:
        yield SimpleNamespace(post=client.post, journal=journal)


def appending(journal, patience_s=20.0):
    run = partial(asyncio.get_running_loop().run_in_executor, None)
    return Appending(journal.append, run, lambda: None, patience_s)


def only_one(client):
    _, ((_, letter),) = client.journal.after(None, 5)
    return letter


async def take(_arrival):
    return True


async def test_delivery_is_stored_before_it_is_accepted(client):
    body = b'{"event": "result.received", "race_id": "rc_1"}'
    answer = await post(client, body)
    assert (answer.status_code, answer.json()) == (200, {"status": "accepted"})
    assert only_one(client).body == body
    again = await post(client, body)
    assert (again.status_code, again.json()) == (200, {"status": "duplicate"})


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("spelling", [str.lower, str.upper])
async def test_any_active_secret_and_either_case_is_taken(client, secret, spelling):
    body = b'{"event": "result.received", "race_id": "rc_2"}'
    assert (await post(client, body, **{"X-SVC-Signature": spelling(sign(body, secret))})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-SVC-Signature", "0" * 63)],
        [("X-SVC-Signature", "g" * 64)],
        [("X-SVC-Signature", sign(b"{}") + " x")],
        [("X-SVC-Signature", f"sha256={sign(b'{}')}")],
        [("X-SVC-Signature", sign(b"{}")), ("X-SVC-Signature", sign(b"{}"))],
        [("X-SVC-Signature", sign(b"{}", "not ours"))],
        [("X-SVC-Signature", sign(b"{ }"))],
    ],
)
async def test_events_2_anything_but_one_right_signature_is_401(client, headers):
    answer = await client.post(WEBHOOK_PATH, content=b"{}", headers=headers)
    assert answer.status_code == 401
    assert answer.json().keys() == {"error", "reference"}


async def test_too_large_is_413_by_its_length_and_by_what_arrives(client, seen):
    large = b"x" * (MAX_BYTES + 1)

    async def without_length():
        yield large[:4000]
        yield large[4000:]

    signature = {"X-SVC-Signature": sign(large)}
    assert (await client.post(WEBHOOK_PATH, content=large, headers=signature)).status_code == 413
    assert (await client.post(WEBHOOK_PATH, content=without_length(), headers=signature)).status_code == 413
    await seen.hear()
    assert seen.too_large == 1
    exact = b"x" * MAX_BYTES
    assert (await post(client, exact)).status_code == 200


@pytest.mark.parametrize("length", [MAX_BYTES + 1, 4 * MAX_BYTES + 1, 10**17, 10**30])
@pytest.mark.parametrize("headers", [{}, {"X-SVC-Signature": "a" * 64}])
async def test_strangers_large_body_is_refused_and_nobody_is_told(client, seen, length, headers):
    content = b"x" * min(length, 4 * MAX_BYTES + 1)
    answer = await client.post(WEBHOOK_PATH, content=content, headers={"Content-Length": str(length)} | headers)
    assert answer.status_code in {401, 413}
    await seen.hear()
    assert (seen.too_large, seen.events) == (0, [])


def half(body):
    return gzip.compress(body)[:-5]


def without_header(body):
    """As some senders understand "deflate"."""
    return zlib.compress(body, wbits=-zlib.MAX_WBITS)


PACKED = [
    ("gzip", gzip.compress),
    ("X-GZip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", without_header),
    ("gzip", lambda body: gzip.compress(body) + bytes(16)),
    ("identity", bytes),
    ("gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
    # Named, and not done, or not to the end: kept as it came.
    ("gzip", bytes),
    ("gzip", half),
]


@pytest.mark.parametrize(("coding", "pack"), PACKED)
async def test_packed_body_is_stored_as_the_signed_content(client, coding, pack):
    body = b'{"event": "result.received", "race_id": "rc_packed"}'
    packed = pack(body)
    answer = await post(client, packed, **{"Content-Encoding": coding})
    assert answer.json() == {"status": "accepted"}
    is_broken = pack is half
    assert only_one(client).body == (packed if is_broken else body)
    assert (await post(client, body)).json() == {"status": "accepted" if is_broken else "duplicate"}


async def test_content_too_large_when_unpacked_is_told(client, seen):
    assert (await post(client, gzip.compress(b"0" * 10**7)[: 4 * MAX_BYTES], **GZIP)).status_code == 413
    assert (await post(client, gzip.compress(b"0" * (MAX_BYTES + 1)), **GZIP)).status_code == 413
    assert (await post(client, gzip.compress(b"0" * MAX_BYTES), **GZIP)).status_code == 200
    await seen.hear()
    assert (seen.too_large, seen.events[:2]) == (1, [("", "too_large")] * 2)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "🐎".encode()])
async def test_unknown_coding_is_415_with_the_known_ones_and_401_to_a_stranger(client, coding):
    answer = await post(client, b"{}", **{"Content-Encoding": coding})
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "gzip, deflate")
    forged = await post(client, b"{}", **{"Content-Encoding": coding, "X-SVC-Signature": "a" * 64})
    assert forged.status_code == 401


async def test_body_that_does_not_end_is_408(client):
    never = asyncio.Event()

    async def half():
        yield b"{"
        await never.wait()

    answer = await client.post(WEBHOOK_PATH, content=half(), headers={"X-SVC-Signature": "0" * 64})
    assert answer.status_code == 408


async def test_large_bodies_in_flight_have_a_budget_and_small_ones_do_not_wait_for_it(seen):
    async def store(_arrival):
        await asyncio.sleep(0.1)
        return True

    async with client_of(make_app(seen, store, budget=3500)) as client:
        bodies = [json.dumps({"n": n, "pad": "x" * 2500}).encode() for n in range(4)]
        small = [json.dumps({"n": n}).encode() for n in range(4)]
        answers = await asyncio.gather(*(post(client, body) for body in [*bodies, *small]))
    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 200, 503, 503, *[200] * 4]
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)


async def test_storage_that_refuses_is_503_with_retry_after(seen):
    async def store(_arrival):
        raise StorageUnavailable("database or disk is full")

    async with client_of(make_app(seen, store)) as client:
        answer = await post(client, b"{}")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "disk" not in answer.text


FORGED = {"X-SVC-Signature": "a" * 64}


async def forge(client, seen, times: int) -> None:
    for _ in range(times):
        await post(client, b"{}", **FORGED)
        await seen.hear()


async def test_wrong_signatures_are_a_note_and_after_half_an_hour_without_a_right_one_an_alarm(client, seen):
    await forge(client, seen, 12)
    assert (seen.notes, seen.alarms) == ([5], [])
    seen.now_s = LASTS_S
    await forge(client, seen, 2)
    assert (seen.notes, seen.alarms) == ([5], [13])


async def test_wrong_signatures_beside_right_ones_are_no_more_than_a_note(client, seen):
    for _ in range(4):
        await forge(client, seen, 3)
        seen.now_s += LASTS_S / 2
        await post(client, b"{}")
        await seen.hear()
        seen.now_s += LASTS_S / 2
    assert (seen.notes, seen.alarms) == ([5, 5], [])
    await forge(client, seen, 4)
    seen.now_s += LASTS_S
    await forge(client, seen, 1)
    assert seen.alarms == [5]


async def test_note_that_could_not_be_told_is_told_with_the_next_one(client, seen):
    seen.can_tell = False
    await forge(client, seen, 6)
    seen.can_tell = True
    await forge(client, seen, 2)
    assert seen.notes == [5, 6, 7]


async def test_stored_secret_is_found_and_no_signature_called_wrong_while_one_can_not_be_read(seen):
    """The unread secret was stored by another process, with a key that this process does not have."""
    stored = OpenedSecrets({}, {})

    async def read_stored():
        return stored

    moments = count(0, 10)
    app = make_app(seen, take, read_stored=read_stored, monotonic=lambda: float(next(moments)))
    learned = {"X-SVC-Signature": sign(b"{}", "learned-secret")}
    async with client_of(app) as client:
        assert (await post(client, b"{}", **FORGED)).status_code == 401
        stored = OpenedSecrets({1: "learned-secret"}, {})
        assert (await post(client, b"{}", **learned)).status_code == 200
        stored = OpenedSecrets({3: "opened-secret"}, dict.fromkeys((1, 2), "ENCRYPTION_KEYS lacks a key"))
        assert (await post(client, b"{}", **FORGED)).status_code == 503
        for body, secret in ((b"{}", "learned-secret"), (b"{ }", "opened-secret")):
            assert (await post(client, body, **{"X-SVC-Signature": sign(body, secret)})).status_code == 200
    await seen.hear()
    assert seen.signature_failures == ["mismatch", "secret_unread"]
    # A stranger's request counts as no signed delivery, and raises no alarm of signed deliveries.
    assert {outcome for _, outcome in seen.events} <= {"accepted", "duplicate"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=MAX_BYTES), signature=st.text(max_size=80))
def test_no_body_and_no_signature_of_a_stranger_is_a_500(body, signature):
    async def send():
        async with client_of(make_app(Seen(), take)) as client:
            forged = await client.post(WEBHOOK_PATH, content=body, headers={"X-SVC-Signature": signature.encode()})
            signed = await post(client, body)
        return forged.status_code, signed.status_code

    forged, signed = asyncio.run(send())
    assert forged == 401
    assert signed == 200


# More deliveries than the queue holds


LIMIT = 3
SURPLUS = 4


@contextmanager
def paused(journal):
    """The journal stands still until the block ends."""
    with journal._lock:
        yield


def body(number):
    return f'{{"event": "result.received", "race_id": "rc_{number}"}}'.encode()


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  a request has no event for the place that it takes
            await asyncio.sleep(0)


async def test_surplus_is_refused_at_once_before_its_body_is_read_and_all_that_is_accepted_is_kept(journal, capsys):
    begun = []

    async def unread():
        begun.append(True)
        yield b"{}"

    places = asyncio.Semaphore(LIMIT)
    async with client_of(make_app(Seen(), appending(journal, 60).store, places=places)) as client:
        with paused(journal):
            waiting = [asyncio.create_task(post(client, body(number))) for number in range(LIMIT)]
            await until(places.locked)
            refused = [await post(client, body(LIMIT + number)) for number in range(SURPLUS)]
            logged = capsys.readouterr().err
            late = await client.post(WEBHOOK_PATH, content=unread(), headers={"X-SVC-Signature": sign(b"{}")})
            assert (late.status_code, begun) == (503, [])
            assert not any(task.done() for task in waiting)
        accepted = await asyncio.gather(*waiting)
        again = await post(client, body(LIMIT))
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(503, "5")] * SURPLUS
    assert [answer.json() for answer in [*accepted, again]] == [{"status": "accepted"}] * (LIMIT + 1)
    assert sorted(letter.body for _, letter in journal.after(None, 10)[1]) == [body(n) for n in range(LIMIT + 1)]
    assert [answer.json()["reference"] in logged for answer in refused] == [True] * SURPLUS


async def test_slow_senders_hold_no_place(journal):
    places, rest = asyncio.Semaphore(LIMIT), asyncio.Event()
    begun = 0

    async def slow(number):
        nonlocal begun
        begun += 1
        yield body(number)[:5]
        await rest.wait()
        yield body(number)[5:]

    def send(client, number):
        return client.post(WEBHOOK_PATH, content=slow(number), headers={"X-SVC-Signature": sign(body(number))})

    app = make_app(Seen(), appending(journal, 60).store, places=places, body_s=60)
    async with client_of(app) as client:
        senders = [asyncio.create_task(send(client, number)) for number in range(LIMIT)]
        await until(lambda: begun == LIMIT)
        quick = await post(client, body(LIMIT))
        rest.set()
        assert {answer.status_code for answer in [quick, *await asyncio.gather(*senders)]} == {200}


async def test_events_5_patience_that_ends_gives_the_places_back_and_stores_nothing_later(journal):
    places = asyncio.Semaphore(LIMIT)
    storing = appending(journal, 0.05)
    async with client_of(make_app(Seen(), storing.store, places=places)) as client:
        with paused(journal):
            first = asyncio.create_task(post(client, body(0)))
            await until(lambda: storing._storing is not None and not storing._waiting)
            answers = await asyncio.gather(first, *(post(client, body(number)) for number in range(1, LIMIT)))
            assert {answer.status_code for answer in answers} == {503}
        storing.patience_s = 20
        assert (await post(client, body(LIMIT))).status_code == 200
    # The first was being stored; the others waited.
    assert [letter.body for _, letter in journal.after(None, 10)[1]] == [body(0), body(LIMIT)]

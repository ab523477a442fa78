"""A delivery to our own address over real HTTP and TLS: each failure of the address has words of its own."""

import asyncio
import hashlib
import hmac
import socket
import ssl
import time
from contextlib import asynccontextmanager

import httpx
import pytest
from aiohttp import web

from bot.db.vault import OpenedSecrets
from bot.deliveries.signing_secrets import SigningSecrets
from bot.operations.public_url import SelfDelivery, unreached
from tests.authority import Authority
from tests.clock import real_clock
from tests.world import own_port

BODY = b'{"event":"racing-bot.drill","drill":"0123456789abcdef"}'
OLD, NEW = "whsec-old", "whsec-new"
NOTHING_LISTENS = "http://127.0.0.1:9"


def delivery(address, *secrets, call_s=2.0):
    async def none_stored():
        return OpenedSecrets({}, {})

    return SelfDelivery(
        address, SigningSecrets(secrets, none_stored, lambda: 0.0, print), time.monotonic, call_s=call_s
    )


def check(answered, *words):
    """The problem has the words, as the failure or as the remedy."""
    problem = answered.problem
    assert problem is not None
    assert [one for one in words if one not in f"{problem.told} {problem.mend}"] == []


@asynccontextmanager
async def endpoint(answer, context=None):
    """A server with the endpoint as the only path, and the address."""
    app = web.Application()
    app.router.add_post("/webhooks/racing", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = own_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def answers(status, body="", **headers):
    async def answer(_request):
        return web.Response(status=status, text=body, headers=headers)

    return answer


async def silence(_request):
    await asyncio.Event().wait()


async def break_off(request):
    request.transport.abort()
    await asyncio.Event().wait()


async def test_body_comes_signed_by_the_newest_secret():
    came = []

    async def answer(request):
        came.append((await request.read(), request.headers["X-SVC-Signature"]))
        return web.Response(body=b'{"status":"accepted"}')

    async with endpoint(answer) as address:
        answered = await delivery(address, OLD, NEW)(BODY)
    assert (answered.problem, answered.address) == (None, f"{address}/webhooks/racing")
    assert came == [(BODY, hmac.new(NEW.encode(), BODY, hashlib.sha256).hexdigest())]
    async with endpoint(answers(200, '{"status":"duplicate"}')) as address:
        assert (await delivery(address, NEW)(BODY)).problem is None


async def test_secret_of_a_moment_ago_signs_though_the_stored_secrets_were_just_read():
    stored: dict[int, str] = {}

    async def read_stored():
        return OpenedSecrets(dict(stored), {})

    secrets = SigningSecrets([], read_stored, lambda: 0.0, print)
    async with endpoint(answers(200, '{"status":"accepted"}')) as address:
        deliver = SelfDelivery(address, secrets, time.monotonic)
        check(await deliver(BODY), "no signing secret")
        stored[1] = NEW
        assert (await deliver(BODY)).problem is None


ELSEWHERE = "https://www.example.com/x"
TO_THE_BOT = "Have the proxy pass"
WRONG = {
    "a page": (answers(200, "<html>welcome</html>"), "would swallow deliveries", TO_THE_BOT),
    "401": (answers(401, '{"error":"no"}'), "answered 401: it refused the signature", "lead to this bot and no other"),
    "404": (answers(404), "answered 404: it knows no such path", TO_THE_BOT),
    "405": (answers(405), "does not take the request", TO_THE_BOT),
    "413": (answers(413), "too large", "Raise the proxy's limit"),
    "418": (answers(418), "answered 418: it does not answer as the bot does", TO_THE_BOT),
    "429": (answers(429), "limits requests", "Take the proxy's rate limit off"),
    "502": (answers(502), "does not reach the bot", "point the proxy"),
    "503": (answers(503, "<html>"), "answered 503: it fails", TO_THE_BOT),
    "503 of ours": (answers(503, '{"error":"not stored"}'), "I answered 503: not stored", "See /readyz"),
    "a redirect to nowhere": (answers(302), "answered 302: it does not answer as the bot does", TO_THE_BOT),
    "lists without an end": (answers(200, "[" * 4_096), "would swallow deliveries", TO_THE_BOT),
    "a redirect": (answers(301, Location=ELSEWHERE), f"a redirect to {ELSEWHERE}", "final address"),
    "silence": (silence, "did not answer within 0.2 seconds"),
    "an end": (break_off, "broke off"),
}


@pytest.mark.parametrize("way", WRONG)
async def test_other_answer_is_said_with_what_mends_it(way):
    answer, *words = WRONG[way]
    async with endpoint(answer) as address:
        check(await delivery(address, NEW, call_s=0.2 if answer is silence else 2.0)(BODY), *words)


async def test_redirect_is_not_followed():
    followed = []

    async def answer(request):
        followed.append(request.path)
        return web.Response(status=307, headers={"Location": "/webhooks/racing"})

    async with endpoint(answer) as address:
        await delivery(address, NEW)(BODY)
    assert followed == ["/webhooks/racing"]


async def test_certificate_that_nobody_trusts_is_named(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with real_clock():
        context.load_cert_chain(*Authority(tmp_path).certify(1))
    async with endpoint(answers(200, '{"status":"accepted"}'), context) as address:
        check(await delivery(address, NEW)(BODY), "TLS certificate", "unable to get", "Renew the certificate")
    async with endpoint(answers(200)) as address:
        check(await delivery(address.replace("http://", "https://"), NEW)(BODY), "TLS")


async def test_address_that_leads_nowhere_is_named_and_without_secret_or_address_nothing_is_sent():
    words = ("Nothing takes connections", "some networks do not lead back")
    check(await delivery(NOTHING_LISTENS, NEW)(BODY), *words)
    check(await delivery(NOTHING_LISTENS)(BODY), "no signing secret")
    check(await delivery(None, OLD)(BODY), "PUBLIC_URL")
    error = httpx.ConnectError("all attempts failed")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert "nowhere.invalid is not known (DNS)" in unreached(error, "https://nowhere.invalid", 5).told

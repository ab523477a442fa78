"""A delivery to our own address over real HTTP and TLS: each way in which the address can fail has words of its own."""

import asyncio
import hashlib
import hmac
import ipaddress
import ssl
import time
from contextlib import asynccontextmanager
from datetime import timedelta

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.deliveries.signing_secrets import SigningSecrets
from bot.operations.self_delivery import SelfDelivery, unreached
from sandbox.loopback_server import free_port
from tests.clock import now, real_clock

BODY = b'{"event":"racing-bot.drill","drill":"0123456789abcdef"}'
OURS = {"status": "accepted"}
OLD, NEW = "whsec-old", "whsec-new"


def secrets(*values):
    async def none_stored():
        return []

    return SigningSecrets(values, none_stored, lambda: 0.0)


async def deliver(address, *values, call_s=2.0):
    return await SelfDelivery(address, secrets(*(values or (OLD, NEW))), time.monotonic, call_s=call_s)(BODY)


@asynccontextmanager
async def endpoint(answer, context=None):
    """A server whose only path is the endpoint's, and its address."""
    app = web.Application()
    app.router.add_post("/webhooks/racing", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def answers(status, body="", **headers):
    async def answer(_request):
        return web.Response(status=status, text=body, headers=headers)

    return answer


def self_signed(folder):
    """TLS by a certificate that nobody trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bot.example.com")])
    with real_clock():
        at = now()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(at - timedelta(days=1))
        .not_valid_after(at + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    encoding, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
    pem.write_bytes(
        certificate.public_bytes(encoding) + key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, no_password)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def test_body_comes_signed_by_the_newest_secret():
    came = []

    async def answer(request):
        came.append((await request.read(), request.headers["X-SVC-Signature"]))
        return web.Response(body=b'{"status":"accepted"}')

    async with endpoint(answer) as address:
        answered = await deliver(address)
    assert answered.problem is None
    assert answered.address == f"{address}/webhooks/racing"
    assert came == [(BODY, hmac.new(NEW.encode(), BODY, hashlib.sha256).hexdigest())]


async def test_duplicate_is_taken_too():
    async with endpoint(answers(200, '{"status":"duplicate"}')) as address:
        assert (await deliver(address)).problem is None


@pytest.mark.parametrize(
    ("answer", "told", "mend"),
    [
        (answers(200, "<html>welcome</html>"), "would swallow deliveries", "Have the proxy pass"),
        (answers(401, '{"error":"no"}'), "answered 401: it refused the signature", "lead to this bot and no other"),
        (answers(404), "answered 404: it knows no such path", "Have the proxy pass"),
        (answers(405), "takes no POST", "Have the proxy pass"),
        (answers(413), "too large", "Raise the proxy's limit"),
        (answers(418), "answered 418: it takes no delivery", "Have the proxy pass"),
        (answers(429), "limits requests", "Take the proxy's rate limit off"),
        (answers(502), "does not reach the bot", "Point the proxy"),
        (answers(503, "<html>"), "answered 503: it fails", "Have the proxy pass"),
        (answers(503, '{"error":"not stored; send it again"}'), "I answered 503: not stored", "See /readyz"),
        (
            answers(301, Location="https://www.example.com/x"),
            "a redirect to https://www.example.com/x",
            "final address",
        ),
    ],
)
async def test_other_answer_is_said_with_what_mends_it(answer, told, mend):
    async with endpoint(answer) as address:
        problem = (await deliver(address)).problem
    assert problem is not None
    assert told in problem.told
    assert mend in problem.mend


async def test_redirect_is_not_followed():
    followed = []

    async def answer(request):
        followed.append(request.path)
        return web.Response(status=307, headers={"Location": "/webhooks/racing"})

    async with endpoint(answer) as address:
        await deliver(address)
    assert followed == ["/webhooks/racing"]


async def test_certificate_that_nobody_trusts_is_named(tmp_path):
    async with endpoint(answers(200, '{"status":"accepted"}'), self_signed(tmp_path)) as address:
        problem = (await deliver(address)).problem
    assert problem is not None
    assert "TLS certificate" in problem.told
    assert "self-signed" in problem.told
    assert "Renew the certificate" in problem.mend


async def test_tls_that_is_spoken_to_plain_http_is_named():
    async with endpoint(answers(200)) as address:
        problem = (await deliver(address.replace("http://", "https://"))).problem
    assert problem is not None
    assert "TLS" in problem.told


async def test_port_where_nothing_listens_is_named():
    problem = (await deliver(f"http://127.0.0.1:{free_port()}")).problem
    assert problem is not None
    assert "Nothing takes connections" in problem.told
    assert "some networks do not lead back" in problem.told


async def test_address_that_never_answers_is_given_up():
    async def answer(_request):
        await asyncio.Event().wait()

    async with endpoint(answer) as address:
        answered = await deliver(address, call_s=0.2)
    assert answered.problem is not None
    assert "did not answer within 0.2 seconds" in answered.problem.told


async def test_connection_that_breaks_off_is_named():
    async def answer(request):
        request.transport.abort()
        await asyncio.Event().wait()

    async with endpoint(answer) as address:
        problem = (await deliver(address)).problem
    assert problem is not None
    assert "broke off" in problem.told


def test_name_that_is_not_known_is_named():
    key = aiohttp.client_reqrep.ConnectionKey("nowhere.invalid", 443, True, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError(-2, "Name or service not known"))
    assert "not known (DNS)" in unreached(error, "nowhere.invalid", 5).told


async def test_without_secret_or_address_nothing_is_sent():
    problem = (await SelfDelivery("http://127.0.0.1:1", secrets(), time.monotonic)(BODY)).problem
    assert problem is not None
    assert "no signing secret" in problem.told
    problem = (await SelfDelivery(None, secrets(OLD), time.monotonic)(BODY)).problem
    assert problem is not None
    assert "PUBLIC_URL" in problem.told

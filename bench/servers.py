"""Servers for comparison with the bot, each a process of its own: `python -m bench.servers bare PORT`.

`bare` reads the body and answers. `commit-per-request PORT URL` is the plain way to store a delivery: one ORM
transaction for each request, in Starlette's thread pool, on the bot's own engine (the same pragmas, one connection) and
table.
"""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable

import uvicorn
from sqlmodel import Session
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.payloads import PATH, SECRET
from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import InboxDelivery
from bot.deliveries.signature import HEADER, is_signed
from bot.web.uvicorn_server import loop_factory, server_config


def application(store: Callable[[bytes], None] | None) -> Starlette:
    async def accept(request: Request) -> Response:
        body = await request.body()
        if store is not None:
            if not is_signed([SECRET], body, request.headers.get(HEADER, "")):
                return JSONResponse({"error": "signature"}, 401)
            await run_in_threadpool(store, body)
        return JSONResponse({"status": "accepted"})

    async def ready(_request: Request) -> Response:
        return JSONResponse({"status": "ready"})

    return Starlette(routes=[Route(PATH, accept, methods=["POST"]), Route("/healthz", ready), Route("/readyz", ready)])


def committing(database_url: str) -> Callable[[bytes], None]:
    database = Database(database_url)
    upgrade(database)

    def store(body: bytes) -> None:
        row = InboxDelivery(
            event_key=f"result.received:{json.loads(body)['race']['race_id']}",
            event_name="result.received",
            body_sha256=hashlib.sha256(body).hexdigest(),
            body=body,
            received_at=utc_now(),
        )
        with Session(database.writer) as session:
            session.add(row)
            session.commit()

    return store


def main() -> None:
    """Serve the named app, with the bot's own uvicorn configuration."""
    name, port, *rest = sys.argv[1:]
    app = application(None if name == "bare" else committing(*rest))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        config = server_config(app, lifespan="off", http="httptools", host="127.0.0.1", port=int(port))
        runner.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()

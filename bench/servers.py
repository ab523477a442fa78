"""The bare server that the bot is compared with, a process of its own: `python -m bench.servers PORT`.

Reads the body, and answers.
"""

import asyncio
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.payloads import PATH
from bot.cli.server import loop_factory, uvicorn_config


async def accept(request: Request) -> Response:
    await request.body()
    return JSONResponse({"status": "accepted"})


async def ready(_request: Request) -> Response:
    return JSONResponse({"status": "ready"})


def main() -> None:
    """Serve with the bot's own uvicorn configuration."""
    app = Starlette(routes=[Route(PATH, accept, methods=["POST"]), Route("/readyz", ready)])
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        config = uvicorn_config(app, host="127.0.0.1", port=int(sys.argv[1]))
        runner.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()

"""The bot without Slack's pace, as a process: `python -m bench.bot_unpaced`, with the settings in the environment.

Slack takes one post a second in a channel, which would be all that is measured. No setting turns that off, rightly.
"""

import asyncio

import uvicorn

from bot.app import Service
from bot.cli.server import loop_factory, uvicorn_config
from bot.logs import configure_logging
from bot.outbox.pace import Pace
from bot.settings import load_settings


def main() -> None:
    """Serve as `racing-bot serve` does, until SIGTERM."""
    settings = load_settings(env_file=None)
    configure_logging(settings.log_level, settings.log_format, settings.secret_values)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        service = Service(settings, pace=Pace(channel_s=0, workspace_per_minute=None))
        count = service.metrics.request_refused
        config = uvicorn_config(service.app, settings.host, settings.port, lifespan="on", count=count)
        runner.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()

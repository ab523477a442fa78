"""The bot without Slack's pace, as a process: `python -m bench.bot_unpaced`, with the settings in the environment.

Slack takes one post a second in a channel: the measure would show this pace alone. No setting turns the pace off.
"""

import sys
from functools import partial
from typing import Any

from bot import __main__ as racing_bot
from bot.receiver import bot_process


def main(bot: str = "bench.bot_unpaced") -> None:
    """Serve as `racing-bot serve` does, until SIGTERM."""
    bot_process.BOT_MODULE = bot
    sys.argv[1:] = ["serve"]
    racing_bot.main()


def be_the_bot(inner: int, news: int, life: int) -> None:
    """The receiver's child. The receiver loads nothing of this."""
    from bot.app import Service  # noqa: PLC0415
    from bot.cli import server  # noqa: PLC0415
    from bot.outbox.pace import Pace  # noqa: PLC0415

    unpaced: Any = partial(Service, pace=Pace(channel_s=0, workspace_per_minute=None))
    server.Service = unpaced  # type: ignore[attr-defined]  # no setting turns the pace off
    server.be_the_bot(inner, news, life)


if __name__ == "__main__":
    main()

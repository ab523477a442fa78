"""`racing-bot`: the command line. Each command reads the settings it needs, and says every problem at once."""

import gc
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.errors import SettingsError


class Latch(StrEnum):
    """What keeps the bot from asking the data service."""

    QUOTA = "quota"
    KEY = "key"


app = typer.Typer(
    name="racing-bot",
    help="Race results and abandonments, in the Slack channels that asked for them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def serve() -> None:
    """Run the service: web, poster and jobs in one process."""
    # Nothing of what is loaded now is garbage, and to look for some takes a fifth of the start; on again in bot.app.
    gc.disable()
    # structlog and httpx load these two where they are installed, 3 MiB, and nothing of the service writes in colours.
    for unused in ("rich", "pygments"):
        sys.modules[unused] = None  # type: ignore[assignment]  # None: an import of it fails, as documented
    from bot.logs import configure_logging
    from bot.serving import serve as run
    from bot.settings import load_settings

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format, settings.secret_values)
    run(settings)


@app.command()
def demo(
    speed: Annotated[float, typer.Option(min=0.1, max=100, help="How many times quicker the day is played.")] = 1.0,
    stay: Annotated[bool, typer.Option(help="Stay up until Ctrl-C once the day is over.")] = True,
) -> None:
    """Run everything on this machine, with no account anywhere: stand-ins, bot, a day's racing."""
    # The one line that knows of the sandbox: it is no part of the wheel.
    try:
        from bot.sandbox.demo import run_demo
    except ModuleNotFoundError as error:
        sys.exit(f"The demo is not part of an installed package ({error}): run it from a clone, as the README says.")

    sys.exit(run_demo(speed=speed, stay=stay))


@app.command()
def subscribe(
    region: Annotated[str | None, typer.Option(help="Only this region's deliveries; all of them unless given.")] = None,
    event: Annotated[list[str] | None, typer.Option(help="Only this event; may be given again. All four else.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Though there is a live subscription already.")] = False,
    retire: Annotated[int | None, typer.Option(help="Stop accepting the secret of the one of this number.")] = None,
) -> None:
    """Subscribe PUBLIC_URL to the data service's deliveries, and store the signing secret."""
    import asyncio

    from bot.errors import RacingBotError
    from bot.settings import load_settings
    from bot.subscribing import run_subscribe

    settings = load_settings()
    try:
        print(asyncio.run(run_subscribe(settings, region=region, events=event or [], again=again, retire=retire)))
    except RacingBotError as error:
        if isinstance(error, SettingsError):
            raise
        sys.exit(str(error))


@app.command()
def unlatch(
    which: Annotated[Latch | None, typer.Argument(help="Only this latch; both unless given.")] = None,
) -> None:
    """Have the data service asked again after it refused the month's quota, or the key."""
    import asyncio

    from bot.errors import StorageError
    from bot.settings import load_settings
    from bot.unlatching import run_unlatch

    try:
        print(asyncio.run(run_unlatch(load_settings(), which)))
    except StorageError as error:
        sys.exit(f"The latches could not be read: {error}")


@app.command()
def migrate() -> None:
    """Bring the database to the current schema (`serve` does so by itself on SQLite)."""
    from sqlalchemy.exc import DBAPIError

    from bot.settings import load_database_url
    from bot.storage.engine import TOOL_BUSY_S, Database
    from bot.storage.migrate import upgrade

    database = Database(load_database_url(), busy_s=TOOL_BUSY_S)
    try:
        upgrade(database)
    except DBAPIError as error:
        sys.exit(f"The database at {database!r} can't be migrated: {error.orig}")
    print(f"The schema of {database!r} is current.")


@app.command()
def manifest(
    url: Annotated[str | None, typer.Option(help="Our own https address, for Slack over HTTP.")] = None,
    socket: Annotated[bool, typer.Option("--socket", help="For Socket Mode: no address is needed.")] = False,
) -> None:
    """Print manifest.yml, ready to paste into Slack (api.slack.com/apps, Create New App, From a manifest)."""
    from bot.manifest import for_http, for_socket_mode

    if bool(url) == socket:
        sys.exit("Give either --url https://your.address, or --socket.")
    try:
        print(for_socket_mode() if socket or url is None else for_http(url), end="")
    except ValueError as error:
        sys.exit(f"--url {error}")


def main() -> None:
    """Run the command line; settings that are wrong are told in full, without a traceback."""
    try:
        app()
    except SettingsError as error:
        print("racing-bot can't start with these settings:", file=sys.stderr)
        for problem in error.problems:
            print(f"  - {problem}", file=sys.stderr)
        print(
            f"Every setting is described in the README. A file {Path('.env').absolute()} is read too.", file=sys.stderr
        )
        sys.exit(2)


if __name__ == "__main__":
    main()

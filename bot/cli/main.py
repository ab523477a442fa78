"""`racing-bot`: the command line. Each command reads its settings and lists all problems.

Stdout carries a script's input, stderr the log and failures. Exit codes: 0 done, 1 failed, 2 for wrong words or
settings; for `doctor` 0 well, 1 warnings, 2 failures.
"""

import sys
from enum import StrEnum
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from bot.errors import (
    ProblemsFound,
    RacingBotError,
    SettingsError,
    ShellCommandFailed,
    StorageError,
    SubscriptionFileWrong,
    database_secrets,
    reason_of,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from bot.logs import Mask
    from bot.settings import Settings


Breaker = Literal["quota", "key", "plan"]
"""A circuit breaker of the data service."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


class Event(StrEnum):
    """The data service's events. Importing `bot.events.event` takes longer than `--help` may."""

    RESULT_RECEIVED = "result.received"
    RACE_ABANDONED = "race.abandoned"
    MEETING_ABANDONED = "meeting.abandoned"
    RACECARD_PUBLISHED = "racecard.published"


PLAIN_WORDS = {
    "value_error": "{error}",
    "greater_than_equal": "must be at least {ge}.",
    "less_than_equal": "must be at most {le}.",
    "int_parsing": "must be a whole number.",
    "float_parsing": "must be a number.",
}
"""In place of the words of pydantic, by which typer checks values."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        from pydantic import ValidationError

        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            first = error.__cause__.errors()[0] if isinstance(error.__cause__, ValidationError) else None
            if first and first["type"] in PLAIN_WORDS:
                error.message = PLAIN_WORDS[first["type"]].format_map(first.get("ctx", {}))
            raise


app = typer.Typer(
    cls=_Commands,
    name="racing-bot",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain lines in terminals, logs and scripts.
    rich_markup_mode=None,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"racing-bot {version('racing-bot')}")
        raise typer.Exit


@app.callback()
def racing_bot(
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Race results and abandonments, in the Slack channels that asked for them."""


@app.command()
def init(
    from_env: Annotated[bool, typer.Option("--from-env", help="Take the values from the environment.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a .env; its keys stay.")] = False,
) -> None:
    """Write .env, the file of settings. Each value is checked, and nothing is called."""
    import os

    from bot.cli.init_command import MADE, Asked, ask_all, read, read_before, taken_from, write

    path = Path(".env").absolute()
    if not (from_env or sys.stdin.isatty()):
        sys.exit("Nothing was written: there is no terminal for questions. Give --from-env.")
    if path.exists() and not overwrite and (from_env or not typer.confirm(f"{path} exists. Replace the file?")):
        sys.exit(f"Nothing was written: {path} exists. Give --overwrite.")
    file = read_before(path)
    kept = read(file)
    if from_env:
        kept |= {name: os.environ[name] for name in MADE if os.environ.get(name)}

    def ask(asked: Asked, before: str) -> str:
        print(f"\n{asked.comment}")
        hint = " (Enter keeps the value)" if before else "" if asked.is_needed else " (or Enter)"
        hint += " (typed unseen)" if asked.is_secret else ""
        typed = typer.prompt(f"{asked.name}{hint}", default="", show_default=False, hide_input=asked.is_secret)
        return str(typed) or before

    write(path, taken_from(os.environ, kept) if from_env else ask_all(ask, print, kept), kept, file)
    print(f"{path} is written, for your own user to read. Start the bot: racing-bot serve. Then: racing-bot doctor")


@app.command()
def serve() -> None:
    """Run the service. It takes deliveries, posts messages and answers commands."""
    # Only with --help: bot/__main__.py starts the service before this module is loaded.
    from bot.receiver.program import serve as run

    run()


@app.command(hidden=find_spec("sandbox") is None)
def demo(  # noqa: PLR0917  typer passes options by name
    speed: Annotated[float, typer.Option(min=0.1, max=100, help="Play the day this many times quicker.")] = 1.0,
    stay: Annotated[bool, typer.Option(help="Stay up until Ctrl-C when the day is over, or end with the day.")] = True,
    open_page: Annotated[bool, typer.Option("--open", help="Open the demo's page in a browser.")] = False,
    headless: Annotated[bool, typer.Option("--headless", help="Play the day, print a JSON summary, and end.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the demo's page; 0 takes a free one.")] = 0,
    database_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An empty PostgreSQL, for a second replica. Else a SQLite file.")
    ] = None,
) -> None:
    """Play a day's racing on this machine. No account and no settings are needed."""
    if headless and open_page:
        raise typer.BadParameter("give one of the two.", param_hint=["--headless", "--open"])
    if database_url and not database_url.startswith("postgres"):
        raise typer.BadParameter("must begin with postgresql://.", param_hint="--database-url")
    # The only import of the sandbox, absent from the wheel.
    try:
        from sandbox.demo import Demo, run_demo
    except ModuleNotFoundError as error:
        sys.exit(f"The demo is not part of an installed package ({error}): run it from a clone, as the README says.")

    sys.exit(run_demo(Demo(speed, stay, open_page, headless, port, database_url)))


@app.command()
def subscribe(
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="Only deliveries from this region, such as GB. Else from all.")
    ] = None,
    event: Annotated[
        list[Event] | None,
        typer.Option(
            metavar="EVENT",
            help=f"Only this event. Give the option again for more. Else all: {', '.join(Event)}.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Subscribe even if deliveries will come twice.")] = False,
    retire: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=1, help="Accept no more deliveries of this subscription."),
    ] = None,
    show_secret: Annotated[
        bool, typer.Option("--show-secret", help="Print the signing secret, for your own store of secrets.")
    ] = False,
) -> None:
    """Subscribe to deliveries at PUBLIC_URL. The signing secret is stored, encrypted."""
    from bot.cli.subscribe_command import run_retire, run_subscribe

    events = event or []
    if retire is not None and (region is not None or events or again or show_secret):
        raise typer.BadParameter("goes without other options.", param_hint="--retire")
    if region is not None and not region.strip():
        raise typer.BadParameter("is empty. Leave the option out for all regions.", param_hint="--region")
    settings = _settings_of_a_tool()
    if retire is not None:
        _answer(run_retire(settings, retire), "Nothing was changed: ")
    else:
        told = run_subscribe(settings, events, region, again=again, show_secret=show_secret)
        _answer(told, "No subscription was made: ")


@app.command()
def unlatch(
    which: Annotated[
        Breaker | None, typer.Argument(help="The refusal to forget. Without a word: every refusal.")
    ] = None,
) -> None:
    """Ask the data service again. The bot stops asking after a refusal of quota, key or plan."""
    from bot.cli.recovery_commands import run_unlatch

    _answer(run_unlatch(_settings_of_a_tool(), which), "Nothing was changed: ")


subscriptions = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(subscriptions, name="subscriptions", help="All channels' subscriptions, as a file.")


@subscriptions.command("export")
def export_subscriptions(as_json: AsJson = False) -> None:
    """Print all channels' subscriptions as YAML. `racing-bot subscriptions apply` takes the file back."""
    from bot.cli.subscriptions_command import run_export

    _answer(run_export(_settings_of_a_tool(), as_json=as_json), "Nothing was exported: ", end="")


@subscriptions.command("apply")
def apply_subscriptions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file as `racing-bot subscriptions export` prints.")],
    yes: Annotated[bool, typer.Option("--yes", help="Make the changes without a question.")] = False,
) -> None:
    """Make all channels' subscriptions those of the file. The difference is shown first."""
    from bot.cli.subscriptions_command import run_apply

    settings = _settings_of_a_tool()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        raise typer.BadParameter(f"{file} can't be read: {reason}.", param_hint="FILE") from error

    def agree() -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            raise ShellCommandFailed("Nothing was changed: there is no terminal for a question. Give --yes.")
        return typer.confirm("Make these changes?", err=True)

    def warn(told: str) -> None:
        print(f"{file}: {told}", file=sys.stderr)

    try:
        _answer(run_apply(settings, text, show=print, warn=warn, agree=agree), "Nothing was changed: ")
    except SubscriptionFileWrong as error:
        print(f"{file} can't be applied, and nothing was changed:\n{error}", file=sys.stderr)
        sys.exit(2)


@app.command()
def restored() -> None:
    """Settle an older copy of the database. Nothing old is posted again, if this is done before the bot starts."""
    from bot.cli.recovery_commands import run_restored

    _answer(run_restored(_settings_of_a_tool()), "Nothing is settled yet: ")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check the deployment and say how to mend it. Nothing is changed, and no quota is spent.

    The exit code is 0 when all is well, 1 with warnings, 2 with failures.
    """
    import asyncio
    import os

    from bot.doctor.table import run_doctor
    from bot.logs import configure_logging

    async def run() -> None:
        report = await run_doctor(_settings_of_a_tool)
        print(report.as_json() if as_json else report.as_text(), flush=True)
        # A thread waiting for a name server would keep the process for minutes.
        os._exit(report.exit_code)

    configure_logging(TOOL_LOG_LEVEL, "console")
    asyncio.run(run())


@app.command()
def repair(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be made good.")] = False,
    as_json: AsJson = False,
) -> None:
    """Post the events of failed deliveries now. `serve` does so by itself every REPAIR_CHECK_S."""
    from bot.cli.recovery_commands import run_repair

    told = run_repair(_settings_of_a_tool(), dry_run=dry_run, as_json=as_json)
    _answer(told, "Not all failed deliveries could be made good: ")


@app.command()
def migrate() -> None:
    """Bring the database up to date. On SQLite `serve` does this by itself."""
    from sqlalchemy.exc import SQLAlchemyError

    from bot.db.engine import TOOL_BUSY_S, Database
    from bot.db.migrate import upgrade

    address, mask = _database_of_a_tool()
    database = Database(address, busy_s=TOOL_BUSY_S)
    try:
        print(f"{database.shown}: {upgrade(database).told}")
    except (SQLAlchemyError, StorageError) as error:
        reason = error if isinstance(error, StorageError) else reason_of(error)
        sys.exit(mask(f"{database.shown} can't be migrated: {reason}"))


@app.command()
def backup(path: Annotated[Path, typer.Argument(metavar="PATH", help="The new file.")]) -> None:
    """Copy the database into a new file, while the bot serves. Only for SQLite; PostgreSQL has pg_dump."""
    import asyncio

    from bot.cli.backup_command import run_backup

    address, mask = _database_of_a_tool()
    _answer(asyncio.to_thread(run_backup, address, path), "Nothing was copied: ", mask)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Print the figures of the database. `/racing status` says as much in Slack."""
    from bot.cli.status_command import run_status

    address, mask = _database_of_a_tool()
    _answer(run_status(address, as_json=as_json), "Nothing was read: ", mask)


@app.command()
def manifest(
    url: Annotated[str | None, typer.Option(metavar="URL", help="Slack reaches the bot at this https address.")] = None,
    socket: Annotated[
        bool, typer.Option("--socket", help="Socket Mode: the bot connects to Slack, and needs no address.")
    ] = False,
) -> None:
    """Print the Slack app's manifest. Paste it at api.slack.com/apps: Create New App, From a manifest."""
    from bot.manifest import made_for

    if bool(url) == socket:
        raise typer.BadParameter("give one of the two.", param_hint=["--url", "--socket"])
    try:
        print(made_for(url), end="")
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--url") from error


TOOL_LOG_LEVEL = "warning"
"""The answer is on stdout. The log tells only of trouble, unless LOG_LEVEL asks for more than `info`."""


def _answer(told: "Coroutine[Any, Any, str]", why_not: str = "", mask: "Mask" = str, end: str = "\n") -> None:
    """Print the answer of a command, or end with `why_not` and the error. Errors with an ending of their own pass."""
    import asyncio

    try:
        print(asyncio.run(told), end=end)
    except ProblemsFound:
        raise
    except RacingBotError as error:
        from bot.cli.parts import for_operators

        says_all = isinstance(error, ShellCommandFailed)
        sys.exit(mask(f"{'' if says_all else why_not}{for_operators(error)}"))


def _end_at_once() -> None:
    """Have Ctrl-C end the process: Python would wait for a thread whose commit hangs.

    A commit is stored whole, or not at all.
    """
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _database_of_a_tool() -> "tuple[str, Mask]":
    """The only setting that some commands need, and the mask of its secrets."""
    from bot.logs import MaskSecrets, configure_logging
    from bot.settings import load_database_url

    _end_at_once()
    address = load_database_url()
    secrets = database_secrets(address)
    configure_logging(TOOL_LOG_LEVEL, "console", secrets)
    return address, MaskSecrets(secrets).masked


def _settings_of_a_tool() -> "Settings":
    from bot.logs import configure_logging
    from bot.settings import load_settings

    _end_at_once()
    settings = load_settings()
    level = TOOL_LOG_LEVEL if settings.log_level == "info" else settings.log_level
    configure_logging(level, settings.log_format, settings.secret_values)
    return settings


def main() -> None:
    # A stranger's name may have letters that the terminal's encoding lacks.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except SettingsError as error:
        exit_for_settings(error)


def exit_for_settings(error: SettingsError) -> NoReturn:
    print("racing-bot can't run with these settings:", file=sys.stderr)
    for problem in error.problems:
        print(f"  - {problem}", file=sys.stderr)
    print(
        f"Set them in the environment, or as NAME=value in the file {Path('.env').absolute()}.\n"
        "docs/settings.md says what each setting means, and the README where to find a value. When they are set, "
        "`racing-bot doctor` checks all of them.",
        file=sys.stderr,
    )
    sys.exit(2)


if __name__ == "__main__":
    main()

"""`racing-bot` and `python -m bot`: hears SIGTERM first, then loads the command line."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """SIGTERM and Ctrl-C end the process, also while modules are being loaded."""
    signal.signal(signal.SIGTERM, _end)
    try:
        if sys.argv[1:] == ["serve"]:
            _serve()
        else:
            from bot.cli.main import main as run

            run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _serve() -> None:
    """The receiver is up before the command line is loaded."""
    from bot.web.unused_modules import leave_out

    leave_out()
    from bot.errors import SettingsError
    from bot.receiver.program import serve

    try:
        serve()
    except SettingsError as error:
        from bot.cli.main import exit_for_settings

        exit_for_settings(error)


def _end(number: int, _frame: FrameType | None) -> None:
    """End as by the signal's default action, which the first process of a container lacks."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # Only the first process of a container survives the signal.
    os._exit(128 + number)


if __name__ == "__main__":
    main()

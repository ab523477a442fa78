"""`racing-bot` and `python -m bot`: hears SIGTERM first, then loads the command line."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line. SIGTERM and Ctrl-C end the process from here on, also while modules are being loaded."""
    signal.signal(signal.SIGTERM, _end)
    try:
        from bot.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _end(number: int, _frame: FrameType | None) -> None:
    """End as by the default action of the signal, which the first process of a container does not have."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # Only the first process of a container is still here.
    os._exit(128 + number)


if __name__ == "__main__":
    main()

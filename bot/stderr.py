"""The stream of both programs' logs. A full disk, a closed pipe or a reader that stands still stops no work."""

import select
import sys
from contextlib import suppress

PIECE = 1_000
"""Characters, of four bytes at most. A pipe that is ready takes 4,096 bytes without a wait (pipe(7))."""

READER_S = 0.1
"""The wait for a slow reader. From then on lines are lost until the reader goes on."""


class Stderr:
    def __init__(self) -> None:
        self._wait_s = READER_S

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            for begin in range(0, len(text), PIECE):
                if not self._is_read():
                    return
                sys.stderr.write(text[begin : begin + PIECE])
                sys.stderr.flush()

    def _is_read(self) -> bool:
        try:
            file = sys.stderr.fileno()
        except ValueError:
            # A stream in memory waits for no reader.
            return True
        is_read = bool(select.select((), (file,), (), self._wait_s)[1])
        self._wait_s = READER_S if is_read else 0.0
        return is_read


stderr = Stderr()

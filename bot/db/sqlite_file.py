"""SQLite's file, of the database and of the journal: for one user alone, watched while it is open, and copied.

Commits to a removed or replaced file would end with the process.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from bot.errors import StorageUnavailable

Identity = tuple[int, int] | None


class SqliteFile:
    def __init__(self, path: Path, gone: str) -> None:
        """`gone`: the words for a removed or replaced file. `syncs`: the next commit waits for the disk."""
        self.syncs = True
        self._path, self._log_path, self._gone = path, Path(f"{path}-wal"), gone
        self._opened: Identity = None
        self._log: Identity = None

    def make(self) -> None:
        """For this user alone. SQLite gives the files beside the database the same mode."""
        # The driver reports an unwritable file.
        with suppress(OSError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
        for end in ("-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self._path}{end}").chmod(self._path.stat().st_mode)

    def note_opened(self) -> None:
        if self._opened is None:
            self._opened = _identity_of(self._path, None)

    def note_commit(self) -> None:
        if self._opened is not None and self._log is None:
            self._log = self._present_log()

    def check(self) -> None:
        """Raise StorageUnavailable if the file or its log was removed or replaced."""
        is_gone = self._opened is not None and self._opened != _identity_of(self._path, self._opened)
        log = self._log
        # The writer's thread may let the log go meanwhile.
        if is_gone or (log is not None and log != self._present_log() and log is self._log):
            raise StorageUnavailable(self._gone)

    def let_go(self) -> None:
        """The connections are closed, and with them the log."""
        self._log = None

    def take_anew(self) -> None:
        """Take the present file for the known file."""
        self._opened = self._log = None

    def _present_log(self) -> Identity:
        """The log has the commits that the file lacks. SQLite removes the log with the last connection."""
        return _identity_of(self._log_path, self._log)


def _identity_of(path: Path, known: Identity) -> Identity:
    """None for a missing file. After another error the file counts as the known file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return known
    return status.st_dev, status.st_ino


def copy_file(database: Path, to: Path) -> None:
    """Consistent while the bot serves; for this user alone, and whole or not at all. Raises StorageUnavailable."""
    part = to.with_name(f"{to.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
        part.replace(to)
    except (OSError, sqlite3.Error) as error:
        # A read-only folder refuses this too.
        with suppress(OSError):
            part.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        raise StorageUnavailable(f"no copy of the database was made at {to}: {reason}") from error

"""A process that can write to its own folder and to no folder for temporary files, as in a read-only container."""

import ctypes
import os
from pathlib import Path

from tests.acceptance.forked import PROCESSES
from tests.clock import PATIENCE_S

TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp", "/dev/shm")
NOT_TO_BE_WRITTEN = "/proc"

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18


def take_temporary_folders(folder: Path) -> None:
    """Make all folders for temporary files read-only for this process alone, the working folder included."""
    libc = _own_mounts()
    own = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for place in filter(os.path.isdir, TEMPORARY):
        _make_read_only(libc, place)
    _mount(libc, f"/proc/self/fd/{own}", str(folder), MS_BIND)
    os.close(own)
    os.chdir(NOT_TO_BE_WRITTEN)


def make_read_only(folder: Path) -> None:
    """Make a folder read-only for this process alone."""
    _make_read_only(_own_mounts(), str(folder))


def _own_mounts() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(CLONE_NEWNS if os.geteuid() == 0 else CLONE_NEWNS | CLONE_NEWUSER))
    _mount(libc, "none", "/", MS_REC | MS_PRIVATE)
    return libc


def _make_read_only(libc: ctypes.CDLL, place: str) -> None:
    _mount(libc, place, place, MS_BIND)
    _mount(libc, "none", place, MS_REMOUNT | MS_BIND | MS_RDONLY)


def why_not(folder: Path) -> str | None:
    """Why folders can't be taken away on this system; None where taking works."""
    trial = PROCESSES.Process(target=_try, args=(folder,))
    trial.start()
    trial.join(PATIENCE_S)
    return None if trial.exitcode == 0 else "this system lets no process have mounts of its own (unshare, mount)"


def _try(folder: Path) -> None:
    # Quietly: the exit code says enough.
    try:
        take_temporary_folders(folder)
        (folder / "written").touch()
    except OSError:
        os._exit(1)


def _mount(libc: ctypes.CDLL, source: str, target: str, flags: int) -> None:
    _check(libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(flags), None))


def _check(code: int) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

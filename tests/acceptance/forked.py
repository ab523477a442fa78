"""`racing-bot` as a process of its own, forked from a process with loaded modules. Loading is nine tenths of a start.

The process runs the command line from the first line on. Cold starts are the demo's (`test_demo.py`) and the wheel's.
"""

import asyncio
import contextlib
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

import tests.clock
from tests.clock import PATIENCE_S

PASSED_ON = {"PATH", "HOME", "LANG", "SSL_CERT_FILE"}

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.acceptance.warm"])


class Forked:
    """A running command. Output goes to the end of a file, and errors too, or to a file of their own."""

    def __init__(
        self,
        words: tuple[str, ...],
        folder: Path,
        env: Mapping[str, str],
        output: Path,
        errors: Path | None = None,
        *,
        prepare: Callable[[Path], None] | None = None,
    ) -> None:
        inherited = {name: value for name, value in os.environ.items() if name in PASSED_ON}
        surroundings = (words, folder, {**inherited, **env}, output, errors or output, prepare)
        self._process: BaseProcess = PROCESSES.Process(target=_run, args=surroundings)
        self._process.start()

    @property
    def children(self) -> list[psutil.Process]:
        """The bot of a receiver."""
        return psutil.Process(self._process.pid).children()

    def poll(self) -> int | None:
        """The exit code; None while the command runs."""
        return self._process.exitcode

    def wait(self, timeout_s: float | None = None) -> int:
        """The exit code, negative for a signal; TimeoutError while the command still runs."""
        self._process.join(timeout_s)
        if self._process.exitcode is None:
            raise TimeoutError(f"still running after {timeout_s:g} s")
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _run(  # noqa: PLR0917  a process is given its values by position
    words: tuple[str, ...],
    folder: Path,
    env: Mapping[str, str],
    output: Path,
    errors: Path,
    prepare: Callable[[Path], None] | None,
) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    for stream, file in ((1, output), (2, errors)):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(opened, stream)
        os.close(opened)
    if prepare is not None:
        prepare(folder)
    warnings.simplefilter("error")
    sys.argv = ["racing-bot", *words]
    from bot.__main__ import main
    from bot.receiver import bot_process

    starts: Iterator[Callable[[Sequence[int]], bot_process.Process]] = chain([_Bot], repeat(_start_cold))
    bot_process.spawn = lambda fds: next(starts)(fds)  # noqa: PLW0108  each call takes the next
    # No test is about a busy machine.
    bot_process.COMES_UP_S = PATIENCE_S
    main()


def _start_cold(fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """The receiver has opened the journal by now, and SQLite's connections do not outlive a fork: letters get lost."""
    start = f"import tests.clock, bot.cli.server; bot.cli.server.be_the_bot(*{tuple(fds)})"
    env = {**os.environ, "TESTS_CLOCK_AHEAD_S": tests.clock.AHEAD_S, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([sys.executable, "-c", start], pass_fds=fds, env=env)


class _Bot:
    """The bot of a receiver, forked from the receiver with loaded modules."""

    def __init__(self, fds: Sequence[int]) -> None:
        self._pid = os.fork()
        if self._pid == 0:
            _be_the_bot(fds)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)


def _be_the_bot(fds: Sequence[int]) -> None:
    code: object = 0
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        for fd in range(3, 256):
            if fd not in fds:
                with contextlib.suppress(OSError):
                    os.close(fd)
        from bot.cli.server import be_the_bot

        be_the_bot(*fds)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  whatever it is, the process ends with it
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


@dataclass(frozen=True)
class Ran:
    """The end of a command, and the output: stdout, stderr, and both."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


async def run_command(bot, *words: str, prepare: Callable[[Path], None] | None = None, **settings: str | None) -> Ran:
    """The command run to the end. A setting of None is removed. `prepare` runs in the process before the command."""
    env = {name: value for name, value in (bot.env | settings).items() if value is not None}
    output, errors = (bot.folder / f"command-{uuid.uuid4().hex}.{name}" for name in ("out", "err"))
    code = await asyncio.to_thread(Forked(words, bot.folder, env, output, errors, prepare=prepare).wait, PATIENCE_S)
    ran = Ran(code, output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8"))
    assert "Traceback" not in ran.said, ran.said
    return ran


# A process that can write to its own folder and to no folder for temporary files, as in a read-only container


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

"""Checks a container from inside, as the image's own user. .ci/check-image starts this file.

Usage: python - works|closed HEALTH_COMMAND RECIPES, the last two as JSON. `closed`: /data can't be written.
"""

import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

NOBODY = "http://127.0.0.1:9"
SECRET = "whsec-of-the-check"
GOOD = {
    "RACING_API_URL": f"{NOBODY}/v1",
    "RACING_API_KEY": "key-of-the-check",
    "RACING_WEBHOOK_SECRETS": SECRET,
    "SLACK_BOT_TOKEN": "xoxb-of-the-check",
    "SLACK_SIGNING_SECRET": "signing-secret-of-the-check",
    "SLACK_API_URL": f"{NOBODY}/api/",
}
BODY = json.dumps({"event": "race.abandoned", "data": {"race": {"race_id": "rc_1", "region": "GB"}}}).encode()
LOG = Path("/tmp/bot.log")
START_S = 40
FORGOTTEN_S = 90
"""The bot of the copy counts as alive for 70 seconds."""
READ_COPY = "import sqlite3; print(*sqlite3.connect('/data/copy.db').execute('SELECT event_key FROM inbox'))"
CODE_MIB_AT_MOST = 10
CLOSED = "uid 10001 can't write /data"


def ran(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """A command run to its end."""
    return subprocess.run(words, env={**os.environ, **changes}, capture_output=True, text=True, check=False, timeout=60)


def must(holds: object, what: str) -> None:
    """Say what holds, or end with what does not."""
    if not holds:
        sys.exit(f"FAILED: {what}\n{LOG.read_text() if LOG.exists() else ''}")
    print(f"  {what}")


def is_closed(folder: str) -> bool:
    """Whether no file can be made there."""
    try:
        Path(folder, "made").touch()
    except OSError:
        return True
    return False


def mib(folder: str) -> float:
    """The size of a folder's files."""
    return sum(path.lstat().st_size for path in Path(folder).rglob("*")) / 2**20


def deliver() -> int:
    """The status of a signed delivery."""
    asked = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=10)
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    asked.request("POST", "/webhooks/racing", BODY, {"X-SVC-Signature": signature, "Content-Type": "application/json"})
    return asked.getresponse().status


def look_around() -> None:
    """Check the user, the files, and the answers to missing settings and to settings with quotes."""
    must(os.getuid() == 10001, "runs as uid 10001")
    must(all(is_closed(folder) for folder in ("/", "/app", "/app/code", "/etc")), "the root is read-only")
    planted = [str(path) for path in Path("/app").rglob("*planted*")]
    must(not planted, f"no planted secret or database is in it {planted or ''}")
    must(not Path("/app/code/sandbox").exists(), "the stand-ins are not in it")
    code, dependencies = mib("/app/code"), mib("/app/.venv")
    must(code < CODE_MIB_AT_MOST, f"our code is {code:.1f} MiB, beside {dependencies:.0f} MiB of dependencies")
    helped = ran("racing-bot", "--help")
    must(helped.returncode == 0 and "subscribe" in helped.stdout and "demo" not in helped.stdout, "--help has no demo")
    nothing = ran("racing-bot", "serve")
    must(nothing.returncode == 2 and "RACING_API_KEY is missing" in nothing.stderr, "says which settings are missing")
    quoted = ran("racing-bot", "serve", **{name: f'"{value}"' for name, value in GOOD.items()})
    named = all(f"{name} has quotes around the value" in quoted.stderr for name in GOOD)
    hidden = not any(value in quoted.stderr for value in GOOD.values())
    must(quoted.returncode == 2 and named and hidden, "names the settings that have quotes, and shows no value")


def serve() -> "subprocess.Popen[bytes]":
    """The bot, started by the image's own command."""
    with LOG.open("wb") as log:
        return subprocess.Popen(["racing-bot", "serve"], env={**os.environ, **GOOD}, stdout=log, stderr=log)


def waited(look: Callable[[], T], is_done: Callable[[T], bool], seconds: float) -> T:
    """The first answer that is done, else the last answer in time."""
    end = time.monotonic() + seconds
    while not is_done(found := look()) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def answer_of(health: list[str]) -> tuple[int, str]:
    """Exit code and output of the image's health check, once the bot is no longer starting."""
    checked = waited(lambda: ran(*health), lambda one: "status" in one.stdout and "starting" not in one.stdout, START_S)
    return checked.returncode, checked.stdout + checked.stderr


def restore(recipe: str) -> None:
    """Put the copy back by the document's recipe, then run `restored`."""
    with Path("/data/copy.db").open("rb") as copy:
        done = subprocess.run(["sh", "-c", recipe], stdin=copy, capture_output=True, text=True, check=False)
    must(done.returncode == 0, f"the copy is put back: {recipe} {done.stderr}")
    told = waited(lambda: ran("racing-bot", "restored", **GOOD), lambda one: one.returncode == 0, FORGOTTEN_S)
    must(told.returncode == 0, f"racing-bot restored: {told.stdout.strip()}{told.stderr}")


def check_works(health: list[str], recipes: dict[str, Any]) -> None:
    """Check a container with a writable /data."""
    look_around()
    bot = serve()
    code, said = answer_of(health)
    must(code == 0, f"healthy: {said.strip()}")
    must(deliver() == 200, "takes a signed delivery")
    for recipe in recipes["python"]:
        done = ran("python", "-c", recipe)
        must(done.returncode == 0, f'the recipe works: python -c "{recipe}" {done.stderr}')
    done = ran(*recipes["backup"].split(), **GOOD)
    must(done.returncode == 0, f"the recipe works: {recipes['backup']} {done.stderr}")
    copy = ran("python", "-c", READ_COPY)
    must("race.abandoned:rc_1" in copy.stdout, f"the copy has the delivery {copy.stderr}")
    bot.terminate()
    must(bot.wait(40) == 0, "SIGTERM ends it in good order")
    restore(recipes["restore"])


def check_closed(health: list[str]) -> None:
    """Check a container with a /data that is closed to the image's user."""
    bot = serve()
    code, said = answer_of(health)
    must(code != 0 and "503" in said, f"unhealthy: {said.strip()}")
    # The receiver answers before the bot has started and written.
    logged = waited(LOG.read_text, lambda said: CLOSED in said, START_S)
    must(CLOSED in logged, "the log names path and uid")
    bot.terminate()
    with suppress(subprocess.TimeoutExpired):
        bot.wait(40)


if __name__ == "__main__":
    _, wanted, health_command, recipes_of_the_docs = sys.argv
    if wanted == "closed":
        check_closed(json.loads(health_command))
    else:
        check_works(json.loads(health_command), json.loads(recipes_of_the_docs))

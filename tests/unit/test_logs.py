"""The log: all lines in the same format, and none with a secret."""

import asyncio
import io
import json
import logging
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import MASK, QUIET_LOGGERS, Log, MaskSecrets, configure_logging, get_logger
from bot.receiver import program
from bot.slack.web_client import make_session, make_web_client
from tests.clock import SkippingLoop

SECRET = "whsec-5ecret-of-a-test"


@pytest.fixture
def log_to(monkeypatch):
    """Configures the log and gives the written lines; puts everything back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level, {name: logging.getLogger(name).level for name in QUIET_LOGGERS}
    written = io.StringIO()

    def configure(level="info", log_format="json", secrets=(SECRET,)):
        monkeypatch.setattr(sys, "stderr", written)
        configure_logging(level, log_format, secrets)
        return written

    yield configure
    configure_logging("info", "text")
    root.handlers[:], levels = before[0], before[2]
    root.setLevel(before[1])
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)


def fail():
    raise RuntimeError(f"boom {SECRET}") from ValueError(f"its cause {SECRET}")


def lines(written):
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_log_line_of_ours_and_of_a_library_carries_its_values_and_where_it_came_from(log_to):
    written = log_to()
    get_logger("bot.test").info("stored", reference="inbox-1")
    logging.getLogger("some.library").warning("said %s", "something")
    ours, library = lines(written)
    assert ours | {"event": "stored", "reference": "inbox-1", "level": "info", "logger": "bot.test"} == ours
    assert library | {"event": "said something", "level": "warning", "logger": "some.library"} == library
    assert ours["timestamp"].endswith("Z")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_log_masks_secrets_in_our_lines_in_libraries_and_in_tracebacks(log_to, log_format):
    written = log_to(log_format=log_format)
    log = get_logger("bot.test")
    of_ours = f"event {SECRET}"
    log.info(of_ours, value=f"before {SECRET} after")
    logging.getLogger("some.library").error("said %s", SECRET)
    try:
        fail()
    except RuntimeError:
        log.exception("failed")
        logging.getLogger("some.library").exception("failed too")
    told = written.getvalue()
    assert SECRET not in told
    assert told.count(MASK) >= 7
    assert told.count("boom ****") == told.count("its cause ****") == 2


async def test_log_leaves_out_lines_below_its_level_and_libraries_keys_and_addresses(log_to):
    written = log_to(level="warning")
    get_logger("bot.test").info("quiet")
    get_logger("bot.test").warning("loud")
    assert [line["event"] for line in lines(written)] == ["loud"]
    log_to(level="debug")
    for name in QUIET_LOGGERS:
        logging.getLogger(name).info("HTTP Request: GET https://api.example.com/v1?key=…")
    assert len(lines(written)) == 1
    async with make_session() as session:
        # slack_sdk looks at the logger's own level, and never at the level of a logger above.
        assert make_web_client("xoxb-1", "https://slack.example/api/", session).logger.level > logging.DEBUG


def test_mask_covers_the_longest_secret_in_every_spelling_of_an_address_and_no_short_secret():
    mask = MaskSecrets(["abc", "secret", "secret-and-more"])
    event = {"event": "abc", "count": 3, "nothing": None}
    assert mask.masked(dict(event)) == event
    assert mask.masked({"event": "a secret-and-more b"}) == {"event": f"a {MASK} b"}

    for spelled in ("key/with +signs%", "key%2Fwith+%2Bsigns%25", "key/with%20%2Bsigns%25"):
        assert MaskSecrets(["key/with +signs%"]).masked(f"?key={spelled}&x=1") == f"?key={MASK}&x=1"


@given(st.text(), st.text(), st.text(alphabet="abcdefgh0123456789", min_size=6, max_size=40))
def test_mask_leaves_no_secret_in_any_text(before, after, secret):
    assert secret not in MaskSecrets([secret]).masked(before + secret + after)


def test_log_that_cannot_be_written_stops_nothing(log_to, monkeypatch):
    written = log_to()

    def full(_text):
        raise OSError("no space left on device")

    monkeypatch.setattr(written, "write", full)
    get_logger("bot.test").warning("stored")
    monkeypatch.undo()
    assert written.getvalue() == ""


@pytest.mark.parametrize("path", ["/a\n[error] forged", "/\x1b[2J", "/\x9b2J", "/a\u2028b", "/a status=200"])
def test_what_strangers_choose_forges_no_line(path, log_to):
    written = log_to(log_format="text", secrets=["back\\slash"])
    get_logger("bot.test").warning("request_refused", path=path, reason="of back\\slash")
    line = written.getvalue()
    assert line.endswith(f"path={path!r} reason='of ********'\n")
    logging.getLogger("some.library").warning(path)
    assert "".join(written.getvalue().splitlines()).isprintable()
    assert written.getvalue().count("\n") == 2


@pytest.mark.parametrize("secret", ["back\\slash", 'quo"ted', "tab\tted", "plain-secret"])
def test_log_masks_a_secret_that_json_would_escape(secret, log_to):
    written = log_to(secrets=[secret])
    values = {"status": 503, "cause": ValueError(secret), "causes": [ValueError(secret)], "body": json.dumps([secret])}
    get_logger("bot.test").warning("stored_secrets_not_read", reason=f"of {secret}", **values)
    logging.getLogger("some.library").error("%r", ValueError(secret))
    line, library = lines(written)
    assert (line["reason"], line["status"]) == ("of ********", 503)
    assert [line["cause"], line["causes"], line["body"]] == [MASK, [MASK], f'["{MASK}"]']
    assert MASK in library["event"]
    assert repr(secret)[1:-1] not in library["event"]
    written = log_to(log_format="text", secrets=[secret])
    get_logger("bot.test").warning("stored_secrets_not_read", **values)
    assert written.getvalue().splitlines()[-1].count(MASK) == 3


def test_receiver_logs_in_the_set_format_without_secrets_and_without_the_chatter_of_libraries(
    log_to, monkeypatch, tmp_path
):
    written = log_to(log_format="text", secrets=())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOG_FORMAT", "json")
    monkeypatch.setenv("RACING_WEBHOOK_SECRETS", SECRET)

    def bound(_options):
        logging.getLogger("uvicorn.error").info("Started server process")
        program.log.warning("bound", secret=SECRET)
        raise SystemExit

    monkeypatch.setattr(program, "_bound", bound)
    with pytest.raises(SystemExit):
        program.serve()
    (line,) = lines(written)
    assert line["secret"] == MASK


def test_flood_of_refusals_leaves_sixty_lines_a_minute_of_a_kind_and_a_count(log_to):
    written = log_to()
    kinds = [*["too many at once"] * 100, "not stored"]

    async def flood():
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        loop.skips, began_s = True, loop.time()
        log = Log("bot.test", lambda: loop.time() - began_s)
        for number, kind in enumerate(kinds):
            log.bounded("request_refused", kind, reference=number)
        await asyncio.sleep(61)
        log.bounded("request_refused", kinds[0], reference=101)
        await asyncio.sleep(61)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(flood())
    told = lines(written)
    assert [line.get("reference") for line in told] == [*range(60), 100, None, 101]
    assert [(line["event"], line["of"], line["lines"]) for line in told if "lines" in line] == [
        ("lines_left_out", kinds[0], 40)
    ]


# A reader that stands still, as a terminal at Ctrl-S or a pager, loses lines and stops no work


@pytest.mark.parametrize("of", [get_logger, logging.getLogger], ids=["bot", "library"])
def test_reader_that_stands_still_loses_lines_until_it_goes_on(of, log_to, monkeypatch):
    log_to(log_format="text")
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with os.fdopen(reading) as reader, os.fdopen(writing, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        for _ in range(100):
            of("some").warning("a line of three pages" + "場" * 3_900)
        assert "a line of three pages" in reader.read()
        of("some").warning("read again")
        assert "read again" in reader.read()

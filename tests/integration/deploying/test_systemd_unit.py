"""The systemd unit: systemd reads the unit, and reckons the exposure of the service."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "deploy/racing-bot.service"
COMMAND = "/opt/racing-bot/.venv/bin/racing-bot"
EXPOSED_AT_MOST = 15
"""Tenths of systemd's figure from 0 to 10. A service without hardening has 9.6."""


@pytest.fixture
def analyze(tmp_path):
    """Runs systemd-analyze on the unit. The command is of this environment: systemd wants a command that exists."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace(COMMAND, str(Path(sys.prefix) / "bin/racing-bot")))

    def ask(*words):
        asked = subprocess.run([program, *words, str(unit)], capture_output=True, text=True, check=False)
        if "Unknown" in asked.stderr or "unrecognized option" in asked.stderr:
            pytest.skip(f"this systemd-analyze is too old: {asked.stderr.strip()}")
        return asked

    return ask


def test_systemd_has_nothing_to_say_against_the_unit(analyze):
    asked = analyze("verify", "--man=no")
    assert (asked.returncode, asked.stdout + asked.stderr) == (0, "")


def test_service_is_little_exposed(analyze):
    asked = analyze("security", "--offline=true", f"--threshold={EXPOSED_AT_MOST}", "--no-pager")
    assert asked.returncode == 0, asked.stdout[-2000:]


def test_service_starts_again_but_for_wrong_settings_and_has_time_to_stop():
    unit = UNIT.read_text("utf-8")
    assert f"ExecStart={COMMAND} serve" in unit
    assert "Restart=always" in unit
    assert "RestartPreventExitStatus=2" in unit
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(stop_s) >= 30

"""`racing-bot demo --headless`: a day for machines, and a page for the time being."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_headless_demo_prints_one_json_object_and_ends_with_zero(tmp_path):
    preloaded = {name: value for name, value in os.environ.items() if name == "LD_PRELOAD"}
    ran = subprocess.run(
        [sys.executable, "-m", "bot", "demo", "--headless", "--speed", "50"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)} | preloaded,
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran
    said = json.loads(ran.stdout)
    assert said["ok"] is True
    counts = said["counts"]
    assert (counts["lost"], counts["doubled"], counts["out_of_order"], counts["uncounted"]) == (0, 0, 0, [])
    assert counts["told"] == sum(said["messages"][name] for name in ("gb-racing", "ire-racing", "everything"))
    assert list(tmp_path.iterdir()) == []

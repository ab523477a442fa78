"""Programs that some tests run: the machine's, else Debian's, unpacked by `.ci/programs`."""

import os
import shutil
from pathlib import Path

UNPACKED = Path(__file__).parents[1] / ".tool/programs/usr/bin"


def program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), str(UNPACKED))))

"""180 power losses, 100 kills and 360 damaged files of a store: nothing that can be saved may be lost.

A run of the tests does a few of each. As a script it does them all: `damage.py [-k power_loss]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = [f"tests/integration/store/{name}.py" for name in ("test_kill", "test_repair")]

if __name__ == "__main__":
    line = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, *sys.argv[1:])
    sys.exit(subprocess.run(line, cwd=ROOT, env=os.environ | {"HELIX_TORTURE": "1"}, check=False).returncode)

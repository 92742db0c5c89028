"""Looks for a counterexample to each property in 2,000 examples, and in other ones each time.

A run of the tests draws 10 for each, always the same ones. `properties.py PATH...` looks at some files only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(paths: list[str]) -> int:
    """Run it as a script; pytest's exit code."""
    environ = os.environ | {"HYPOTHESIS_PROFILE": "deep"}
    # The plugin of Hypothesis marks them; an hour for each is far more than the slowest one takes.
    options = ("-q", "-m", "hypothesis", "-n", "2", "--dist", "worksteal", "-o", "timeout=3600")
    return subprocess.run(
        (sys.executable, "-m", "pytest", *options, *(paths or ["tests"])), cwd=ROOT, env=environ, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

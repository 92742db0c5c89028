"""How long the frozen app takes to start, beside the app in build/package-env: `python -m frozen.startup`.

Three starts are measured, in turn, best and median of twelve: `--version`, a painted picture (`self-check
--paint-only`), and the window until its first frame is on the screen.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from environment import SetupFailed
from package_environment import PLACE as ENVIRONMENT

from frozen.build import NAME, PLACE

ROUNDS = 12
MOST = 1.3
_PATIENCE_S = 60
_TRACE = "window.open"
"""What the window leaves in its data directory right after its first frame (app/running.py)."""

Start = Callable[[Sequence[str]], float]


def ended(command: Sequence[str]) -> float:
    """Seconds until a command has ended. Raises SetupFailed."""
    begin = time.perf_counter()
    done = subprocess.run(command, env=_environ(), capture_output=True, text=True, check=False)
    spent = time.perf_counter() - begin
    if done.returncode:
        raise SetupFailed(f"`{' '.join(command)}` failed: {done.stderr}")
    return spent


def framed(command: Sequence[str]) -> float:
    """Seconds until the window has painted its first frame; then it is ended. Raises SetupFailed."""
    with tempfile.TemporaryDirectory() as place:
        trace = Path(place, _TRACE)
        begin = time.perf_counter()
        window = subprocess.Popen(
            [*command, "--data-dir", place],
            env=_environ(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not trace.exists():
                if window.poll() is not None or time.perf_counter() - begin > _PATIENCE_S:
                    raise SetupFailed(f"`{' '.join(command)}` showed no window.")
                time.sleep(0.001)
            return time.perf_counter() - begin
        finally:
            window.kill()
            window.wait()


STARTS: dict[str, tuple[Start, tuple[str, ...]]] = {
    "--version": (ended, ("--version",)),
    "a painted picture": (ended, ("self-check", "--paint-only")),
    "window, first frame": (framed, ()),
}


def main() -> int:
    """Print a line for each start; 1 when a median is over 1.3 x."""
    root = Path(__file__).resolve().parents[2]
    frozen = [str(root / PLACE / NAME / NAME)]
    virtual = [str(root / ENVIRONMENT / "bin" / "python"), "-P", "-m", "helix_desktop"]
    slow = 0
    for name, (start, words) in STARTS.items():
        # In turn, so that what else the machine does falls on both; the first of each only warms up.
        pairs = [(start([*frozen, *words]), start([*virtual, *words])) for _ in range(ROUNDS + 1)][1:]
        middle = [statistics.median(pair[at] for pair in pairs) for at in (0, 1)]
        best = [min(pair[at] for pair in pairs) for at in (0, 1)]
        slow += middle[0] / middle[1] > MOST
        sys.stdout.write(
            f"{name:<20} frozen {middle[0] * 1000:5.0f} ms, virtual environment {middle[1] * 1000:5.0f} ms: "
            f"{middle[0] / middle[1]:.2f} x (best of {ROUNDS}: {best[0] / best[1]:.2f} x)\n"
        )
        sys.stdout.flush()
    return 1 if slow else 0


def _environ() -> dict[str, str]:
    # Without PYTHONDONTWRITEBYTECODE above all: an installed program has its bytecode.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "QT_QPA_PLATFORM": "offscreen"}


if __name__ == "__main__":
    sys.exit(main())

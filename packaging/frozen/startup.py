"""The start time of the frozen app compared with the app in build/package-env: `python -m frozen.startup`.

Three starts are measured, in turn, medians of twelve: `--version`, a painted picture (`self-check
--paint-only`), and the window until its first frame is on the screen.
"""

from __future__ import annotations

import os
import resource
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
MAX_RATIO = 1.3
_PATIENCE_S = 60
_TRACE = "window.open"
"""What the window leaves in its data directory right after its first frame (app/run.py)."""

Start = Callable[[Sequence[str]], None]


def run_to_end(command: Sequence[str]) -> None:
    """Run a command to its end. Raises SetupFailed."""
    done = subprocess.run(command, env=_environ(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupFailed(f"`{' '.join(command)}` failed: {done.stderr}")


def run_until_painted(command: Sequence[str]) -> None:
    """Run the window until it has painted its first frame; then it is ended. Raises SetupFailed."""
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
                    raise SetupFailed(f"`{' '.join(command)}` didn't show a window.")
                time.sleep(0.001)
        finally:
            window.kill()
            window.wait()


STARTS: dict[str, tuple[Start, tuple[str, ...]]] = {
    "--version": (run_to_end, ("--version",)),
    "a painted picture": (run_to_end, ("self-check", "--paint-only")),
    "window, first frame": (run_until_painted, ()),
}


def main() -> int:
    """Print a line for each start; 1 when a median of the CPU time is over 1.3 x."""
    root = Path(__file__).resolve().parents[2]
    frozen = [str(root / PLACE / NAME / NAME)]
    virtual = [str(root / ENVIRONMENT / "bin" / "python"), "-P", "-m", "helix_desktop"]
    slow = 0
    for name, (start, words) in STARTS.items():
        # In turn, so that other load of the machine falls on both; the first of each only warms up.
        pairs = [
            (measure(start, [*frozen, *words]), measure(start, [*virtual, *words])) for _ in range(ROUNDS + 1)
        ][1:]
        cpu, clock = (
            [statistics.median(pair[who][what] for pair in pairs) for who in (0, 1)] for what in (0, 1)
        )
        slow += cpu[0] / cpu[1] > MAX_RATIO
        sys.stdout.write(
            f"{name:<20} CPU {cpu[0]:4.0f} ms, virtual environment {cpu[1]:4.0f}: {cpu[0] / cpu[1]:.2f} x; "
            f"clock {clock[0]:4.0f} and {clock[1]:4.0f} ms: {clock[0] / clock[1]:.2f} x\n"
        )
        sys.stdout.flush()
    return 1 if slow else 0


def measure(start: Start, command: Sequence[str]) -> tuple[float, float]:
    """Return the milliseconds of processor and clock of one start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    start(command)
    spent = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu * 1000, spent * 1000


def _environ() -> dict[str, str]:
    # Without PYTHONDONTWRITEBYTECODE above all: an installed program has its bytecode.
    values = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**values, "QT_QPA_PLATFORM": "offscreen"}


if __name__ == "__main__":
    sys.exit(main())

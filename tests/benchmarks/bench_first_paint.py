"""First paint of the complete window compared with a bare QMainWindow: full processes, CPU time, in turn."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 7
LATE = ("mcp", "tiktoken", "httpx", "msgspec", "helix_desktop.context")
_EXIT_ON_PAINT = (
    f"LATE = {LATE!r}"
    + """
import os, sys
from PySide6 import QtWidgets
class Window(QtWidgets.QMainWindow):
    def paintEvent(self, event):
        early = [name for name in LATE if name in sys.modules]
        os.write(1, (",".join(early) or "-").encode())
        os._exit(0)
QtWidgets.QMainWindow = Window
"""
)
"""Watches the window alone: a filter for all events of the application costs the whole window 20 ms."""
BARE = (
    _EXIT_ON_PAINT
    + """
app = QtWidgets.QApplication([])
window = Window(); window.resize(1440, 900); window.show()
app.exec()
"""
)
COMPLETE = (
    _EXIT_ON_PAINT
    + """
from helix_desktop.app.plain_startup_error import remove_import_hook
remove_import_hook()
from helix_desktop.start import start
sys.argv = ["helix-desktop", "--data-dir", os.environ["HELIX_BENCH_DATA"]]
start()
"""
)


def _cpu(code: str, environ: dict[str, str]) -> tuple[float, str]:
    """Return the CPU milliseconds of one process, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, check=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1000, done.stdout


def main() -> list[tuple[str, float, str]]:
    """Medians over seven rounds after one warm-up, and their ratio (target: at most 2.3)."""
    with tempfile.TemporaryDirectory() as place:
        # Without PYTHONDONTWRITEBYTECODE above all: from its second start on, an app has its bytecode.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environ |= {"QT_QPA_PLATFORM": "offscreen", "HELIX_BENCH_DATA": place}
        environ["PYTHONPATH"] = str(Path(__file__).parents[2])
        runs = [(_cpu(BARE, environ), _cpu(COMPLETE, environ)) for _ in range(ROUNDS + 1)][1:]
    bare = statistics.median(run[0][0] for run in runs)
    total = statistics.median(run[1][0] for run in runs)
    early = {name for run in runs for name in run[1][1].split(",")} - {"-"}
    return [
        ("first paint, bare QMainWindow", bare, "ms CPU"),
        ("first paint, whole window", total, "ms CPU"),
        ("first paint, ratio", total / bare, "x (target <= 2.3)"),
        (f"of {', '.join(LATE)} imported before it", len(early), ", ".join(sorted(early)) or "none"),
    ]

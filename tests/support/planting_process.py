"""A process whose command has planted what runs by itself, to be killed in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

_PLANT = """
import sys
from pathlib import Path
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
root, home, saved = map(Path, sys.argv[1:4])
guard = AutoRunGuard(root, home, saved)
before = guard.begin()
hook = root / ".git/hooks/pre-commit"
hook.parent.mkdir(exist_ok=True)
hook.write_text("#!/bin/sh\\ntouch " + str(home / "ran"))
hook.chmod(0o755)
(root / ".envrc").write_text("planted")
if sys.argv[4] == "ended":
    guard.end(before)
print("planted", flush=True)
sys.stdin.read()
"""


def start_planting(root: Path, home: Path, saved: Path, *, is_over: bool = False) -> subprocess.Popen[str]:
    """Start it; the command is `over`, and nobody has decided on what it did, or still runs."""
    words = [sys.executable, "-c", _PLANT, str(root), str(home), str(saved), "ended" if is_over else "runs"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "planted\n":
        kill_hard(process)
        raise AssertionError("it ended before it had planted")
    return process


def kill_hard(process: subprocess.Popen[str]) -> None:
    """Kill it: it can do nothing any more."""
    process.send_signal(signal.SIGKILL)
    process.communicate()

"""The report on a run that crashed: its stacks and its log, without keys, logins and the home folder."""

from __future__ import annotations

import platform
from datetime import datetime
from pathlib import Path

from helix_desktop import __version__
from helix_desktop.app.run_marker import LastRun
from helix_desktop.config.paths import LOG_FILE, STACKS_FILE
from helix_desktop.domain.text_variants import ReportRedaction
from helix_desktop.system.files import read_regular

_MAX_LINES = 400
_MS = 1_000
_STAMP = "%Y-%m-%d %H:%M:%S"


def crash_report(logs: Path, run: LastRun, home: Path) -> str:
    """Return the stacks and log lines of a run. Blocks: reads files."""
    started = datetime.fromtimestamp(run.started / _MS)
    head = (
        f"Helix Desktop {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"Started {started:{_STAMP}}, did not close properly.",
    )
    stacks = _tail(logs / STACKS_FILE, run.stacks).strip()
    lines = _lines_since(_tail(logs / LOG_FILE, 0).splitlines(), f"{started:{_STAMP}}")
    parts = (
        "\n".join(head),
        f"Crash stacks\n{stacks or 'None. The process was ended from outside, or the system went down.'}",
        f"Log\n{chr(10).join(lines[-_MAX_LINES:]) or 'No warnings or errors in this run.'}",
    )
    return ReportRedaction(str(home)).redact("\n\n".join(parts))


def _tail(path: Path, start: int) -> str:
    try:
        data = read_regular(path)
    except OSError:
        return ""
    return data[start if start <= len(data) else 0 :].decode("utf-8", "replace")


def _lines_since(lines: list[str], stamp: str) -> list[str]:
    """Return the lines from the first one on with this timestamp or a later one."""
    for number, line in enumerate(lines):
        if line[:4].isdigit() and line[: len(stamp)] >= stamp:
            return lines[number:]
    return []

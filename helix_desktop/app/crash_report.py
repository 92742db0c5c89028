"""The report on a run that crashed: its stacks and its log, without keys, logins and the home folder."""

from __future__ import annotations

import platform
import re
from datetime import datetime
from pathlib import Path

from helix_desktop import __version__
from helix_desktop.app.crash_log import LOG_FILE, STACKS_FILE
from helix_desktop.app.run_marker import LastRun

_MAX_LINES = 400
_MS = 1_000
_STAMP = "%Y-%m-%d %H:%M:%S"
_NAMED_SECRET = re.compile(
    r"(?i)\b((?:api[_-]?|access[_-]?|secret[_-]?)?(?:key|token|secret|password|passwd)|authorization|bearer)"
    r"(['\"]?\s*[=:\s]\s*['\"]?(?:bearer\s+)?)([^\s'\",;&]{6,})"
)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_KEY = re.compile(r"\b(?:sk|pk|ghp|gho|xox[a-z]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}")
_LONG_TOKEN = re.compile(r"\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[G-Zg-z])[A-Za-z0-9_-]{32,}\b")
_SHA = re.compile(r"[0-9a-f]{32,64}")


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
    return redacted("\n\n".join(parts), home)


def redacted(text: str, home: Path) -> str:
    """Remove keys, logins and the path of the home folder from a text."""
    text = _NAMED_SECRET.sub(r"\1\2[removed]", text)
    text = _KEY.sub("[removed]", _LOGIN.sub("[removed]@", text))
    text = _LONG_TOKEN.sub(lambda match: match[0] if _SHA.fullmatch(match[0]) else "[removed]", text)
    return text.replace(str(home), "~") if home != Path(home.anchor) else text


def _tail(path: Path, start: int) -> str:
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    return data[start if start <= len(data) else 0 :].decode("utf-8", "replace")


def _lines_since(lines: list[str], stamp: str) -> list[str]:
    """Return the lines from the first one on with this timestamp or a later one."""
    for number, line in enumerate(lines):
        if line[:4].isdigit() and line[: len(stamp)] >= stamp:
            return lines[number:]
    return []

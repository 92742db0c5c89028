"""Which files a system may run when they are opened, instead of showing them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

_PROGRAMS = (".desktop", ".appimage", ".run", ".jar", ".app", ".command", ".workflow", ".terminal", ".url")
_PROGRAMS_WINDOWS = (
    ".exe", ".com", ".bat", ".cmd", ".ps1", ".vbs", ".vbe", ".js", ".jse", ".wsf", ".wsh", ".hta", ".msi",
    ".msp", ".scr", ".cpl", ".lnk", ".pif", ".reg", ".inf", ".py", ".pyw", ".pyc", ".pyz", ".msc", ".jnlp",
)  # fmt: skip


def may_run(path: Path) -> bool:
    """Return True if opening a file may run it: a program, a script that can be executed, a link to one."""
    suffix = path.suffix.lower()
    if suffix in _PROGRAMS or (sys.platform == "win32" and suffix in _PROGRAMS_WINDOWS):
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True
    can_run = sys.platform != "win32" and mode & 0o111
    return not stat.S_ISREG(mode) or bool(can_run)

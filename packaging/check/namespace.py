"""Isolation of a check: its mounts and processes are gone when it ends, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from environment import SetupFailed
from qt_libraries import install

MARK = "HELIX_CHECK_APART"
PACKAGING = Path(__file__).resolve().parent.parent
NEEDED = {"debootstrap": "debootstrap", "unshare": "util-linux", "git": "git"}
DEBIANS_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def prepare() -> None:
    """Provide the tools that build systems, installed if root. Raise SetupFailed with a one-line reason."""
    if not sys.platform.startswith("linux"):
        raise SetupFailed("systems to check in are built on Linux only.")
    lacking = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if not DEBIANS_KEYS.exists():
        lacking.append("debian-archive-keyring")
    if lacking:
        install(lacking, "what builds systems to check in is missing")
    if os.geteuid() != 0:
        raise SetupFailed("building a system to check in needs root. Call this again with sudo.")
    tried = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        error_text = " ".join(tried.stderr.split())
        raise SetupFailed(f"root may not mount here ({error_text}): a container needs CAP_SYS_ADMIN.")


def is_apart() -> bool:
    """Return True if this process has its own mounts and process numbers."""
    return MARK in os.environ


def go_apart(arguments: Sequence[str]) -> int:
    """Run the check again in a process with mounts and process numbers of its own; its exit code."""
    environ = os.environ | {MARK: "1", "PYTHONPATH": str(PACKAGING)}
    line = [*_apart(), sys.executable, "-m", "check", *arguments]
    child = subprocess.Popen(line, env=environ)
    # The check itself gets SIGTERM when `unshare`, which ignores signals, is gone.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: child.kill())
    while True:
        try:
            code = child.wait()
            return code if code >= 0 else 128 - code
        except KeyboardInterrupt:
            continue  # the terminal has signaled the check, too; it cleans up and ends


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process the way Ctrl+C does: by an exception that cleans up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _apart() -> list[str]:
    return [
        *("unshare", "--mount", "--propagation", "private", "--pid", "--fork"),
        *("--kill-child=SIGTERM", "--mount-proc", "--ipc"),
    ]

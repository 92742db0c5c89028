"""LevelDB's binding where PyPI has no wheel of it: from Python 3.13 on, the system's own package is taken.

It is one folder and its metadata, linked into the environment: nothing else of the system comes in.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

PACKAGES = {"apt": "python3-plyvel", "dnf": "python3-plyvel", "pacman": "python-plyvel"}
LAST_WITH_WHEEL = (3, 12)
SERIES = "1.5."
_NAMES = ("plyvel", "plyvel-ci")
_PROBE = """
import json
try:
    import plyvel
    print(json.dumps([plyvel.__version__, plyvel.__file__]))
except ImportError:
    print("[]")
"""


class NotThere(Exception):
    """This Python has no wheel of the binding, and the system has not installed its own."""


def has_wheel(python: str) -> bool:
    """Tell whether the lock holds the binding for this Python."""
    code = f"import sys; sys.exit(sys.version_info[:2] > {LAST_WITH_WHEEL})"
    return subprocess.run([python, "-I", "-c", code], check=False).returncode == 0


def of_system(python: str) -> tuple[Path, ...]:
    """Find the system's binding: its folder and its metadata. Raises NotThere."""
    # Isolated: what lies in the person's own folders is not the system's.
    done = subprocess.run([python, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout) if done.returncode == 0 else []
    if not found or not found[0].startswith(SERIES):
        raise NotThere(f"{python} has {f'plyvel {found[0]}' if found else 'no plyvel'}; {SERIES}x is needed")
    folder = Path(found[1]).parent
    return folder, *sorted(folder.parent.glob("plyvel-*-info"))


def without_binding(lock: str) -> str:
    """Give a lock without the binding's entries."""
    kept, dropping = [], False
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "\t")):
            dropping = line.partition("==")[0] in _NAMES
        if not dropping:
            kept.append(line)
    return "".join(kept)


def link(paths: tuple[Path, ...], environment: Path) -> None:
    """Link the system's binding into a virtual environment."""
    (packages,) = environment.glob("lib/python3.*/site-packages")
    for path in paths:
        there = packages / path.name
        there.unlink(missing_ok=True)
        there.symlink_to(path)

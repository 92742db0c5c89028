"""LevelDB's binding where PyPI has no wheel of it: from Python 3.13 on, the system's own package is used.

Its folder is linked into the environment, with its metadata and license: nothing else comes in.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"apt": "python3-plyvel", "dnf": "python3-plyvel", "pacman": "python-plyvel"}
LAST_WITH_WHEEL = (3, 12)
SERIES = "1.5."
_TERMS = (
    Path("/usr/share/doc/python3-plyvel/copyright"),
    Path("/usr/share/licenses/python3-plyvel/LICENSE.rst"),
    Path("/usr/share/licenses/python-plyvel/LICENSE.rst"),
)
"""Where Debian, Fedora and Arch put them."""
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
    """Return True if the lock has the binding for this Python."""
    code = f"import sys; sys.exit(sys.version_info[:2] > {LAST_WITH_WHEEL})"
    return subprocess.run([python, "-I", "-c", code], check=False).returncode == 0


@dataclass(frozen=True)
class Binding:
    """The system's binding: its folder, its metadata file, and its license file if known."""

    folder: Path
    version: str
    metadata: Path
    terms: Path | None


def of_system(python: str) -> Binding:
    """Find the system's binding. Raises NotThere."""
    # Isolated: files in the user's own folders are not the system's.
    done = subprocess.run([python, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)
    version_and_path = json.loads(done.stdout) if done.returncode == 0 else []
    if not version_and_path or not version_and_path[0].startswith(SERIES):
        present = f"plyvel {version_and_path[0]}" if version_and_path else "no plyvel"
        raise NotThere(f"{python} has {present}; {SERIES}x is needed")
    folder = Path(version_and_path[1]).parent
    candidates = (
        folder.parent.glob(f"plyvel*-{version_and_path[0]}*-info/{name}") for name in ("METADATA", "PKG-INFO")
    )
    metadata = next((path for paths in candidates for path in paths), None)
    if metadata is None:
        raise NotThere(f"{folder} has no metadata")
    own = (*metadata.parent.glob("LICENSE*"), *metadata.parent.glob("licenses/LICENSE*"))
    terms = (path for path in (*own, *_TERMS) if path.is_file())
    return Binding(folder, version_and_path[0], metadata, next(terms, None))


def without_binding(lock: str) -> str:
    """Return a lock without the binding's entries."""
    lines = []
    dropping = False
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "\t")):
            dropping = line.partition("==")[0] in _NAMES
        if not dropping:
            lines.append(line)
    return "".join(lines)


def link(binding: Binding, environment: Path) -> None:
    """Link the system's binding into a virtual environment, and print its version and license."""
    (packages,) = environment.glob("lib/python3.*/site-packages")
    there = packages / binding.folder.name
    there.unlink(missing_ok=True)
    there.symlink_to(binding.folder)
    about = packages / f"plyvel-{binding.version}.dist-info"
    about.mkdir(exist_ok=True)
    shutil.copyfile(binding.metadata, about / "METADATA")
    if binding.terms is not None:
        shutil.copyfile(binding.terms, about / "LICENSE")

"""Peers: third-party programs that the optional tests use, in their own environments in build/peers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment import SetupFailed, call, clean_environ, pip_install, say

LOCK = Path("packaging", "requirements-peers.txt")
NODE = Path("packaging", "peers")
"""Where package.json and its lock stand."""

_ADDRESSES = ("resolved", "funding")


@dataclass(frozen=True)
class Peers:
    """The peers of a checkout. A failed installation is reported, and its tests skip."""

    root: Path

    @property
    def python(self) -> Path:
        """The interpreter that has the peers of PyPI."""
        return self._place / "python" / "bin" / "python"

    @property
    def node(self) -> Path:
        """Return the folder whose node_modules have the peers of npm."""
        return self._place / "node"

    def ensure(self) -> None:
        """Install what the locks name and is not there yet. Raise SetupFailed without a place for it."""
        self._place.mkdir(parents=True, exist_ok=True)
        python_lock = self.root / LOCK
        node_lock = self.root / NODE / "package-lock.json"
        if not self._is_stamped("python", python_lock) and self._install_python(python_lock):
            self._stamp("python", python_lock)
        if not self._is_stamped("node", node_lock) and self._install_node():
            self._stamp("node", node_lock)

    @property
    def _place(self) -> Path:
        return self.root / "build" / "peers"

    def _is_stamped(self, name: str, lock: Path) -> bool:
        stamp = self._place / f"{name}.stamp"
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == _expected_stamp(lock)

    def _stamp(self, name: str, lock: Path) -> None:
        (self._place / f"{name}.stamp").write_text(_expected_stamp(lock), encoding="utf-8")

    def _install_python(self, lock: Path) -> bool:
        say(f"installing the peers from {LOCK} (a minute the first time)")
        if not self.python.exists() or call(str(self.python), "-c", "import pip"):
            base = str(Path(sys.executable).resolve())
            if call(base, "-m", "venv", "--clear", str(self._place / "python")):
                raise SetupFailed(f"could not create {self._place} (see above). Free some disk space.")
        pip = pip_install(self.python)
        if not call(*pip, "-r", str(lock)):
            return True
        # A missing wheel for this machine must not cost the others.
        say("some peers can't be installed together; trying them one by one")
        lacking = [
            name
            for name, lock_part in self._pieces(lock)
            if _quietly(*pip, "--retries", "0", "-r", lock_part)
        ]
        say(f"{', '.join(lacking)} not installed: their tests are skipped")
        return False

    def _pieces(self, lock: Path) -> Iterator[tuple[str, str]]:
        """Each entry of a lock as a lock of its own: its name, and the file's path."""
        alone = self._place / "one.txt"
        text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
        for entry in re.findall(r"^[a-z0-9].*$", text, re.MULTILINE):
            alone.write_text(entry, encoding="utf-8")
            yield entry.partition(" ")[0], str(alone)

    def _install_node(self) -> bool:
        npm = shutil.which("npm")
        if npm is None:
            say("npm is missing: the tests against Node peers are skipped")
            return False
        say(f"installing the peers from {NODE / 'package-lock.json'}")
        self.node.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(self.root / NODE / name, self.node / name)
        exact = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        if call(npm, "--prefix", str(self.node), *exact):
            say("npm couldn't install them: their tests are skipped")
            return False
        return True


def lock_node(root: Path) -> None:
    """Resolve package.json of the peers into its lock, without any address. Raises SetupFailed."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupFailed("npm is missing; it resolves the Node peers. Install Node.js.")
    folder = root / NODE
    if call(npm, "--prefix", str(folder), "install", "--package-lock-only", "--no-audit", "--no-fund"):
        raise SetupFailed("npm couldn't resolve the Node peers (see above).")
    lock = folder / "package-lock.json"
    bare = _without_addresses(json.loads(lock.read_text(encoding="utf-8")))
    lock.write_text(json.dumps(bare, indent=2) + "\n", encoding="utf-8")


def _without_addresses(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_addresses(part) for key, part in value.items() if key not in _ADDRESSES}
    return value


def _expected_stamp(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()


def _quietly(*command: str) -> int:
    return subprocess.run(command, env=clean_environ(), capture_output=True, check=False).returncode

"""The virtual environment of a checkout: made once, installed from the lock when the lock has changed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import leveldb

# What a command needs, and the lock with it. The second begins with the first: `-r requirements.txt`.
LOCKS = {"run": "requirements.txt", "test": "requirements-dev.txt"}


class SetupFailed(Exception):
    """Set-up cannot go on; the message says what, why and what to do."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment of a checkout: `.venv`, unless another place, with other locks, is named.

    `base` is the Python it is made with: the one that runs this, unless another is named.
    """

    root: Path
    place: str = ".venv"
    locks: Mapping[str, str] = field(default_factory=lambda: LOCKS)
    base: str = field(default_factory=lambda: str(Path(sys.executable).resolve()))

    @property
    def python(self) -> Path:
        return self.root / self.place / "bin" / "python"

    def require_own(self) -> None:
        """Raise SetupFailed if it is a link to another checkout's: set-up would make that one start this."""
        place = self.root / self.place
        if not place.is_symlink():
            return  # made here, or moved along with the checkout
        named = [Path(link.read_text("utf-8").strip()) for link in self._package_links() if link.is_file()]
        for owner in (*named, place.resolve().parent):
            if (owner / "helix").is_file() and not owner.samefile(self.root):
                raise SetupFailed(
                    f"{self.place} is a link to the environment of another checkout ({owner}). "
                    f"Remove the link {place} and try again: this checkout then gets its own."
                )

    def ensure(self, need: str) -> None:
        """Make it hold what `need` (one of its locks) needs; does nothing when it already does.

        Call it under `alone`. Raises SetupFailed.
        """
        if not self.holds(need):
            self._make()
            self._install(need)

    @property
    def has_command(self) -> bool:
        """Return True if `helix-desktop` is there and starts the app from this checkout."""
        return all(path.is_file() and path.read_text("utf-8") == text for path, text in self._links())

    def link_command(self) -> None:
        """Make `helix-desktop` start the app from this checkout, as an editable installation does.

        Written by hand: a build backend would have to be downloaded to do no more than this.
        """
        for path, text in self._links():
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if path == self.command else 0o644)

    @property
    def command(self) -> Path:
        """The command line's program."""
        return self.python.with_name("helix-desktop")

    def holds(self, need: str) -> bool:
        """Return True if what `need` needs is installed, by the current lock."""
        having = {"test", need} & set(self.locks)
        return self.python.exists() and any(self._is_stamped(have) for have in having)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one set-up at a time into this checkout; the others wait, then find it done."""
        (self.root / "build").mkdir(exist_ok=True)
        with locked(self.root / "build" / "setup.lock", "setup"):
            yield

    def mark(self, need: str) -> None:
        """Record that what `need` needs is installed, by the current lock."""
        self._stamp(need).write_text(self._required_stamp(need), encoding="utf-8")

    def _links(self) -> Iterator[tuple[Path, str]]:
        # -P: a module of the folder in which the command is called must not replace one of the app's.
        python = shlex.quote(str(self.python))
        yield self.command, f'#!/bin/sh\nexec {python} -P -m helix_desktop "$@"\n'
        for link in self._package_links():
            yield link, f"{self.root}\n"

    def _package_links(self) -> Iterator[Path]:
        for packages in (self.root / self.place).glob("lib/python3.*/site-packages"):
            yield packages / "helix-desktop.pth"

    def _is_stamped(self, need: str) -> bool:
        stamp = self._stamp(need)
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == self._required_stamp(need)

    def _stamp(self, need: str) -> Path:
        return self.root / self.place / f"helix-{need}.stamp"

    def _required_stamp(self, need: str) -> str:
        digest = hashlib.sha256()
        digest.update((self.root / "pyproject.toml").read_bytes())
        digest.update(read_lock(self.root / self.locks[need]).encode())
        return digest.hexdigest()

    def _make(self) -> None:
        if self._works():
            return
        say(f"creating {self.place} with {self.base}")
        # Resolved: this may be running on the very environment that is cleared. Cleared: the remains of an
        # interrupted or moved environment are worth nothing.
        if call(self.base, "-m", "venv", "--clear", str(self.root / self.place)):
            raise SetupFailed(
                f"could not create {self.place} (see above). Free some disk space, or check the permissions."
            )

    def _works(self) -> bool:
        probe = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))"
        if not self.python.exists():
            return False
        return call(str(self.python), "-c", probe) == 0

    def _install(self, need: str) -> None:
        for stamp in map(self._stamp, self.locks):
            stamp.unlink(missing_ok=True)
        say(f"installing from {self.locks[need]} (a few minutes the first time)")
        start = time.monotonic()
        lock, binding = self._lock(need)
        # Side by side: a single pip waits for each download, and leaves all cores but one idle.
        with ThreadPoolExecutor() as side_by_side:
            entries = lock_entries(lock)
            codes = list(side_by_side.map(self._install_part, (0, 1), (entries[::2], entries[1::2])))
        if any(codes):
            raise SetupFailed("pip could not install the lock (see above). Check the network and try again.")
        if binding is not None:
            leveldb.link(binding, self.root / self.place)
        self.mark(need)
        say(f"installed in {time.monotonic() - start:.0f} s")

    def _install_part(self, number: int, entries: Sequence[str]) -> int:
        part = self.root / self.place / f"lock-{number}.txt"
        part.write_text("".join(entries), encoding="utf-8")
        return call(*pip_install(self.python), "-r", str(part))

    def _lock(self, need: str) -> tuple[str, leveldb.Binding | None]:
        """Return what to install, and the system parts linked next to it. Raise SetupFailed."""
        lock = read_lock(self.root / self.locks[need])
        if leveldb.has_wheel(str(self.python)):
            return lock, None
        try:
            binding = leveldb.of_system(self.base)
        except leveldb.NotThere as error:
            raise SetupFailed(f"{error}. Install {leveldb.PACKAGES['apt']}, or Python 3.12.") from None
        return leveldb.without_binding(lock), binding


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock; while another process of this checkout has it, say so and wait."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another {what} is running in this checkout; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_lock(lock: Path) -> str:
    """Return all that a lock names, with the lock that it begins with (`-r FILE`) in place of that line."""
    first, _, rest = (text := lock.read_text(encoding="utf-8")).partition("\n")
    if not first.startswith("-r "):
        return text
    return read_lock(lock.parent / first.removeprefix("-r ")) + rest


def lock_entries(lock: str) -> list[str]:
    """Return the entries of a lock, each with its hashes and comments."""
    return re.findall(r"^[a-z0-9].*\n(?: .*\n)*", lock, re.MULTILINE)


def call(*command: str) -> int:
    """Run a command of the set-up, its output going to standard error, and return its exit code."""
    return subprocess.run(command, env=clean_environ(), stdout=sys.stderr, check=False).returncode


def pip_install(python: Path) -> tuple[str, ...]:
    """Give the quiet command of a Python that installs what a lock names, and nothing else.

    Only wheels, every hash checked: nothing is built and nothing unnamed comes in.
    """
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    exact = ("--require-hashes", "--only-binary", ":all:", "--no-deps")
    return (str(python), "-m", "pip", "install", *quiet, *exact)


def clean_environ() -> dict[str, str]:
    """Return the environment variables without those that would lead Python or pip elsewhere."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "__PYVENV_LAUNCHER__"}
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def say(text: str) -> None:
    """Tell the user what set-up does, on standard error: standard output belongs to the command."""
    sys.stderr.write(f"helix: {text}\n")
    sys.stderr.flush()

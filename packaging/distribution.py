"""Which system this is, and its names and commands for what the app needs: the facts of system-*.txt."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RELEASE = Path("/etc/os-release")
INSTALL = {
    "apt": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper --non-interactive install",
    "pacman": "pacman -S --needed --noconfirm",
}


@dataclass(frozen=True)
class SystemPart:
    """A library (`lib….so.N`), program or file of the system: when it is needed, and who has it."""

    when: str
    name: str
    debian: str
    arch: str

    def package(self, manager: str) -> str:
        """Return its name for a package manager; dnf and zypper can search inside packages."""
        if manager == "pacman":
            return self.arch
        if manager in {"dnf", "zypper"}:
            if self.name.startswith("/"):
                return self.name
            return f"'{self.name}()(64bit)'" if self.name.startswith("lib") else f"/usr/bin/{self.name}"
        return self.debian


def system_parts() -> tuple[SystemPart, ...]:
    """Read what the app and its tests need from the system."""
    return tuple(SystemPart(*words) for words in _rows("system-packages.txt"))


def os_release(path: Path = RELEASE) -> dict[str, str]:
    """Read which system this is; empty if nothing says so."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value.strip("\"'") for name, equals, value in pairs if equals}


def known_pythons(release: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the package manager of a system and its packages of a suitable Python; ("", []) if unknown."""
    version = release.get("VERSION_ID", "")
    rows = [(words[0], words[1], words[2], words[3:]) for words in _rows("system-pythons.txt")]
    for name in [release.get("ID", ""), *release.get("ID_LIKE", "").split()]:
        for release_id, at, manager, packages in rows:
            if release_id == name and at in {version, "*"}:
                return manager, packages
        version = ""  # of this system alone, not of those it is like
    return "", []


def install_line(manager: str, packages: Sequence[str], *, sudo: bool = True) -> str:
    """Return the one line that installs packages; empty for an unknown manager."""
    if manager not in INSTALL or not packages:
        return ""
    return f"{'sudo ' if sudo else ''}{INSTALL[manager]} {' '.join(packages)}"


def describe_system(release: Mapping[str, str]) -> str:
    """Name this system for people."""
    return release.get("PRETTY_NAME") or release.get("ID") or sys.platform


def _rows(name: str) -> Iterator[list[str]]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.split()

"""What the app and its tests need from the system: detected by loading, installed with apt if root."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import leveldb
from distribution import (
    SystemPart,
    describe_system,
    install_line,
    known_pythons,
    os_release,
    system_parts,
)
from environment import SetupFailed, say


def missing(need: str | None, environ: Mapping[str, str]) -> list[SystemPart]:
    """Return what `need` ("run", "test", "package" or nothing) lacks; "run" depends on the display."""
    if need is None or not sys.platform.startswith("linux"):
        return []
    when = {"offscreen"}
    if need == "test":
        when |= {"x11", "test"}
    if need == "package":  # whatever display the app will be run on
        when |= {"x11", "wayland"}
    if environ.get("DISPLAY"):
        when.add("x11")
    if environ.get("WAYLAND_DISPLAY"):
        when.add("wayland")
    return [part for part in system_parts() if part.when in when and not _is_there(part.name)]


def missing_packages(need: str | None, environ: Mapping[str, str]) -> list[str]:
    """List the packages that `need` lacks, as this system calls them."""
    manager, _ = known_pythons(os_release())
    return list(dict.fromkeys(part.package(manager) for part in missing(need, environ)))


def missing_binding(python: str) -> list[str]:
    """Name the package of LevelDB's binding where this Python has to take the system's, and it is not there.

    Raises SetupFailed where no package of the system can be it.
    """
    if leveldb.has_wheel(python):
        return []
    try:
        leveldb.of_system(python)
    except leveldb.NotThere as error:
        release = os_release()
        package = leveldb.PACKAGES.get(known_pythons(release)[0])
        if not package or not Path(python).is_relative_to("/usr/bin"):
            raise SetupFailed(f"{error}, and PyPI has no wheel of it. {python_line(release)}") from None
        return [package]
    return []


def python_line(release: Mapping[str, str]) -> str:
    """Say in one line how this system gets a Python for which every library has a wheel."""
    manager, packages = known_pythons(release)
    line = install_line(manager, packages)
    if manager == "pacman":
        line += " && uv python install 3.12"
    if not line or "python3" in packages:
        return "Install Python 3.12 with uv (`uv python install 3.12`) or pyenv."
    return f"{describe_system(release)} has a suitable Python:  {line}"


def ensure(need: str | None, environ: Mapping[str, str], *, also: Sequence[str] = ()) -> None:
    """Have everything that `need` needs, and packages besides: as root with apt, else say the exact command.

    Call it under `Environment.alone`. Raises SetupFailed.
    """
    lacking = [*also, *missing_packages(need, environ)]
    if not lacking:
        return
    install(lacking, "System packages are missing", known_pythons(os_release())[0])
    if still := missing_packages(need, environ):
        raise SetupFailed(
            f"These libraries still can't be loaded: {' '.join(still)}. See apt's output above."
        )


def install(packages: Sequence[str], why: str, manager: str = "apt") -> None:
    """Install packages, by the names of `manager`, with apt if root; else say in one exact line how.

    Raises SetupFailed.
    """
    command = install_line(manager, packages, sudo=False)
    if not command or manager != known_pythons(os_release())[0]:
        raise SetupFailed(f"{why}. Install what Debian calls {' '.join(packages)}.")
    if manager != "apt" or not shutil.which("apt-get") or os.geteuid() != 0:
        raise SetupFailed(f"{why}. Install them, then run this again:  sudo {command}")
    say(f"installing with apt: {' '.join(packages)}")
    # Without the network the lists from before may do: only the second one has to succeed.
    _apt("apt-get update")
    if problem := _apt(command):
        raise SetupFailed(f"`{command}` failed:\n{problem}\nRun it yourself, then run this again.")


def _is_there(name: str) -> bool:
    if name.startswith("/"):
        return Path(name).is_file()
    return _loads(name) if name.startswith("lib") else bool(shutil.which(name))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _apt(command: str) -> str:
    """Run apt quietly, waiting for another apt to end; return its output if it failed, else nothing."""
    line = [*command.split(), "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(line, env=environ, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}".strip() or "no reason given" if done.returncode else ""

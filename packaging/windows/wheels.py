"""The app's own lock, as far as it is for 64-bit Windows, installed into a folder from any system."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import SetupFailed, call
from packaging.requirements import Requirement


def environment_of(version: str) -> dict[str, str]:
    """Return the marker environment of a lock: a CPython of this full version on 64-bit Windows."""
    return {
        "implementation_name": "cpython",
        "implementation_version": version,
        "os_name": "nt",
        "platform_machine": "AMD64",
        "platform_python_implementation": "CPython",
        "platform_release": "10",
        "platform_system": "Windows",
        "platform_version": "10.0.17763",
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": "win32",
    }


def for_windows(lock: str, version: str) -> Iterator[str]:
    """Return the requirements of a lock that apply on Windows, with their hashes and without markers."""
    environment = environment_of(version)
    text = "\n".join(line for line in lock.splitlines() if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        words, *hashes = line.split("--hash=")
        if not words.strip():
            continue
        requirement = Requirement(words.strip())
        if requirement.marker is None or requirement.marker.evaluate(environment):
            name = f"{requirement.name}{requirement.specifier}"
            yield " ".join([name, *(f"--hash={digest.strip()}" for digest in hashes)])


def install(lock: Path, version: str, folder: Path) -> list[str]:
    """Install into `folder`; return what was installed, as NAME==VERSION. Raise SetupFailed."""
    lines = list(for_windows(lock.read_text(encoding="utf-8"), version))
    shutil.rmtree(folder, ignore_errors=True)
    requirement_file = folder.with_name(f"{lock.stem}-windows.txt")
    requirement_file.parent.mkdir(parents=True, exist_ok=True)
    requirement_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = ("--platform", "win_amd64", "--python-version", ".".join(version.split(".")[:2]))
    exact = ("--implementation", "cp", "--only-binary", ":all:", "--require-hashes", "--no-deps")
    into = ("--no-compile", "--target", str(folder), "-r", str(requirement_file))
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
    if call(sys.executable, *pip, *target, *exact, *into):
        raise SetupFailed("pip could not install the lock for Windows (see above).")
    return [line.split(" ")[0] for line in lines]

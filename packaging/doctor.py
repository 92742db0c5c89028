"""./helix doctor: what is installed, what is missing, and one line that installs it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import qt_libraries
from distribution import describe_system, install_line, known_pythons, os_release
from environment import LOCKS, Environment, SetupFailed

_NICE_TO_HAVE = {
    "bwrap": ("bubblewrap", "the stronger sandbox for commands"),
    "make": ("make", "make run, make test"),
}
_SPACE_GB = 1.0


@dataclass(frozen=True)
class Finding:
    """One line: a mark, the subject, the result."""

    mark: str
    what: str
    detail: str
    packages: tuple[str, ...] = ()


def examine(environment: Environment, environ: Mapping[str, str]) -> int:
    """Print every finding and the line that installs what is missing; 1 if something is."""
    findings = list(_findings(environment, environ))
    for finding in findings:
        sys.stdout.write(f"{finding.mark:<7}  {finding.what:<18} {finding.detail}\n")
    manager, _ = known_pythons(os_release())
    for mark, title in (
        ("MISSING", "To install what is missing"),
        ("could", "To install the optional packages"),
    ):
        marked = (finding.packages for finding in findings if finding.mark == mark)
        packages = list(dict.fromkeys(chain.from_iterable(marked)))
        if not packages:
            continue
        line = install_line(manager, packages, sudo=os.geteuid() != 0)
        sys.stdout.write(f"\n{title}:\n  {line or 'Debian packages: ' + ' '.join(packages)}\n")
    return 1 if any(finding.mark == "MISSING" for finding in findings) else 0


def _findings(environment: Environment, environ: Mapping[str, str]) -> Iterator[Finding]:
    yield Finding("ok", "system", describe_system(os_release()))
    yield _python()
    display = environ.get("WAYLAND_DISPLAY") or environ.get("DISPLAY")
    yield Finding("ok", "display", display or "none: the app runs offscreen")
    free = shutil.disk_usage(environment.root).free / 1e9
    free_space = f"{free:.1f} GB free (setup needs about {_SPACE_GB:.0f})"
    yield Finding("ok" if free > _SPACE_GB else "MISSING", "disk", free_space)
    for need in LOCKS:
        lacking = qt_libraries.missing_packages(need, environ)
        text = " ".join(lacking) or "installed"
        yield Finding("MISSING" if lacking else "ok", f"packages to {need}", text, tuple(lacking))
    for need, lock in LOCKS.items():
        there = environment.holds(need)
        text = f"{lock}, {'installed' if there else f'./helix {need} installs it'}"
        yield Finding("ok" if there else "later", f"lock to {need}", text)
    for program, (package, use) in _NICE_TO_HAVE.items():
        there = bool(shutil.which(program))
        yield Finding("ok" if there else "could", program, use, () if there else (package,))


def _python() -> Finding:
    version = sys.version.split()[0]
    try:
        lacking = qt_libraries.missing_binding(str(Path(sys.executable).resolve()))
    except SetupFailed as failed:
        return Finding("MISSING", "python", f"{version}: {failed}")
    note = f", with the system's {lacking[0]}" if lacking else ""
    return Finding("MISSING" if lacking else "ok", "python", f"{version}{note}", tuple(lacking))

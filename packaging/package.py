"""./helix package TARGET...: builds and checks installers. Each target has a folder, read when asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import SetupFailed, say
from system_tools import NotHere

Build = Callable[[Path, Sequence[str]], int]
"""What each target's module has as `build`: the checkout and the words after `--`; an exit code."""


@dataclass(frozen=True)
class Target:
    """A word after `./helix package`: what it makes, and the module that does so."""

    does: str
    module: str

    def build(self) -> Build:
        """Its function. Raises SetupFailed when this checkout does not have the module."""
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            if error.name not in {self.module, self.module.partition(".")[0]}:
                raise
            place = Path("packaging", *self.module.split(".")).with_suffix(".py")
            raise SetupFailed(
                f"{place} is missing in this checkout. Build this target from a complete checkout."
            ) from None
        build: Build = module.build
        return build


TARGETS = {
    "frozen": Target("the app with its Python and Qt, in build/frozen", "frozen.build"),
    "deb": Target("a package for Debian and Ubuntu", "deb.build"),
    "rpm": Target("a package for Fedora and openSUSE", "rpm.build"),
    "appimage": Target("one file that runs on any Linux", "appimage.build"),
    "flatpak": Target("the Flatpak manifest, checked; stores build it", "flatpak.build"),
    "windows": Target("an installer for Windows", "windows.build"),
    "macos": Target("a disk image for macOS, on a Mac", "macos.build"),
    "licenses": Target("the licenses of all components", "release.licenses"),
    "sbom": Target("the software bill of materials (SBOM)", "release.sbom"),
    "checksums": Target("the SHA-256 of everything in dist", "release.checksums"),
    "static": Target("check workflows, scripts and the list of components", "check.static"),
    "check": Target("install, run and remove the packages in clean systems", "check.run"),
}
ALL = ("frozen", "deb", "rpm", "appimage", "flatpak", "windows", "macos", "licenses", "sbom", "checksums")
"""What `all` builds, in this order: later targets use what earlier ones made."""


def main(root: Path, words: Sequence[str]) -> int:
    """Build the given targets in order; return 0 if all are built. `-- WORDS` go to each of them."""
    at = words.index("--") if "--" in words else len(words)
    formats = words[:at]
    rest = words[at + 1 :]
    unknown = [name for name in formats if name not in {*TARGETS, "all"}]
    if unknown or not formats:
        say(f"Unknown target: {unknown[0]!r}." if unknown else "Choose what to build.")
        _list()
        return 2
    if "all" in formats:
        return _all(root, rest)
    for name in formats:
        if code := TARGETS[name].build()(root, rest):
            return code
    return 0


def _list() -> None:
    sys.stderr.write("Usage: ./helix package TARGET... [-- WORDS]\n\n")
    for name, target in TARGETS.items():
        sys.stderr.write(f"  {name:<10} {target.does}\n")
    sys.stderr.write(f"  {'all':<10} {', '.join(ALL)}: everything that this computer can build\n")


def _all(root: Path, rest: Sequence[str]) -> int:
    """Build everything that can be built here, then report the results."""
    results = {name: _try_build(name, root, rest) for name in ALL}
    for name, why in results.items():
        result = "built"
        if why:
            result = "skipped" if why[0] else "FAILED"
        words = why[1] if why else TARGETS[name].does
        sys.stdout.write(f"{result:<7}  {name:<10} {words}\n")
    return 1 if any(why and not why[0] for why in results.values()) else 0


def _try_build(name: str, root: Path, rest: Sequence[str]) -> tuple[bool, str] | None:
    """None when it is built; else whether that is this machine's limit, and why."""
    try:
        code = TARGETS[name].build()(root, rest)
    except NotHere as lacking:
        return True, str(lacking)
    except SetupFailed as failed:
        return False, str(failed)
    return (False, f"exit code {code}") if code else None

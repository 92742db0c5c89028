"""A frozen app's needs from the system: libraries it does not include, and the versions of their symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from environment import SetupFailed
from system_tools import all_files, ensure, run

_MAGIC = b"\x7fELF"
_NEEDED = re.compile(r"\(NEEDED\).*\[(.+?)\]")
_VERSION = re.compile(r"Name: ((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)\b")
_FILE = re.compile(r"File: (\S+)")


@dataclass
class Needs:
    """The system's libraries by name with one file that needs each, and the newest required symbols."""

    libraries: dict[str, str] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)


# The one list: what deb and rpm declare, and what a build may require. The newest symbols decide which
# systems are supported: Ubuntu 22.04 has these, Debian 12 newer ones.
SYSTEM = {
    "ld-linux-x86-64.so.2": "libc6",
    "libc.so.6": "libc6",
    "libdl.so.2": "libc6",
    "libm.so.6": "libc6",
    "libpthread.so.0": "libc6",
    "libresolv.so.2": "libc6",
    "librt.so.1": "libc6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libEGL.so.1": "libegl1",
    "libexpat.so.1": "libexpat1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libgcc_s.so.1": "libgcc-s1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0 | libglib2.0-0t64",
    "libgthread-2.0.so.0": "libglib2.0-0 | libglib2.0-0t64",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libstdc++.so.6": "libstdc++6",
    "libuuid.so.1": "libuuid1",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb.so.1": "libxcb1",
    "libz.so.1": "zlib1g",
}
NEWEST = {"GLIBC": "2.35", "GLIBCXX": "3.4.29", "CXXABI": "1.3.13"}


def needs(tree: Path) -> Needs:
    """Read every ELF file of a frozen app."""
    ensure("readelf")
    needed = Needs()
    carried = {path.name for path in all_files(tree)}
    for path in all_files(tree):
        if path.is_symlink() or not is_elf(path):
            continue
        output = run("readelf", "-dVW", path)
        for name in _NEEDED.findall(output):
            if name not in carried:
                needed.libraries.setdefault(name, str(path.relative_to(tree)))
        for symbol in _VERSION.findall(output):
            family, _, version = symbol.partition("_")
            if _version_key(version) > _version_key(needed.symbols.get(family, "0")):
                needed.symbols[family] = version
    return needed


def complaints(needed: Needs) -> list[str]:
    """Return what is required and neither included nor declared; each with the file that requires it."""
    wrong = [
        f"{name} (asked for by {by}) is neither in the app nor declared in frozen/libraries.py"
        for name, by in sorted(needed.libraries.items())
        if name not in SYSTEM
    ]
    wrong += [
        f"{family}_{version} is newer than the {family}_{NEWEST[family]} of the oldest system that is served"
        for family, version in sorted(needed.symbols.items())
        if _version_key(version) > _version_key(NEWEST[family])
    ]
    return wrong


def verify_needs(tree: Path) -> Needs:
    """Return the app's needs from the system. Raise SetupFailed if packages do not declare them all."""
    needed = needs(tree)
    if wrong := complaints(needed):
        raise SetupFailed("\n  ".join(["the frozen app would not run everywhere:", *wrong]))
    return needed


def is_elf(path: Path) -> bool:
    """Return True if a file is a program or a library."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))

"""Programs of the system that packaging calls: installed with apt if root, else named in one exact line."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from environment import SetupFailed, clean_environ
from qt_libraries import install

# Program -> Debian package.
DEBIAN = {
    "appstreamcli": "appstream",
    "cpio": "cpio",
    "desktop-file-validate": "desktop-file-utils",
    "dpkg-deb": "dpkg",
    "flatpak-builder": "flatpak-builder",
    "lintian": "lintian",
    "man": "man-db",
    "mksquashfs": "squashfs-tools",
    "objdump": "binutils",
    "readelf": "binutils",
    "rpm": "rpm",
    "rpmbuild": "rpm",
    "unsquashfs": "squashfs-tools",
    "xmllint": "libxml2-utils",
}


class NotHere(SetupFailed):
    """This machine lacks what a target needs; `package all` reports it and continues."""


def ensure(*programs: str, packages: Mapping[str, str] = DEBIAN) -> None:
    """Have these programs. Raises NotHere with the line to run where this user may not install them."""
    lacking = [name for name in programs if not shutil.which(name)]
    if not lacking:
        return
    try:
        install(sorted({packages[name] for name in lacking}), f"{' and '.join(lacking)} must be installed")
    except SetupFailed as failed:
        raise NotHere(str(failed)) from None
    if still := [name for name in lacking if not shutil.which(name)]:
        raise NotHere(f"Still not found after installing: {' '.join(still)}. See apt's output above.")


def run(*command: str | Path, folder: Path | None = None, extra: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output. Raise SetupFailed with its own message if it fails."""
    line = [str(word) for word in command]
    environ = clean_environ() | {"LC_ALL": "C.UTF-8"} | dict(extra or {})
    done = subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        output = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-40:])
        raise SetupFailed(f"`{' '.join(line)}` failed with {done.returncode}:\n{output}")
    return done.stdout


def fill(text: str, facts: Mapping[str, str]) -> str:
    """Return a text with each @NAME@ replaced by that fact."""
    return re.sub(r"@([A-Z]+)@", lambda match: facts[match[1]], text)


def all_files(folder: Path) -> Iterable[Path]:
    """Every file and link below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())

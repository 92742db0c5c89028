"""./helix package windows: dist/HelixDesktop-VERSION-setup.exe, for 64-bit Windows, made on Linux."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import qt_libraries
import system_tools
from environment import clean_environ
from package_environment import package_environment

_PACKAGES = {
    "makensis": "nsis",
    "osslsigncode": "osslsigncode",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-objdump": "binutils-mingw-w64-x86-64",
}
_MAKE = "import sys; sys.path.insert(0, {place!r}); from windows.make import main; sys.exit(main())"


def build(root: Path, words: Sequence[str]) -> int:
    """Make the set-up. Raises SetupFailed."""
    system_tools.ensure(*_PACKAGES, packages=_PACKAGES)
    qt_libraries.ensure("run", os.environ)  # the icon is drawn by Qt
    environment = package_environment(root)
    code = _MAKE.format(place=str(root / "packaging"))
    line = [str(environment.python), "-P", "-c", code]
    return subprocess.run(line, cwd=root, env=clean_environ(), check=False).returncode

"""`./helix texts`: updates the catalogs. PATHs: only checks the texts there; `--compile`: only compiles."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import PySide6
from texts.build import check, compile_catalogs, update

ROOT = Path(__file__).resolve().parents[1]
LRELEASE = Path(PySide6.__file__).parent / ("lrelease.exe" if sys.platform == "win32" else "lrelease")


def main(arguments: Sequence[str]) -> int:
    """Update all catalogs, or check the texts of some paths; return 1 if a text breaks a rule."""
    if arguments == ["--compile"]:
        compile_catalogs(ROOT, LRELEASE)
        return 0
    if arguments:
        return check(ROOT, [Path(argument).resolve() for argument in arguments])
    return update(ROOT, LRELEASE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

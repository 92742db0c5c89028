"""A copy of the program in a read-only place, and the files that its runs leave elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from helix_desktop.tools.shell.scratch import temporary_base
from tests.support.cli_rig import ROOT

IGNORE_TEMP_BYTECODE = shutil.ignore_patterns("*.pyc.*")
"""Bytecode that another process is just writing, for `shutil.copytree`."""

_SYSTEM_CACHES = {".cache/fontconfig"}
"""Made by fontconfig for every program with fonts, where the system's own cache is out of date."""


@dataclass(frozen=True)
class ReadOnlyProgram:
    """The program, an empty home, an empty folder for temporary files, and how the program is started."""

    folder: Path
    home: Path
    scratch: Path
    files: tuple[Path, ...]
    prefix: tuple[str, ...]
    """Words before the command that make the folder read-only, also for root."""

    @classmethod
    def copy_into(cls, folder: Path) -> ReadOnlyProgram:
        """Copy the program below `place`; skips the test where root can write everywhere."""
        program, home, scratch = folder / "program", folder / "home", folder / "scratch"
        # With its bytecode, as an installed program has it: else every start compiles the app again.
        shutil.copytree(ROOT / "helix_desktop", program / "helix_desktop", ignore=IGNORE_TEMP_BYTECODE)
        shutil.copytree(ROOT / "resources", program / "resources", ignore=shutil.ignore_patterns("*.pyc*"))
        home.mkdir()
        scratch.mkdir()
        files = tuple(sorted(program.rglob("*")))
        return cls(program, home, scratch, files, _write_protect(program))

    def command(self, *args: str) -> tuple[str, ...]:
        """Return the command line of `helix-desktop ARGUMENTS`."""
        return (*self.prefix, sys.executable, "-m", "helix_desktop", *args)

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables that lead it to this home, without those that would lead it elsewhere."""
        names = {name for name in os.environ if name.startswith(("XDG_", "PYTHONDONT", "HELIX_", "QT_"))}
        own = {"HOME": str(self.home), "PYTHONPATH": str(self.folder), "TMPDIR": str(self.scratch)}
        return {name: text for name, text in os.environ.items() if name not in names} | own

    def home_entries(self, data_dir: str = "data") -> set[str]:
        """List the files in the home, except those below `data` and the system's own."""
        names = {str(place.relative_to(self.home)) for place in self.home.rglob("*")}
        below = tuple(f"{own}/" for own in (data_dir, *_SYSTEM_CACHES))
        rest = {name for name in names if not name.startswith(below)}
        return rest - _SYSTEM_CACHES - ({".cache"} if _SYSTEM_CACHES & names else set())

    def assert_untouched(self) -> None:
        """Assert that nothing was written next to the program or into the folder for temporary files."""
        assert tuple(sorted(self.folder.rglob("*"))) == self.files
        # The folder in which all workspaces make theirs stays, empty: removing it would race with other runs.
        base = self.scratch / temporary_base().name
        assert [path for path in self.scratch.rglob("*") if path != base] == []


def _write_protect(program: Path) -> tuple[str, ...]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap:
        return (
            bubblewrap,
            "--die-with-parent",
            "--dev-bind",
            "/",
            "/",
            "--ro-bind",
            str(program),
            str(program),
        )
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("without bubblewrap root may write everywhere")
    for place in [*program.rglob("*"), program]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    return ()

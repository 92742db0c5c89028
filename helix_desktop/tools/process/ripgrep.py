"""The bundled ripgrep: where it is, and one run of it.

Its regular expressions take time linear in the text, whatever the pattern: a model's pattern cannot hang us.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path

from helix_desktop.domain.errors import ToolError
from helix_desktop.tools.process.runner import ProcessResult, ProcessSpec, run_process

_NAME = "rg.exe" if os.name == "nt" else "rg"
_OPTIONS = ("--no-config", "--color=never", "--line-number", "--max-columns=400", "--max-columns-preview")
_TIMEOUT_S = 30.0
_NO_MATCH, _TROUBLE = 1, 2
_CAP = 16 * 1024 * 1024  # bytes of output


def find_ripgrep() -> Path | None:
    """Return the bundled ripgrep (of a frozen program or its environment), else the system's, else None."""
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    frozen = getattr(sys, "_MEIPASS", "")
    if frozen:
        folders[:0] = [Path(frozen), Path(frozen) / "bin"]
    for path in chain((folder / _NAME for folder in folders), _installed()):
        if path.is_file():
            return path
    system = shutil.which("rg")
    return Path(system) if system else None


def _installed() -> Iterator[Path]:
    """Yield where the ripgrep package installed the program: environments may share packages."""
    try:
        files = distribution("ripgrep").files or ()
    except PackageNotFoundError:
        return
    yield from (Path(str(file.locate())).resolve() for file in files if file.name == _NAME)


def normalize_path(name: str, windows: bool = os.name == "nt") -> str:
    """Return a path from ripgrep relative to the searched folder, with slashes."""
    return (name.replace("\\", "/") if windows else name).removeprefix("./")


class Ripgrep:
    """Runs the ripgrep binary."""

    def __init__(self, binary: Path | None, environment: Mapping[str, str]) -> None:
        self._binary, self._environment = binary, environment

    async def run(self, args: Sequence[str], cwd: str, stdin_data: bytes | None = None) -> ProcessResult:
        """Search files, or `stdin_data` if it is given. No match is exit code 1.

        Raises ToolError with ripgrep's own message when the pattern is wrong, and when there is no ripgrep.
        """
        if self._binary is None:
            raise ToolError(
                "Text search is not available.",
                "The ripgrep program that comes with Helix Desktop was not found.",
                "Use read_file or run_command instead, and tell the user to reinstall.",
            )
        command = [str(self._binary), *_OPTIONS, *args]
        try:
            spec = ProcessSpec(command, cwd, self._environment, stdin_data, join_errors=False)
            result = await run_process(spec, _TIMEOUT_S, _CAP)
        except OSError as error:
            raise ToolError("Text search could not be started.", f"{error.strerror}.") from error
        if result.exit_code is None:
            raise ToolError("The search took over 30 s and was ended.", fix="Search a smaller folder.")
        if result.exit_code >= _TROUBLE and not result.output:
            message = result.errors.decode(errors="replace").strip().removeprefix("rg: ")
            wrong = "glob" if "glob" in message else "pattern"
            raise ToolError("The search failed.", f"{message[:600]}\n", f"Correct the {wrong}.")
        return result

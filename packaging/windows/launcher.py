"""The two launchers: helix-desktop.exe for the window, helix-desktop.com for a console.

A console that is asked for `helix-desktop` finds the .com first, so commands print where they were typed.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from environment import SetupFailed, call
from system_tools import fill
from windows.tree import TOOLS

_SOURCE = Path(__file__).parent / "source"
_KINDS = {
    "helix-desktop.exe": ("Helix Desktop", ("-mwindows", "-DWINDOWED")),
    "helix-desktop.com": ("Helix Desktop (command line)", ("-mconsole",)),
}


def make(version: str, icon: Path, work: Path, tree: Path) -> list[Path]:
    """Compile both into `tree`. Raises SetupFailed."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # the linker's clock
    built = []
    for name, (description, flags) in _KINDS.items():
        folder = work / "launcher" / Path(name).suffix[1:]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy2(icon, folder / "helix.ico")
        words = {
            "VERSION": version,
            "NUMBERS": numbers(version).replace(".", ","),
            "DESCRIPTION": description,
            "FILE": name,
        }
        for source in ("launcher.rc", "launcher.manifest"):
            text = (_SOURCE / source).read_text(encoding="utf-8")
            if source == "launcher.manifest":
                text = text.replace("@VERSION@.0", numbers(version))
            (folder / source).write_text(fill(text, words), encoding="utf-8")
        resource = folder / "launcher.res"
        target = tree / name
        windres = (f"{TOOLS}windres", "-I", str(folder), "-O", "coff")
        # No time stamp: the same source gives the same bytes.
        linker = "-Wl,--no-insert-timestamp,--dynamicbase,--nxcompat,--high-entropy-va"
        gcc = (f"{TOOLS}gcc", "-municode", *flags, "-O2", "-s", "-Wall", "-Wextra", "-Werror", linker)
        if call(*windres, "-i", str(folder / "launcher.rc"), "-o", str(resource)):
            raise SetupFailed("windres could not make the launcher's resources (see above).")
        if call(*gcc, "-o", str(target), str(_SOURCE / "launcher.c"), str(resource)):
            raise SetupFailed("gcc for Windows could not make the launcher (see above).")
        built.append(target)
    return built


def numbers(version: str) -> str:
    """A version as Windows wants it, four numbers; signs behind the third, as of "1.2.3rc1", are left out."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if match is None:
        raise SetupFailed(f"The version {version!r} does not begin with two numbers.")
    return ".".join([*(part or "0" for part in match.groups()), "0"])

"""Licenses of the system's libraries that a frozen app carries: Debian's own file about each, and a list."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from environment import SetupFailed
from system_tools import run

FOLDER = Path("licenses", "system")
LIST = "packages.json"


def write(origins: Path, root: Path, resources: Path) -> None:
    """Copy the copyright file of each Debian package that libraries were taken from into the resources.

    `origins` says which file each library was copied from. Raises SetupFailed where that is unknown.
    """
    packages = _packages(_system_files(origins, root))
    place = resources / FOLDER
    place.mkdir(parents=True)
    for name in packages:
        text = Path("/usr/share/doc", name, "copyright")
        if not text.is_file():
            raise SetupFailed(
                f"{text} is missing, and {name} is shipped. Install the package with its documents."
            )
        shutil.copyfile(text, place / f"{name}.txt")
    (place / LIST).write_text(json.dumps(packages, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def library_packages(resources: Path) -> dict[str, list[str]]:
    """The Debian packages that a frozen app carries libraries of, each with the places of its files."""
    entries = json.loads((resources / FOLDER / LIST).read_text(encoding="utf-8"))
    return {name: list(entry["files"]) for name, entry in entries.items()}


def _system_files(origins: Path, root: Path) -> dict[str, Path]:
    """The files that came from neither wheels nor checkout: their places in the app, and where from."""
    sources: dict[str, str] = json.loads(origins.read_text(encoding="utf-8"))
    return {
        place: Path(source).resolve()
        for place, source in sorted(sources.items())
        if not Path(source).is_relative_to(root)
    }


def _packages(files: dict[str, Path]) -> dict[str, dict[str, str | list[str]]]:
    """Return each Debian package -> its version and the places of the files taken from it."""
    if files and not shutil.which("dpkg-query"):
        raise SetupFailed(
            f"the app would carry {next(iter(files.values()))} of this system, and its license cannot be "
            f"told: there is no dpkg here. Freeze it on Debian or Ubuntu (this Python is {sys.executable})."
        )
    places: dict[str, list[str]] = {}
    for place, file in files.items():
        places.setdefault(_owner(file), []).append(place)
    return {
        name: {"version": run("dpkg-query", "-W", "-f", "${Version}", name), "files": mine}
        for name, mine in sorted(places.items())
    }


def _owner(file: Path) -> str:
    # Debian may know a file below /usr/lib by its older name, /lib.
    names = [str(file), str(file).removeprefix("/usr")]
    for name in names:
        try:
            return run("dpkg-query", "-S", name).partition(":")[0]
        except SetupFailed:
            continue
    raise SetupFailed(
        f"{file} would be shipped and belongs to no Debian package: its license cannot be told. "
        "Build with the system's Python (HELIX_BUILD_PYTHON=/usr/bin/python3.11)."
    )

"""The sample projects: copied out of the resources, listed as workspaces, whose demo model asks first."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

text = TextContext("Services")

SAMPLES = ("tidewatch", "pagemill")
DEMO_MODEL = "demo/offline"


def add_sample(registry: WorkspaceRegistry, folder: Path, name: str) -> WorkspaceRecord:
    """Copy a sample project under `folder` unless it is there, and list it.

    In the copy the demo model asks before it changes or runs something, to show how that looks, and one
    answer may let its whole script run. A folder that was there before is nobody's copy: each call in it is
    asked about. Raises HelixError when the copy cannot be made.
    """
    path = folder / name
    copied = not os.path.lexists(path)
    try:
        if copied:
            folder.mkdir(parents=True, exist_ok=True)
            copy_project(resources_dir() / "demo" / name, path)
    except OSError as error:
        raise HelixError(
            text("The sample project couldn't be copied."),
            system_reason(error),
            text("Free up space in {folder}, or check its permissions.", folder=str(folder)),
        ) from error
    existing = registry.find_by_path(path)
    record = registry.add(path, demo=True, trusted=copied)
    if existing is None:
        record = registry.change(record.id, demo_calls="once" if copied else "ask", model=DEMO_MODEL)
    return record


def copy_project(source: Path, place: Path) -> None:
    """Copy a folder; it is there as a whole or not at all, also when the app ends half-way."""
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as staging:
        copy = Path(staging) / place.name
        # What tools leave in a checkout's folder is no part of the sample.
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        for path in (copy, *copy.rglob("*")):  # the program may lie where nothing may be written
            path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))
        copy.rename(place)

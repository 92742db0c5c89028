"""Records which build a bundle is: resources/build.toml, which the About dialog and the self-check read."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from environment import SetupFailed

NAME = "build.toml"
RELEASES_VARIABLE = "HELIX_RELEASES"


def version(root: Path) -> str:
    """The app's version, read without importing it. Raises SetupFailed."""
    text = (root / "helix_desktop" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if not match:
        raise SetupFailed("__version__ is missing in helix_desktop/__init__.py.")
    return match[1]


def epoch(root: Path) -> int:
    """The date of everything that is built: SOURCE_DATE_EPOCH, else that of the last commit.

    Raises SetupFailed where neither is known.
    """
    configured = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    seconds = configured or _git(root, "log", "-1", "--format=%ct")
    if not seconds.isdecimal():
        raise SetupFailed(
            "The build has no date, because this isn't a git checkout. "
            "Set SOURCE_DATE_EPOCH to seconds since 1970."
        )
    return int(seconds)


def commit(root: Path) -> str:
    """The commit that is built, with "+changes" where files differ from it; "unknown" outside git."""
    name = _git(root, "rev-parse", "HEAD")
    if not name:
        return "unknown"
    return f"{name}+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else name


def identity(root: Path, target: str, python: str) -> str:
    """The text of build.toml for one target ("deb", "windows", ...) and the version of its Python."""
    date = datetime.fromtimestamp(epoch(root), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    facts = {
        "version": version(root),
        "commit": commit(root),
        "date": date,
        "target": target,
        "python": python,
        "releases": releases(),
    }
    return "".join(f'{name} = "{value}"\n' for name, value in facts.items() if value)


def releases() -> str:
    """Return where the app checks for a release: HELIX_RELEASES, set by the release workflow; else empty.

    Raises SetupFailed.
    """
    address = os.environ.get(RELEASES_VARIABLE, "").strip()
    if address and not re.fullmatch(r"https://[\w.:/-]+", address):
        raise SetupFailed(f"{RELEASES_VARIABLE} must be a plain https:// address (got {address!r}).")
    return address


def write_identity(root: Path, resources: Path, target: str, python: str) -> None:
    """Put build.toml into the resources of a bundle."""
    text = identity(root, target, python)
    if not resources.is_dir():
        raise SetupFailed(f"{resources} is missing: the bundle is incomplete.")
    (resources / NAME).write_text(text, encoding="utf-8", newline="\n")


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

"""./helix package frozen: the app with its Python and Qt as a folder that runs anywhere, in build/frozen."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import build_identity
from environment import SetupFailed, say
from package_environment import install_app, package_environment
from system_tools import all_files, run

from frozen import children, libraries, system_licenses

PLACE = Path("build", "frozen")
NAME = "helix-desktop"


def build(root: Path, words: Sequence[str]) -> int:
    """Freeze the checkout and prove that the result runs, and that its children do not see its insides."""
    tree = freeze(root)
    run(tree / NAME, "--version")
    if sys.platform.startswith("linux"):
        children.verify(tree / NAME)
    size = sum(path.lstat().st_size for path in all_files(tree))
    sys.stdout.write(f"{tree.relative_to(root)}  {size / 1e6:.1f} MB\n")
    return 0


def freeze(root: Path) -> Path:
    """Rebuild build/frozen/helix-desktop. Raise SetupFailed."""
    start = time.monotonic()
    environment = package_environment(root)
    install_app(environment, build_identity.epoch(root))
    say("freezing the app")
    place = root / PLACE
    shutil.rmtree(place, ignore_errors=True)
    (place / "work").mkdir(parents=True)
    tree = place / NAME
    origins = place / "origins.json"
    log = run(
        *(environment.python, "-P", "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"),
        *("--distpath", place, "--workpath", place / "work", root / "packaging" / "frozen" / "helix.spec"),
        folder=environment.python.parent,
        extra=_settings(root, origins),
    )
    (place / "freezing.log").write_text(log, encoding="utf-8")
    python = run(environment.python, "-c", "import platform; print(platform.python_version())").strip()
    build_identity.write_identity(root, resources(tree), "frozen", python)
    trim_records(tree / "_internal")
    if sys.platform.startswith("linux"):
        system_licenses.write(origins, root, resources(tree))
        libraries.verify_needs(tree)
    make_uniform(tree, build_identity.epoch(root))
    shutil.rmtree(place / "work")
    (place / "commit.stamp").write_text(_stamp(root), encoding="utf-8")
    say(f"frozen in {time.monotonic() - start:.0f} s")
    return tree


def frozen_tree(root: Path) -> Path:
    """Return the frozen app, built if it is not there or older than its sources."""
    tree = root / PLACE / NAME
    stamp = root / PLACE / "commit.stamp"
    fresh = stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(root)
    return tree if fresh else freeze(root)


def _stamp(root: Path) -> str:
    commit = build_identity.commit(root)
    # Changes since a commit may change again in the next run, but not for the targets of this one.
    run_of = str(os.getpid()) if commit.endswith(("+changes", "unknown")) else ""
    return f"{commit} {build_identity.epoch(root)} {run_of}"


def _settings(root: Path, origins: Path) -> dict[str, str]:
    """Return the environment settings for PyInstaller and our spec."""
    return {
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(build_identity.epoch(root)),
        # Every package is compressed as a whole, better than modules one by one; a start has less to unpack.
        "PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "0",
        "HELIX_ORIGINS": str(origins),
    }


def copy_for(root: Path, tree: Path, place: Path, target: str) -> None:
    """Copy the frozen app into the staging folder of a package, as that target's build."""
    shutil.copytree(tree, place, symlinks=True)
    identity = (resources(tree) / build_identity.NAME).read_text(encoding="utf-8")
    python = identity.rpartition('python = "')[2].partition('"')[0]
    build_identity.write_identity(root, resources(place), target, python)
    make_uniform(place, build_identity.epoch(root))


def resources(tree: Path) -> Path:
    """Where a frozen app has the resources. Raises SetupFailed when it has none."""
    folder = tree / "_internal" / "resources"
    if not folder.is_dir():
        raise SetupFailed(f"{folder} is missing: the app is not frozen whole. Run ./helix package frozen.")
    return folder


def trim_records(internal: Path) -> None:
    """Let the RECORD of each distribution list what is there of its metadata, by which licenses are found.

    The whole one names files that are not shipped, with hashes of some that no two builds have alike.
    """
    for record in sorted(internal.glob("*.dist-info/RECORD")):
        mine = (path.relative_to(internal).as_posix() for path in all_files(record.parent))
        record.write_text("".join(f"{name},,\n" for name in mine), encoding="utf-8", newline="\n")


def make_uniform(tree: Path, date: int) -> None:
    """Set the permissions and the date of every file and folder to those of every build."""
    for path in sorted([tree, *tree.rglob("*")], reverse=True):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or is_program(path) else 0o644)
        os.utime(path, (date, date), follow_symlinks=False)


def is_program(path: Path) -> bool:
    """Return True if a file of the frozen app is one that Linux runs: the app itself, and those in a bin."""
    return path.name == NAME or (path.parent.name == "bin" and path.suffix != ".cmd")

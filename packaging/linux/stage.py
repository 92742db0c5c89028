"""The files of a Linux package as they lie on a system: the app in usr/lib, a link in usr/bin, usr/share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import build_identity
from frozen.build import NAME, copy_for, frozen_tree
from frozen.libraries import Needs, verify_needs

from linux import share


def stage(root: Path, place: Path, target: str) -> Needs:
    """Fill `place` again for a target, verified; return its needs from the system. Raise SetupFailed."""
    tree = frozen_tree(root)
    needed = verify_needs(tree)
    shutil.rmtree(place, ignore_errors=True)
    copy_for(root, tree, place / "usr" / "lib" / NAME, target)
    (place / "usr" / "bin").mkdir()
    (place / "usr" / "bin" / NAME).symlink_to(f"../lib/{NAME}/{NAME}")
    share.install(root, place / "usr" / "share")
    share.validate(place / "usr" / "share")
    return needed


def make_uniform(place: Path, date: int) -> None:
    """Set permissions and dates of the files around the app, whatever this user's umask is."""
    app = place / "usr" / "lib" / NAME
    for path in sorted([place, *place.rglob("*")], reverse=True):
        if path != app and app in path.parents:
            continue
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (date, date), follow_symlinks=False)


def date_of(root: Path) -> dict[str, str]:
    """Return the variable that packers take the date of their files from."""
    return {"SOURCE_DATE_EPOCH": str(build_identity.epoch(root))}

"""./helix package deb: the frozen app as a package for Debian and Ubuntu, in dist/."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import build_identity
from deb.copyright import copyright_text
from environment import SetupFailed, say
from frozen.build import NAME, copy_for, frozen_tree
from frozen.libraries import SYSTEM, Needs, verified
from linux import share
from system_tools import NotHere, all_files, ensure, run

HERE = Path(__file__).parent
STAGE = Path("build", "deb")
REVISION = "1"
MAINTAINER = "The Helix Desktop authors <authors@helix-desktop.invalid>"
LARGEST_MB = 50

# Newest symbol asked for -> the Debian version that has it first.
_VERSIONS = {("GLIBC", "2.35"): "libc6 (>= 2.35)", ("GLIBCXX", "3.4.29"): "libstdc++6 (>= 11)"}
# One thread: with more, the bytes depend on how many this machine has.
_COMPRESSION = ("-Zxz", "-z9", "-Sextreme", "--threads-max=1")


def build(root: Path, words: Sequence[str]) -> int:
    """Build and check the package; `-- --twice` builds it a second time from nothing and compares."""
    ensure("dpkg-deb", "lintian")
    made = make(root)
    say("having lintian look at it")
    run("lintian", "--fail-on", "error,warning", "--allow-root", made)
    if "--twice" in words:
        _again(root, made)
    sys.stdout.write(f"{made.relative_to(root)}  {made.stat().st_size / 1e6:.1f} MB\n")
    return 0


def make(root: Path) -> Path:
    """Build the package from the frozen app. Raises SetupFailed."""
    tree = frozen_tree(root)
    found = verified(tree)
    stage = root / STAGE
    shutil.rmtree(stage, ignore_errors=True)
    copy_for(root, tree, stage / "usr" / "lib" / NAME, "deb")
    (stage / "usr" / "bin").mkdir()
    (stage / "usr" / "bin" / NAME).symlink_to(f"../lib/{NAME}/{NAME}")
    share.install(root, stage / "usr" / "share")
    share.validate(stage / "usr" / "share")
    _documents(root, stage)
    _control(root, stage, found)
    _uniform(stage, build_identity.epoch(root))
    made = root / "dist" / f"{NAME}_{_version(root)}_{architecture()}.deb"
    made.parent.mkdir(exist_ok=True)
    say("packing")
    dated = {"SOURCE_DATE_EPOCH": str(build_identity.epoch(root))}
    run("dpkg-deb", "--root-owner-group", *_COMPRESSION, "--build", stage, made, extra=dated)
    if made.stat().st_size > LARGEST_MB * 1e6:
        raise SetupFailed(f"{made} has {made.stat().st_size / 1e6:.1f} MB: more than {LARGEST_MB}.")
    return made


def depends(found: Needs) -> list[str]:
    """The Depends field: every library that is asked for, as the package that has it. Raises SetupFailed."""
    versioned = {}
    for (family, version), package in _VERSIONS.items():
        if found.symbols.get(family) != version:
            raise SetupFailed(
                f"the app asks for {family}_{found.symbols.get(family)}, and deb/build.py knows "
                f"{family}_{version}. "
                "Write down which Debian version has it first."
            )
        versioned[package.partition(" ")[0]] = package
    packages = {SYSTEM[name] for name in found.libraries}
    return sorted(versioned.get(package, package) for package in packages)


def architecture() -> str:
    """What Debian calls this machine. Raises NotHere without dpkg."""
    if not shutil.which("dpkg"):
        raise NotHere("there is no dpkg here to build a .deb with. Install it:  sudo apt-get install -y dpkg")
    return run("dpkg", "--print-architecture").strip()


def _version(root: Path) -> str:
    return f"{build_identity.version(root)}-{REVISION}"


def _documents(root: Path, stage: Path) -> None:
    place = stage / "usr" / "share" / "doc" / NAME
    place.mkdir(parents=True)
    date = format_datetime(datetime.fromtimestamp(build_identity.epoch(root), UTC))
    entry = (
        f"{NAME} ({_version(root)}) unstable; urgency=medium\n\n"
        f"  * Version {build_identity.version(root)}; what is new stands in changelog.gz.\n\n"
        f" -- {MAINTAINER}  {date}\n"
    )
    news = (root / "CHANGELOG.md").read_bytes()
    (place / "changelog.Debian.gz").write_bytes(gzip.compress(entry.encode(), 9, mtime=0))
    (place / "changelog.gz").write_bytes(gzip.compress(news, 9, mtime=0))
    text = copyright_text(root, stage / "usr" / "lib" / NAME / "_internal", f"usr/lib/{NAME}/_internal")
    (place / "copyright").write_text(text, encoding="utf-8")
    overrides = stage / "usr" / "share" / "lintian" / "overrides" / NAME
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(HERE / "lintian-overrides", overrides)


def _control(root: Path, stage: Path, found: Needs) -> None:
    folder = stage / "DEBIAN"
    folder.mkdir()
    kib = sum(path.lstat().st_size for path in all_files(stage / "usr")) // 1024
    text = (HERE / "control.in").read_text(encoding="utf-8")
    facts = {
        "@VERSION@": _version(root),
        "@ARCHITECTURE@": architecture(),
        "@MAINTAINER@": MAINTAINER,
        "@SIZE@": str(kib),
        "@DEPENDS@": ", ".join(depends(found)),
    }
    for name, value in facts.items():
        text = text.replace(name, value)
    (folder / "control").write_text(text, encoding="utf-8")
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(stage)}\n"
        for path in all_files(stage / "usr")
        if not path.is_symlink()
    ]
    (folder / "md5sums").write_text("".join(sums), encoding="utf-8")


def _uniform(stage: Path, date: int) -> None:
    """Give what copy_for did not make its rights and dates, whatever this user's umask is."""
    app = stage / "usr" / "lib" / NAME
    for path in sorted([stage, *stage.rglob("*")], reverse=True):
        if path != app and app in path.parents:
            continue
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (date, date), follow_symlinks=False)


def _again(root: Path, made: Path) -> None:
    first = hashlib.sha256(made.read_bytes()).hexdigest()
    shutil.rmtree(root / "build" / "frozen")
    say("building it again from nothing")
    second = hashlib.sha256(make(root).read_bytes()).hexdigest()
    if first != second:
        raise SetupFailed(f"two builds differ: {first} and {second}. Compare them with diffoscope.")
    say(f"both builds have the SHA-256 {first}")

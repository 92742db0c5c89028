"""./helix package deb: the frozen app as a package for Debian and Ubuntu, in dist/."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import build_identity
from environment import SetupFailed, say
from frozen.build import NAME
from frozen.libraries import SYSTEM, Needs
from linux.stage import date_of, make_uniform, stage
from release.checksums import digest
from system_tools import NotHere, all_files, ensure, fill, run

from deb.copyright import copyright_text

HERE = Path(__file__).parent
STAGE = Path("build", "deb")
REVISION = "1"
MAINTAINER = "The Helix Desktop authors <authors@helix-desktop.invalid>"
LARGEST_MB = 51

# Newest required symbol -> the first Debian version that has it.
_VERSIONS = {("GLIBC", "2.35"): "libc6 (>= 2.35)", ("GLIBCXX", "3.4.29"): "libstdc++6 (>= 11)"}
# One thread: with more, the bytes depend on how many this machine has.
_COMPRESSION = ("-Zxz", "-z9", "-Sextreme", "--threads-max=1")


def build(root: Path, words: Sequence[str]) -> int:
    """Build and check the package; `-- --twice` builds it a second time from nothing and compares."""
    ensure("dpkg-deb", "lintian")
    package = make(root)
    say("having lintian look at it")
    run("lintian", "--fail-on", "error,warning", "--allow-root", package)
    if "--twice" in words:
        _again(root, package)
    sys.stdout.write(f"{package.relative_to(root)}  {package.stat().st_size / 1e6:.1f} MB\n")
    return 0


def make(root: Path) -> Path:
    """Build the package from the frozen app. Raises SetupFailed."""
    files = root / STAGE
    needed = stage(root, files, "deb")
    _documents(root, files)
    _control(root, files, needed)
    make_uniform(files, build_identity.epoch(root))
    package = root / "dist" / f"{NAME}_{_version(root)}_{architecture()}.deb"
    package.parent.mkdir(exist_ok=True)
    say("packing")
    run("dpkg-deb", "--root-owner-group", *_COMPRESSION, "--build", files, package, extra=date_of(root))
    if package.stat().st_size > LARGEST_MB * 1e6:
        raise SetupFailed(f"{package} has {package.stat().st_size / 1e6:.1f} MB: more than {LARGEST_MB}.")
    return package


def depends(needed: Needs) -> list[str]:
    """Return the Depends field: every required library, as the package that has it. Raise SetupFailed."""
    versioned = {}
    for (family, version), package in _VERSIONS.items():
        if needed.symbols.get(family) != version:
            raise SetupFailed(
                f"the app asks for {family}_{needed.symbols.get(family)}, and deb/build.py knows "
                f"{family}_{version}. "
                "Write down which Debian version has it first."
            )
        versioned[package.partition(" ")[0]] = package
    packages = {SYSTEM[name] for name in needed.libraries}
    return sorted(versioned.get(package, package) for package in packages)


def architecture() -> str:
    """Return Debian's name of this machine. Raise NotHere without dpkg."""
    if not shutil.which("dpkg"):
        raise NotHere("there is no dpkg here to build a .deb with. Install it:  sudo apt-get install -y dpkg")
    return run("dpkg", "--print-architecture").strip()


def _version(root: Path) -> str:
    return f"{build_identity.version(root)}-{REVISION}"


def _documents(root: Path, files: Path) -> None:
    place = files / "usr" / "share" / "doc" / NAME
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
    text = copyright_text(root, files / "usr" / "lib" / NAME / "_internal", f"usr/lib/{NAME}/_internal")
    (place / "copyright").write_text(text, encoding="utf-8")
    overrides = files / "usr" / "share" / "lintian" / "overrides" / NAME
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(HERE / "lintian-overrides", overrides)


def _control(root: Path, files: Path, needed: Needs) -> None:
    folder = files / "DEBIAN"
    folder.mkdir()
    kib = sum(path.lstat().st_size for path in all_files(files / "usr")) // 1024
    text = (HERE / "control.in").read_text(encoding="utf-8")
    facts = {
        "VERSION": _version(root),
        "ARCHITECTURE": architecture(),
        "MAINTAINER": MAINTAINER,
        "SIZE": str(kib),
        "DEPENDS": ", ".join(depends(needed)),
    }
    (folder / "control").write_text(fill(text, facts), encoding="utf-8")
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(files)}\n"
        for path in all_files(files / "usr")
        if not path.is_symlink()
    ]
    (folder / "md5sums").write_text("".join(sums), encoding="utf-8")


def _again(root: Path, package: Path) -> None:
    first = digest(package)
    shutil.rmtree(root / "build" / "frozen")
    say("building it again from nothing")
    second = digest(make(root))
    if first != second:
        raise SetupFailed(f"two builds differ: {first} and {second}. Compare them with diffoscope.")
    say(f"both builds have the SHA-256 {first}")

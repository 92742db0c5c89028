"""./helix package rpm: the frozen app as a package for Fedora and openSUSE, in dist/. Debian can build it."""

from __future__ import annotations

import filecmp
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import build_identity
from environment import SetupFailed, say
from frozen.build import NAME
from frozen.libraries import Needs
from linux.stage import date_of, make_uniform, stage
from system_tools import all_files, ensure, fill, run

HERE = Path(__file__).parent
WORK = Path("build", "rpm")
RELEASE = "1"


def build(root: Path, words: Sequence[str]) -> int:
    """Build the package, unpack it again and verify the result."""
    ensure("rpmbuild", "rpm", "cpio")
    package = make(root)
    say("unpacking it and comparing")
    verify(root, package)
    sys.stdout.write(f"{package.relative_to(root)}  {package.stat().st_size / 1e6:.1f} MB\n")
    return 0


def make(root: Path) -> Path:
    """Build the package from the frozen app. Raises SetupFailed."""
    work = root / WORK
    files = work / "stage"
    needed = stage(root, files, "rpm")
    licenses = files / "usr" / "share" / "licenses" / NAME
    licenses.mkdir(parents=True)
    shutil.copyfile(root / "LICENSE", licenses / "LICENSE")
    make_uniform(files, build_identity.epoch(root))
    text = (HERE / f"{NAME}.spec").read_text(encoding="utf-8")
    facts = {
        "VERSION": build_identity.version(root),
        "RELEASE": RELEASE,
        "STAGE": str(files),
        "REQUIRES": "\n".join(f"Requires: {requirement}" for requirement in requires(needed)),
    }
    spec = work / f"{NAME}.spec"
    spec.write_text(fill(text, facts), encoding="utf-8")
    shutil.rmtree(work / "top", ignore_errors=True)
    say("packing")
    define = ("--define", f"_topdir {work / 'top'}", "--define", f"_rpmdir {work / 'rpms'}")
    run("rpmbuild", "-bb", "--quiet", *define, spec, extra=date_of(root))
    name = f"{NAME}-{build_identity.version(root)}-{RELEASE}.{platform.machine()}.rpm"
    (root / "dist").mkdir(exist_ok=True)
    return Path(shutil.move(work / "rpms" / platform.machine() / name, root / "dist" / name))


def requires(needed: Needs) -> list[str]:
    """Return the app's needs from the system, in the names that every RPM distribution has for it."""
    requirements = [f"{name}()(64bit)" for name in needed.libraries]
    homes = {"GLIBC": "libc.so.6", "GLIBCXX": "libstdc++.so.6", "CXXABI": "libstdc++.so.6"}
    requirements += [
        f"{homes[family]}({family}_{version})(64bit)" for family, version in needed.symbols.items()
    ]
    return sorted(requirements)


def verify(root: Path, package: Path) -> None:
    """Read the package with rpm, unpack it, and compare it with the packed files. Raise SetupFailed."""
    listed = set(run("rpm", "-qp", "--list", package).split("\n")) - {""}
    run("rpm", "-K", "--nosignature", package)
    files = root / WORK / "stage"
    place = root / WORK / "unpacked"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run("sh", "-c", 'rpm2cpio "$1" | cpio -idm --quiet', "sh", package, folder=place)
    for path in all_files(files):
        name = path.relative_to(files)
        there = place / name
        same = (
            there.is_symlink() if path.is_symlink() else there.is_file() and filecmp.cmp(path, there, False)
        )
        if f"/{name}" not in listed or not same:
            raise SetupFailed(f"/{name} is not in {package.name} as it was packed.")
    run(place / "usr" / "bin" / NAME, "--version")
    shutil.rmtree(place)

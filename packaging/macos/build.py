"""Makes the macOS disk image of the frozen bundle: looks it over, signs, has it notarised, packs."""

from __future__ import annotations

import os
import platform
import plistlib
import sys
from collections.abc import Sequence
from pathlib import Path

from build_identity import version, write_identity
from environment import SetupFailed
from macos import bundle, disk_image, macho
from macos.notarise import notarise
from macos.sign import run, sign, sign_image
from system_tools import NotHere

APP = Path("build", "frozen", f"{bundle.NAME}.app")
# PyInstaller puts files without code there; Contents/Frameworks links to it.
RESOURCES = Path("Contents", "Resources", "resources")


def complaints(app: Path, machine: str) -> list[str]:
    """Return the problems of a bundle: its keys, and code that does not run where the keys say it does."""
    problems = []
    with (app / "Contents" / "Info.plist").open("rb") as file:
        plist = plistlib.load(file)
    expected = bundle.info_plist(str(plist.get("CFBundleShortVersionString", "")))
    # The commit is in resources/build.toml too, and checked there.
    expected.pop("CFBundleGetInfoString")
    problems += [
        f"Info.plist: {key} is {plist.get(key)!r}" for key in expected if plist.get(key) != expected[key]
    ]
    oldest = tuple(int(part) for part in bundle.MINIMUM_SYSTEM.split("."))
    for path in sorted(app.rglob("*")):
        if not macho.is_macho(path):
            continue
        fitting = [slice_ for slice_ in macho.slices(path) if slice_.machine == machine]
        if not fitting:
            problems.append(f"{path.relative_to(app)} holds no code for {machine}")
        problems += [
            f"{path.relative_to(app)} needs macOS {slice_.oldest[0]}.{slice_.oldest[1]}"
            for slice_ in fitting
            if slice_.oldest > oldest
        ]
    return problems


def build(root: Path, words: Sequence[str]) -> int:
    """Make `dist/helix-desktop-VERSION-macos-ARCH.dmg` of the frozen bundle. Raises SetupFailed."""
    if platform.system() != "Darwin":
        raise NotHere("the disk image can be made on macOS only; the release workflow does it.")
    app = root / APP
    machine = bundle.target_arch()
    if not app.is_dir():
        raise SetupFailed(f"{APP} is missing. Freeze the app first:  ./helix package frozen")
    if wrong := complaints(app, machine):
        raise SetupFailed("\n  ".join([f"{APP} is not as it must be:", *wrong]))
    write_identity(root, app / RESOURCES, "macos", platform.python_version())
    image = root / "dist" / disk_image.file_name(version(root), machine)
    # The ticket of the bundle lets it start without the network; that of the image does so for the image.
    if sign(app, os.environ):
        notarise(app, os.environ)
    disk_image.make(app, image)
    if sign_image(image, os.environ):
        notarise(image, os.environ)
    run(["hdiutil", "verify", str(image)])
    sys.stdout.write(f"{image}\n")
    return 0

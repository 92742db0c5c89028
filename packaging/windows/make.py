"""Makes the tree and the set-up for Windows, in the environment of the packages: its Qt draws the icon."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import build_identity
from environment import SetupFailed, call, say
from windows import art, bytecode, embed, icon, launcher, setup_program, tree, wheels

PLACE = Path("build", "windows")
NAME = "helix-desktop"
SIGN_VARIABLE = "HELIX_WINDOWS_SIGN"
"""A command that signs the file that is added to its words; nothing is signed without it."""


def main() -> int:
    """Make dist/HelixDesktop-VERSION-setup.exe from the checkout in the current folder."""
    try:
        installer = make(Path.cwd())
    except SetupFailed as failed:
        say(str(failed))
        return 1
    sys.stdout.write(f"{installer.relative_to(Path.cwd())}  {installer.stat().st_size / 1e6:.1f} MB\n")
    return 0


def make(root: Path) -> Path:
    """Rebuild tree and set-up. Raise SetupFailed."""
    start = time.monotonic()
    work = root / PLACE
    date = build_identity.epoch(root)
    version = build_identity.version(root)
    os.environ |= {"SOURCE_DATE_EPOCH": str(date), "PYTHONHASHSEED": "0"}
    work.mkdir(parents=True, exist_ok=True)
    say("unpacking CPython")
    python = embed.unpack(work)
    say(f"installing the packages for Windows ({python.origin})")
    wheels.install(root / "requirements.txt", python.version, work / "site")
    installer = work / NAME
    tree.lay_out(python.folder, work / "site", root, installer)
    build_identity.write_identity(root, installer / "app" / "resources", "windows", python.version)
    for path in launcher.make(version, icon.write(root, work), work, installer):
        sign(path)
    tree.check_libraries(installer)
    by = bytecode.make(python.folder, work, installer)
    size = sum(path.stat().st_size for path in installer.rglob("*") if path.is_file())
    say(f"tree of {size / 1e6:.0f} MB, bytecode by {by}, in {time.monotonic() - start:.0f} s")
    tree.make_uniform(installer, date)
    art.write(root, work)
    target = root / "dist" / f"HelixDesktop-{version}-setup.exe"
    setup_program.make(version, work, installer, target, os.environ.get(SIGN_VARIABLE, ""))
    sign(target)
    say(f"set-up made in {time.monotonic() - start:.0f} s")
    return target


def sign(path: Path) -> None:
    """Sign a program with the command in HELIX_WINDOWS_SIGN, if there is one. Raises SetupFailed."""
    line = shlex.split(os.environ.get(SIGN_VARIABLE, ""))
    if line and call(*line, str(path)):
        raise SetupFailed(f"{SIGN_VARIABLE} could not sign {path.name} (see above).")


if __name__ == "__main__":
    sys.exit(main())

"""The set-up program: a tree, packed with NSIS, and an uninstaller that knows each file of it by name."""

from __future__ import annotations

import shutil
from pathlib import Path

from environment import SetupFailed, call
from windows.launcher import numbers

_SCRIPT = Path(__file__).parent / "source" / "setup.nsi"
PUBLISHER = "The Helix Desktop authors"


def make(
    version: str, work: Path, tree: Path, target: Path, signing: str = "", *, quick: bool = False
) -> None:
    """Pack `tree` into `target`; `quick`, for checks, makes it in seconds and large. Raises SetupFailed."""
    installed = work / "installed.nsh"
    removed = work / "removed.nsh"
    installed.write_text(installation_of(tree), encoding="utf-8")
    removed.write_text(removal_of(tree), encoding="utf-8")
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    words = {
        "VERSION": version,
        "NUMBERS": numbers(version),
        "TREE": str(tree.resolve()),
        "TARGET": str(target.resolve()),
        "ICON": str((work / "helix.ico").resolve()),
        "WELCOME": str((work / "welcome.bmp").resolve()),
        "HEADER": str((work / "header.bmp").resolve()),
        "INSTALLED": str(installed.resolve()),
        "REMOVED": str(removed.resolve()),
        "SIZE": str(size),
        "PUBLISHER": PUBLISHER,
    }
    if signing:
        words["SIGN"] = signing
    if quick:
        words["QUICK"] = "1"
    if shutil.which("makensis") is None:
        raise SetupFailed("makensis is missing.  sudo apt-get install -y --no-install-recommends nsis")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    defined = [f"-D{name}={value}" for name, value in words.items()]
    if call("makensis", "-V2", "-WX", "-INPUTCHARSET", "UTF8", *defined, str(_SCRIPT)):
        raise SetupFailed("makensis couldn't make the installer (see above).")


def installation_of(tree: Path) -> str:
    """NSIS commands that install every file of a tree, always in the same order."""
    lines = []
    for folder in sorted([tree, *(path for path in tree.rglob("*") if path.is_dir())]):
        lines.append(f'SetOutPath "{_windows(folder, tree)}"')
        files = sorted(path for path in folder.iterdir() if path.is_file())
        lines += [f'File "{str(path.resolve()).replace("$", "$$")}"' for path in files]
    return "\n".join(lines) + "\n"


def removal_of(tree: Path) -> str:
    """NSIS commands that delete every file of a tree, then each of its folders that is empty by then."""
    paths = sorted(tree.rglob("*"), key=lambda path: path.relative_to(tree).as_posix())
    files = [path for path in paths if not path.is_dir()]
    folders = [path for path in reversed(paths) if path.is_dir()]
    lines = [f'Delete "{_windows(path, tree)}"' for path in files]
    lines += [f'RMDir "{_windows(path, tree)}"' for path in folders]
    return "\n".join(lines) + "\n"


def _windows(path: Path, tree: Path) -> str:
    """Where a path of the tree is installed, as NSIS wants it written; "$" would begin a variable."""
    inside = [part.replace("$", "$$") for part in path.relative_to(tree).parts]
    return "\\".join(["$INSTDIR", *inside])

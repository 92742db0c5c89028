"""Bytecode for Python 3.12, made here, because an installed program writes nothing into its own folder.

It is made by a Python 3.12 of this machine (`HELIX_PYTHON312`, or the one on the PATH), or, where there is
none, by the CPython that is shipped, under Wine. The files are of the unchecked kind: nothing is compared
when the program starts, and neither clock nor place is in them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from environment import SetupFailed, say
from system_tools import run

VARIABLE = "HELIX_PYTHON312"
_MAKE = """\
import compileall, os, py_compile, sys
tree = sys.argv[1]
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
kept = dict(quiet=2, force=True, invalidation_mode=mode, stripdir=tree)
parts = [os.path.join(tree, "app", "helix_desktop"), os.path.join(tree, "lib")]
made = [compileall.compile_dir(part, maxlevels=40, **kept) for part in parts]
made.append(compileall.compile_file(os.path.join(tree, "app", "helix_boot.py"), **kept))
sys.exit(not all(made))
"""
_WITH_SOURCE = ("PySide6", "shiboken6")
_FITS = "import sys; sys.exit(sys.version_info[:2] != (3, 12))"


def make(python: Path, work: Path, tree: Path) -> str:
    """Compile app and packages of `tree`; return the compiler's name. Raises SetupFailed.

    Of most packages only the bytecode stays. The app's own sources do, and those of Qt's bindings, whose
    license lets a user change them.
    """
    by = _compile(python, work, tree)
    # The sample projects are edited where they are copied to: bytecode that is not compared would hide that.
    if stale := next((tree / "app" / "resources").rglob("*.pyc"), None):
        raise SetupFailed(f"{stale} would be run instead of the sample's source.")
    for folder in (tree / "lib").iterdir():
        if folder.name not in _WITH_SOURCE:
            _drop_sources(folder)
    return by


def _drop_sources(place: Path) -> None:
    sources = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
    for source in sources:
        bytecode = source.parent / "__pycache__" / f"{source.stem}.cpython-312.pyc"
        bytecode.replace(source.with_suffix(".pyc"))
        source.unlink()
    if place.is_dir():
        for folder in list(place.rglob("__pycache__")):
            folder.rmdir()


def _compile(python: Path, work: Path, tree: Path) -> str:
    script = work / "bytecode.py"
    script.write_text(_MAKE, encoding="utf-8")
    own = _python312()
    if own:
        run(own, "-I", script, tree, extra={"PYTHONHASHSEED": "0"})
        return own
    wine = shutil.which("wine")
    if wine is None:
        raise SetupFailed(
            "Bytecode for Python 3.12 cannot be made: there is neither Python 3.12 nor Wine here. Install "
            f"it, or name one in {VARIABLE}, or:  sudo apt-get install -y --no-install-recommends wine"
        )
    _by_wine(wine, python, work, tree, script)
    return "Wine"


def _python312() -> str:
    for name in filter(None, (os.environ.get(VARIABLE), sys.executable, "python3.12")):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", _FITS], capture_output=True, check=False).returncode == 0:
            return path
    return ""


def _by_wine(wine: str, python: Path, work: Path, tree: Path, script: Path) -> None:
    say("making bytecode under Wine")
    names = "mscoree,mshtml="  # no question about components that this does not need
    extra = {
        "WINEPREFIX": str(work / "wineprefix"),
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": names,
        "PYTHONHASHSEED": "0",
    }
    program = (wine, python / "python.exe", "-I", _drive(script), _drive(tree))
    try:
        run("env", "--unset=DISPLAY", *program, extra=extra)
    finally:
        subprocess.run(["wineserver", "-k"], env={**os.environ, **extra}, check=False)


def _drive(path: Path) -> str:
    """How Wine names a file of this system."""
    return f"Z:{path.resolve()}"

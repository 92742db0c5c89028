"""build/package-env: the Python that is shipped, with the app installed as a wheel and what freezes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from environment import Environment, SetupFailed, clean_environ, say
from qt_libraries import ensure as ensure_qt
from qt_libraries import install
from system_tools import ensure, run

PLACE = Path("build", "package-env")
LOCK = Path("packaging", "requirements-package.txt")
PYTHON_VARIABLE = "HELIX_BUILD_PYTHON"

_SYSTEM = ("/usr/bin/python3.11", "/usr/bin/python3.12")
_SHIPPED = ((3, 11), (3, 12))
_PROBE = """
import ctypes, ensurepip, ssl, sys, sysconfig, venv
library = sysconfig.get_config_var("INSTSONAME") or ""
if sys.platform == "linux" and library.endswith(".a"):
    library = "libpython%d.%d.so.1.0" % sys.version_info[:2]
if sys.platform == "linux":
    from pathlib import Path
    near = Path(sysconfig.get_config_var("LIBDIR") or "", library)
    ctypes.CDLL(str(near) if near.is_file() else library)
print(sys.version_info[:2] in ((3, 11), (3, 12)))
"""


def package_environment(root: Path) -> Environment:
    """Return the environment, with the content of its lock. Raise SetupFailed."""
    if sys.platform.startswith("linux"):
        ensure_qt("package", os.environ)
        ensure("objdump", "readelf")
    base = shipped_python()
    environment = Environment(root, str(PLACE), {"package": str(LOCK)}, base)
    with environment.alone():
        made_with = root / PLACE / "helix-python.stamp"
        if not made_with.is_file() or made_with.read_text(encoding="utf-8") != _version(base):
            shutil.rmtree(root / PLACE, ignore_errors=True)
        environment.ensure("package")
        made_with.write_text(_version(base), encoding="utf-8")
    return environment


def shipped_python() -> str:
    """The Python that goes into packages: HELIX_BUILD_PYTHON, else the system's, else the one at work.

    The system's is built for every processor of its kind and gets fixes with the system. Raises SetupFailed.
    """
    path = os.environ.get(PYTHON_VARIABLE, "").strip()
    if path:
        if not _fits(path):
            raise SetupFailed(
                f"{PYTHON_VARIABLE}={path} can't be packaged. It must be Python 3.11 or 3.12 with venv, "
                "pip and its shared library (Debian: python3.11-venv and libpython3.11)."
            )
        return path
    for candidate in _candidates():
        if _fits(candidate):
            return candidate
    here = str(Path(sys.executable).resolve())
    if sys.version_info[:2] not in _SHIPPED:
        raise SetupFailed(
            f"{here} can't be packaged: some libraries have no wheel for it. Install Python 3.12 or 3.11 "
            f"with its shared library, and set {PYTHON_VARIABLE} to it."
        )
    number = f"3.{sys.version_info[1]}"
    install([f"libpython{number}", f"python{number}-venv"], "Python can't be packaged without its library")
    if not _fits(here):
        raise SetupFailed(f"{here} can't be packaged: its shared library or venv is missing.")
    return here


def install_app(environment: Environment, epoch: int) -> None:
    """Install the checkout as a wheel, so that metadata and resources are those of a release."""
    run(environment.python, environment.root / "packaging" / "update_texts.py", "--compile")
    dated = {"SOURCE_DATE_EPOCH": str(epoch)}
    with tempfile.TemporaryDirectory() as place:
        quiet = ("--quiet", "--disable-pip-version-check", "--no-deps")
        pip = (environment.python, "-m", "pip")
        say("building the wheel of the app")
        run(*pip, "wheel", *quiet, "--no-build-isolation", "-w", place, environment.root, extra=dated)
        (wheel,) = Path(place).glob("*.whl")
        run(*pip, "install", *quiet, "--no-compile", "--force-reinstall", wheel)


def _candidates() -> Iterator[str]:
    if sys.platform == "linux":
        yield from (candidate for candidate in _SYSTEM if shutil.which(candidate))
    yield str(Path(sys.executable).resolve())


def _fits(python: str) -> bool:
    return _query(python, _PROBE).stdout.strip() == "True"


def _version(python: str) -> str:
    return _query(python, "import sys; print(sys.base_prefix, sys.version)").stdout.strip()


def _query(python: str, code: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [python, "-c", code], env=clean_environ(), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return subprocess.CompletedProcess(python, 1, "", str(error))

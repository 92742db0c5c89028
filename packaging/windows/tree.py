"""The folder that is installed: CPython, the packages, the app, its resources and its launchers, trimmed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

from environment import SetupFailed

TOOLS = "x86_64-w64-mingw32-"

_NOT_IMPORTED = (
    *("bin", "adodbapi", "isapi", "pythonwin", "win32com", "win32comext", "pywin32_system32"),
    *("PyWin32.chm", "pythoncom.py", "pywin32.pth", "pywin32.version.txt", "pycparser", "cffi"),
    *("requests", "urllib3", "charset_normalizer"),
)
"""What pip installs that the app never imports.

These are most of pywin32, the makers of C bindings, and what would download vocabularies.
"""

_PYWIN32 = frozenset({"win32api.pyd", "win32job.pyd", "pywintypes.py", "win32con.py"})
"""What mcp imports of it on Windows, and cannot do without."""
_PARTS_NOT_IMPORTED = ("pydantic/v1", "shiboken6/include", "shiboken6/lib", "pydantic/mypy.py")
_NOT_OF_LIBRARY = ("lib2to3/", "pydoc_data/", "ensurepip/", "venv/")
_NOT_OF_PYTHON = (
    *("LICENSE.txt", "python.cat", "python.exe", "pythonw.exe"),
    *("winsound.pyd", "_wmi.pyd", "_msi.pyd"),
)
_NOT_RUN = (".pyi", ".pdb", ".h", ".hpp", ".lib", ".chm", ".pyx", ".pxd", ".c")
_MODULES = frozenset({"QtCore", "QtGui", "QtWidgets", "QtNetwork", "QtSvg"})
_PLUGINS = {
    "platforms": {"qwindows", "qoffscreen"},
    "styles": {"qmodernwindowsstyle"},
    "imageformats": {"qico", "qjpeg", "qgif", "qsvg", "qwebp"},
    "iconengines": {"qsvgicon"},
}
_LANGUAGES = frozenset({"de", "fr", "es", "it", "pt_BR", "ja", "ko", "zh_CN", "zh_TW", "ru"})
_RUNTIME = re.compile(r"(api-ms-win-.*|ext-ms-.*)\.dll")
_PTH = "python312.zip\n.\napp\nlib\nlib\\win32\nlib\\win32\\lib\n"


def lay_out(python: Path, site: Path, root: Path, tree: Path) -> None:
    """Fill `tree` with all but the launchers. Raises SetupFailed when a library is missing."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(python, tree, ignore=shutil.ignore_patterns(*_NOT_OF_PYTHON))
    (tree / "python312._pth").write_text(_PTH, encoding="ascii", newline="\r\n")
    lib = tree / "lib"
    shutil.copytree(site, lib, ignore=lambda folder, names: left_out(Path(folder) == site, names))
    for name in _PARTS_NOT_IMPORTED:
        shutil.rmtree(lib / name) if (lib / name).is_dir() else (lib / name).unlink(missing_ok=True)
    for path in [path for path in (lib / "win32").rglob("*") if path.is_file()]:
        if path.name not in _PYWIN32:
            path.unlink()
    for path in (site / "pywin32_system32").glob("pywintypes*.dll"):
        shutil.copy2(path, tree / path.name)
    _drop_empty(lib / "win32")
    _trim_qt(lib / "PySide6")
    _store_plainly(tree / "python312.zip")
    shutil.copy2(site / "bin" / "rg.exe", tree / "rg.exe")
    app = tree / "app"
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(root / "helix_desktop", app / "helix_desktop", ignore=unwanted)
    shutil.copytree(root / "resources", app / "resources", ignore=unwanted)
    shutil.copy2(Path(__file__).parent / "source" / "helix_boot.py", app / "helix_boot.py")
    shutil.copy2(root / "LICENSE", tree / "LICENSE.txt")
    shutil.copy2(python / "LICENSE.txt", tree / "PYTHON-LICENSE.txt")


def check_libraries(tree: Path) -> None:
    """Check that every required library is shipped or part of Windows. Raise SetupFailed."""
    programs = [path for path in tree.rglob("*") if path.suffix.lower() in (".dll", ".pyd", ".exe", ".com")]
    shipped = {path.name.lower() for path in programs}
    missing: dict[str, str] = {}
    for path in programs:
        for name in imports(path) - shipped:
            if name not in _OF_WINDOWS and not _RUNTIME.fullmatch(name):
                missing[name] = path.name
    if missing:
        names = ", ".join(f"{name} (for {asker})" for name, asker in sorted(missing.items()))
        raise SetupFailed(f"These libraries are neither shipped nor known as a part of Windows: {names}.")


def imports(path: Path) -> set[str]:
    """The names of the libraries that a program file is linked to, in small letters."""
    line = [f"{TOOLS}objdump", "-p", str(path)]
    output = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return {name.lower() for name in re.findall(r"DLL Name: (\S+)", output)}


def left_out(top: bool, names: Iterable[str]) -> set[str]:
    """Return what of a folder of installed packages, or of their `top` folder, is not shipped."""
    return {
        name
        for name in names
        if name in ("__pycache__", "tests", "test")
        or name.endswith(_NOT_RUN)
        or (top and (name in _NOT_IMPORTED or name.startswith("pycparser-")))
        or name in ("INSTALLER", "REQUESTED", "direct_url.json")
    }


def _trim_qt(qt: Path) -> None:
    for path in list(qt.iterdir()):
        if path.is_dir():
            if path.name not in ("plugins", "translations", "support"):
                shutil.rmtree(path)
        elif path.suffix == ".exe" or path.name == "opengl32sw.dll" or _unused_module(path):
            path.unlink()
    for path in list((qt / "plugins").rglob("*.dll")):
        if path.stem not in _PLUGINS.get(path.parent.name, set()):
            path.unlink()
    _drop_empty(qt / "plugins")
    _trim_translations(qt)
    _drop_unreached(qt)


def _drop_empty(place: Path) -> None:
    for folder in sorted((path for path in place.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _unused_module(path: Path) -> bool:
    return path.suffix == ".pyd" and path.stem not in _MODULES


def _trim_translations(qt: Path) -> None:
    for path in list((qt / "translations").iterdir()):
        match = re.fullmatch(r"qtbase_(.+)\.qm", path.name)
        if match is None or match.group(1) not in _LANGUAGES:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _store_plainly(archive: Path) -> None:
    """Write Python's own library again, uncompressed: the set-up packs it better, and it starts faster."""
    with zipfile.ZipFile(archive) as packed:
        contents = {name: packed.read(name) for name in sorted(packed.namelist())}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as plain:
        for name, data in contents.items():
            if not name.startswith(_NOT_OF_LIBRARY):
                plain.writestr(zipfile.ZipInfo(name), data)


def _drop_unreached(qt: Path) -> None:
    """Remove the libraries of Qt and its bindings that nothing which stays is linked to."""
    shiboken = qt.parent / "shiboken6"
    libraries: dict[str, list[Path]] = {}
    for path in (*qt.glob("*.dll"), *shiboken.glob("*.dll")):
        libraries.setdefault(path.name.lower(), []).append(path)
    waiting = [*qt.glob("*.pyd"), *(qt / "plugins").rglob("*.dll"), *shiboken.glob("*.pyd")]
    reached: set[str] = set()
    while waiting:
        for name in imports(waiting.pop()) & libraries.keys() - reached:
            reached.add(name)
            waiting += libraries[name]
    for name in libraries.keys() - reached:
        for path in libraries[name]:
            path.unlink()


_OF_WINDOWS = frozenset(
    f"{name}.dll"
    for name in (
        *("advapi32", "authz", "bcrypt", "bcryptprimitives", "cfgmgr32", "comctl32", "comdlg32", "crypt32"),
        *("cryptbase", "d2d1", "d3d9", "d3d11", "d3d12", "dcomp", "dnsapi", "dwmapi", "dwrite", "dxgi"),
        *("gdi32", "imm32", "iphlpapi", "kernel32", "mpr", "msvcrt", "ncrypt", "netapi32", "normaliz"),
        *("ntdll", "ole32"),
        *("oleacc", "oleaut32", "opengl32", "pdh", "powrprof", "psapi", "rpcrt4", "rstrtmgr", "secur32"),
        *("setupapi", "shcore", "shell32", "shlwapi", "user32", "userenv", "usp10", "uiautomationcore"),
        *("uxtheme", "version", "winhttp", "winmm", "winspool", "ws2_32", "wtsapi32", "icuuc", "mscms"),
        *("ucrtbase", "synchronization"),
    )
) | {"winspool.drv"}


def make_uniform(tree: Path, date: int) -> None:
    """Set the date of every file and folder to that of every build."""
    for path in (*tree.rglob("*"), tree):
        os.utime(path, (date, date))

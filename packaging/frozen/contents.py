"""What a frozen app holds and what stays out: pure rules over the paths that PyInstaller found."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping

Entry = tuple[str, str, str]
"""A file of the app as PyInstaller lists it: its place, its source (of a link: its target), its kind."""

KEYCHAINS = {
    "linux": ("SecretService", "kwallet", "libsecret"),
    "win32": ("Windows",),
    "darwin": ("macOS", "macOS.api"),
}

# What the sample projects import from the standard library: they run on the app's own Python.
SAMPLES = (
    *("argparse", "contextlib", "csv", "datetime", "io", "math", "pathlib", "statistics", "tempfile"),
    *("tomllib", "unittest", "unittest.__main__"),
)

# Found by no import statement: backends of keyring, and what uvicorn chooses at run time.
HIDDEN = (
    "keyring.backends.chainer",
    "keyring.backends.fail",
    "keyring.backends.null",
    "uvicorn.lifespan.off",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
    "zstandard.backend_c",
)

# Packages that read files of their own: fonts, and the names of signs.
WITH_DATA = ("latex2mathml", "ziafont", "ziamath")

EXCLUDED = (
    *("tkinter", "_tkinter", "readline", "lib2to3", "idlelib", "turtledemo", "pydoc_data", "ensurepip"),
    *("venv", "PySide6.QtDBus", "PySide6.QtQml", "PySide6.QtQuick", "PySide6.QtSql", "PySide6.QtTest"),
    *("PySide6.QtUiTools", "PySide6.QtDesigner", "zstandard._cffi", "zstandard.backend_cffi"),
    *("IPython", "numpy", "pytest", "setuptools", "pkg_resources", "pip", "hatchling", "mypy", "hypothesis"),
    *("requests", "urllib3", "charset_normalizer"),
    *("rich", "typer", "pydantic.mypy", "pydantic.v1", "pydantic._hypothesis_plugin", "uvloop", "httptools"),
)

# Qt's wheel finds its own parts, without variables that children would get; no code is read for its source.
HOOKS_LEFT_OUT = ("pyi_rth_pyside6", "pyi_rth_inspect")

_DROPPED = tuple(
    re.compile(pattern)
    for pattern in (
        r"plugins/(egldeviceintegrations|generic|networkinformation|sqldrivers|qmltooling|qmllint|designer|tls"
        r"|printsupport|vectorimageformats|virtualkeyboard|wayland-graphics-integration-server)/",
        r"plugins/platforms/\w*(eglfs|linuxfb|minimalegl|vnc|vkkhrdisplay|direct2d)\b",
        r"plugins/platforms/libqminimal\.",
        r"plugins/platforminputcontexts/\w*virtualkeyboard",
        r"plugins/platformthemes/\w*gtk3",
        r"plugins/imageformats/\w*q(tga|wbmp|tiff|icns|pdf)\b",
        r"plugins/wayland-graphics-integration-client/\w*(vulkan|shm-emulation|drm-egl)",
        r"plugins/wayland-shell-integration/\w*(ivi|fullscreen|wl-shell|qt-shell)",
        r"PySide6/opengl32sw\.dll$",
        r"PySide6/(Qt/)?translations/(?!qtbase_)",
        # Names the folder of the machine that built it, or only means something to pip.
        r"\.dist-info/(direct_url\.json|INSTALLER|REQUESTED|uv_\w+\.json)$",
        r"\.dist-info/sboms/",  # the app has a bill of materials of its own
        r"(^|/)ziafont/fonts/DejaVuSans\.ttf$",  # formulas have a font of their own
        r"(^|/)__pycache__/",
    )
)

# Drivers and the closest friends of the dynamic loader: a second copy beside the system's own breaks things.
_SYSTEM = re.compile(
    r"^lib(stdc\+\+|gcc_s|X11|X11-xcb|xcb|xcb-dri\d|xcb-glx|gbm|wayland-\w+|EGL|GL|GLX|OpenGL|GLdispatch|drm|fontconfig"
    r"|freetype|expat|z|glib-2\.0|gobject-2\.0|gio-2\.0|gmodule-2\.0|gthread-2\.0|dbus-1|systemd|gcrypt|gpg-error|krb5"
    r"|krb5support|gssapi_krb5|k5crypto|com_err|keyutils|uuid|cap|resolv)\.so"
)


def is_wanted(entry: Entry, system: str) -> bool:
    """Tell whether a file belongs into the app for a system ("linux", "win32", "darwin")."""
    place = entry[0].replace("\\", "/")
    if any(pattern.search(place) for pattern in _DROPPED):
        return False
    return not (system == "linux" and _SYSTEM.match(posixpath.basename(place)))


def is_reached_from_outside(place: str) -> bool:
    """Tell whether something else than a library of the app loads this file: Python, Qt or the app."""
    return bool(re.search(r"plugins/|\.cpython-|\.abi3\.|(^|/)libpython|(^|/)bin/|lib-dynload", place))


def reachable(
    binaries: Iterable[Entry], needed: Callable[[str], Iterable[str]]
) -> tuple[list[Entry], list[str]]:
    """Leave out libraries that nothing in the app asks for; gives what stays and the places of what does not.

    `needed` gives the names of the libraries that the file at a source asks for.
    """
    binaries = list(binaries)
    files = [entry for entry in binaries if entry[2] != "SYMLINK"]
    by_name: Mapping[str, Entry] = {posixpath.basename(entry[0]): entry for entry in files}
    todo = [entry for entry in files if is_reached_from_outside(entry[0])]
    reached = {entry[0] for entry in todo}
    while todo:
        for name in needed(todo.pop()[1]):
            entry = by_name.get(posixpath.basename(name))
            if entry and entry[0] not in reached:
                reached.add(entry[0])
                todo.append(entry)
    stays = [entry for entry in binaries if entry[2] == "SYMLINK" or entry[0] in reached]
    return stays, sorted(entry[0] for entry in files if entry[0] not in reached)


def without_dangling(entries: Iterable[Entry], places: Iterable[str]) -> list[Entry]:
    """Leave out links to targets outside `places`."""
    there = set(places)

    def leads(entry: Entry) -> bool:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(entry[0]), entry[1]))
        return entry[2] != "SYMLINK" or target in there

    return [entry for entry in entries if leads(entry)]

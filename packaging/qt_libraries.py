"""The system libraries that Qt's wheel does not carry: missed by loading, installed with apt if root."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from environment import SetupFailed, say

# Shared library -> Debian package. Measured on a bare Debian 12 with PySide6-Essentials 6.11.
OFFSCREEN = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libX11.so.6": "libx11-6",
}
X11 = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libX11-xcb.so.1": "libx11-xcb1",
}
WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}


def missing_packages(need: str, environ: Mapping[str, str]) -> list[str]:
    """List the Debian packages that `need` ("run", "test", "package") lacks; "run" depends on the display."""
    if not sys.platform.startswith("linux"):
        return []
    wanted = dict(OFFSCREEN)
    if need in {"test", "package"} or environ.get("DISPLAY"):
        wanted |= X11
    if need == "package" or environ.get("WAYLAND_DISPLAY"):
        wanted |= WAYLAND
    lacking = [package for library, package in wanted.items() if not _loads(library)]
    if need == "test" and not shutil.which("Xvfb"):
        lacking.append("xvfb")
    return lacking


def ensure(need: str, environ: Mapping[str, str]) -> None:
    """Have every library that `need` needs: as root install what lacks, else say the exact command.

    Call it under `Environment.alone`. Raises SetupFailed.
    """
    lacking = missing_packages(need, environ)
    if not lacking:
        return
    install(lacking, "Qt needs system libraries")
    if still := missing_packages(need, environ):
        raise SetupFailed(f"installed, but still not loading: {' '.join(still)}. See apt's output above.")


def install(packages: Sequence[str], why: str) -> None:
    """Install Debian packages as root; else, and where there is no apt, say what to install.

    Raises SetupFailed.
    """
    command = f"apt-get install -y --no-install-recommends {' '.join(packages)}"
    if not shutil.which("apt-get"):
        raise SetupFailed(f"{why}; Debian calls them {' '.join(packages)}. Install yours.")
    if os.geteuid() != 0:
        raise SetupFailed(f"{why}. Install them, then call this again:  sudo {command}")
    say(f"installing with apt: {' '.join(packages)}")
    # Without the network the lists from before may do: only the second one has to succeed.
    _apt("apt-get update")
    if told := _apt(command):
        raise SetupFailed(f"`{command}` failed:\n{told}\nRun it by hand, then call this again.")


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _apt(command: str) -> str:
    """Run apt quietly, waiting for another apt to end; give what it said if it failed, else nothing."""
    line = [*command.split(), "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(line, env=environ, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}".strip() or "no reason given" if done.returncode else ""

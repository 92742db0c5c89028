"""A person's Windows in a room: Wine, its drive and its registry, and what a set-up leaves in them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from environment import SetupFailed, call

from check.chroot import USER, Chroot, Done
from check.displays import X11, ended, tail
from check.table import Wrong

PACKAGES = ("wine", "wine64", "imagemagick", "fonts-dejavu-core")
_STUBS = Path(__file__).parent / "stubs"
_PREFIX = ".wine"
_SETTLED_S = 2.0
# Components of Windows that Wine asks to download, and that nothing here uses; then the stub of ours.
_OVERRIDES = "mscoree,mshtml=;mscms=n"
# Wine's own notes of when it did what.
_RESTLESS = ("#time=", "#link", '"LastUpdate', "WINE REGISTRY", ";; ")


@dataclass(frozen=True)
class Windows:
    """Wine for the person of a room, on a display."""

    chroot: Chroot
    display: X11

    @property
    def environ(self) -> dict[str, str]:
        """What Wine is told."""
        variables = {"WINEPREFIX": f"/home/{USER}/{_PREFIX}", "WINEARCH": "win64", "WINEDEBUG": "-all"}
        return {**self.display.environ, **variables, "WINEDLLOVERRIDES": _OVERRIDES}

    @property
    def drive(self) -> Path:
        """Drive C, seen from outside."""
        return self.chroot.home(USER) / _PREFIX / "drive_c"

    @property
    def local(self) -> Path:
        """%LOCALAPPDATA%, seen from outside."""
        return self.drive / "users" / USER / "AppData" / "Local"

    @property
    def start_menu(self) -> Path:
        """The person's Start menu, seen from outside."""
        return self.local.parent / "Roaming" / "Microsoft" / "Windows" / "Start Menu" / "Programs"

    def inside(self, path: str) -> str:
        """A path of drive C as the room names it."""
        return f"/home/{USER}/{_PREFIX}/drive_c/" + path.removeprefix("C:\\").replace("\\", "/")

    def make(self, work: Path) -> None:
        """Make drive and registry, and put in what Wine lacks. Raises SetupFailed, Wrong."""
        self.run("wineboot --init", limit=300).must()
        self.settle()
        for source in sorted(_STUBS.glob("*.c")):
            library = work / f"{source.stem}.dll"
            flags = ("-shared", "-O2", "-s", "-fno-builtin", "-Wall", "-Werror")
            if call("x86_64-w64-mingw32-gcc", *flags, "-o", str(library), str(source)):
                raise SetupFailed(f"{source.name} could not be compiled (see above).")
            place = self.drive / "windows" / "system32" / library.name
            place.unlink(missing_ok=True)
            place.write_bytes(library.read_bytes())

    def run(self, line: str, *, limit: float = 300) -> Done:
        """Run a line of shell as the person, with Wine's variables; TMPDIR makes Wine 10 abort."""
        return self.chroot.run(f"unset TMPDIR; {line}", user=USER, environ=self.environ, limit=limit)

    @contextmanager
    def running(self, line: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program that goes on beside; at the end all of this Windows is ended, as by a power cut."""
        process = self.chroot.start(f"env -u TMPDIR {line}", self.log, user=USER, environ=self.environ)
        try:
            yield process
        finally:
            self.run("wineserver --kill", limit=60)
            ended(process)

    @property
    def log(self) -> Path:
        """What the last program that ran beside has said."""
        return self.chroot.root / "tmp" / "beside.log"

    def settle(self) -> None:
        """Wait until nothing runs any more and the registry is on disk."""
        self.run("wineserver --wait", limit=120)

    def windows(self, title: str) -> list[str]:
        """The numbers of the visible windows whose title holds this."""
        done = self.run(f"xdotool search --onlyvisible --name '{title}'")
        return done.output.split() if done.code == 0 else []

    def window(self, title: str, patience_s: float = 60) -> str:
        """The number of such a window, when it has come. Raises Wrong."""
        end = time.monotonic() + patience_s
        while not (windows := self.windows(title)):
            if time.monotonic() > end:
                raise Wrong(f"no window {title!r} within {patience_s:.0f} s: {tail(self.log)}")
            time.sleep(0.2)
        time.sleep(_SETTLED_S)
        return windows[0]

    def press(self, window: str, keys: str) -> None:
        """Press keys in a window."""
        self.run(f"xdotool windowactivate --sync {window} key --delay 150 {keys}", limit=30)
        time.sleep(_SETTLED_S)

    def files(self) -> set[str]:
        """Every file and folder of the drive, but for the system's own and what comes and goes."""
        paths = {str(path.relative_to(self.drive)) for path in self.drive.rglob("*")}
        return {path for path in paths if not path.startswith("windows/") and "/Temp/" not in path}

    def registry(self) -> set[str]:
        """Every key and value of the person's registry, each value with its key."""
        self.settle()
        key, found = "", set()
        text = (self.drive.parent / "user.reg").read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            if line.startswith("["):
                key = line[1 : line.rindex("]")].replace("\\\\", "\\")
                found.add(key)
            elif line and not line.startswith(_RESTLESS):
                found.add(f"{key}: {line}")
        return found

"""A user's Windows in a chroot: Wine, its drive and its registry, and the files of a set-up in them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from environment import SetupFailed, call

from check.chroot import USER, Chroot, CommandResult
from check.displays import X11, stop, tail
from check.table import Wrong

PACKAGES = ("wine", "wine64", "imagemagick", "fonts-dejavu-core")
_STUBS = Path(__file__).parent / "stubs"
_PREFIX = ".wine"
_SETTLED_S = 2.0
# Components of Windows that Wine asks to download, and that nothing here uses; then our stub.
_OVERRIDES = "mscoree,mshtml=;mscms=n"
# Wine's own records of when it did what.
_RESTLESS = ("#time=", "#link", '"LastUpdate', "WINE REGISTRY", ";; ")


@dataclass(frozen=True)
class Windows:
    """Wine for the user of a chroot, on a display."""

    chroot: Chroot
    display: X11

    @property
    def environ(self) -> dict[str, str]:
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
        """Return the user's Start menu, seen from outside."""
        return self.local.parent / "Roaming" / "Microsoft" / "Windows" / "Start Menu" / "Programs"

    def inside(self, path: str) -> str:
        """Return the path of a file of drive C inside the chroot."""
        return f"/home/{USER}/{_PREFIX}/drive_c/" + path.removeprefix("C:\\").replace("\\", "/")

    def make(self, work: Path) -> None:
        """Create drive and registry, and add what Wine lacks. Raise SetupFailed, Wrong."""
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

    def run(self, line: str, *, limit: float = 300) -> CommandResult:
        """Run a line of shell as the user, with Wine's variables; TMPDIR makes Wine 10 abort."""
        return self.chroot.run(f"unset TMPDIR; {line}", user=USER, environ=self.environ, limit=limit)

    @contextmanager
    def running(self, line: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a background program; at the end all of this Windows is ended, as by a power cut."""
        process = self.chroot.start(f"env -u TMPDIR {line}", self.log, user=USER, environ=self.environ)
        try:
            yield process
        finally:
            self.run("wineserver --kill", limit=60)
            stop(process)

    @property
    def log(self) -> Path:
        """Return the output of the last background program."""
        return self.chroot.root / "tmp" / "beside.log"

    def settle(self) -> None:
        """Wait until nothing runs any more and the registry is on disk."""
        self.run("wineserver --wait", limit=120)

    def windows(self, title: str) -> list[str]:
        """Return the numbers of the visible windows whose title contains this."""
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
        self.run(f"xdotool windowactivate --sync {window} key --delay 150 {keys}", limit=30)
        time.sleep(_SETTLED_S)

    def files(self) -> set[str]:
        """Return every file and folder of the drive, except the system's own and temporary ones."""
        paths = {str(path.relative_to(self.drive)) for path in self.drive.rglob("*")}
        return {path for path in paths if not path.startswith("windows/") and "/Temp/" not in path}

    def registry(self) -> set[str]:
        """Return every key and value of the user's registry, each value with its key."""
        self.settle()
        key = ""
        values = set()
        text = (self.drive.parent / "user.reg").read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            if line.startswith("["):
                key = line[1 : line.rindex("]")].replace("\\\\", "\\")
                values.add(key)
            elif line and not line.startswith(_RESTLESS):
                values.add(f"{key}: {line}")
        return values

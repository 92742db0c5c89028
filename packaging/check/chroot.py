"""Minimal Debian systems: built once, used through throw-away layers, in a namespace of their own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from environment import SetupFailed, say
from system_tools import run

from check import host
from check.table import Wrong

SUITES = ("bookworm", "trixie")
USER = "ada"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NO_SERVICES = "#!/bin/sh\n# Nothing that is installed here starts a service.\nexit 101\n"


@dataclass(frozen=True)
class CommandResult:
    code: int
    output: str
    seconds: float

    def must(self, code: int = 0) -> CommandResult:
        """Return itself if it ended with this code. Raise Wrong with the end of its output."""
        if self.code != code:
            raise Wrong(f"exit code {self.code} instead of {code}: …{self.output.strip()[-600:]}")
        return self

    def report_of(self, *parts: str) -> str:
        """Return what a self-check reported about these parts. Raise Wrong unless all checks passed."""
        reports = re.findall(rf"^ok +(?:{'|'.join(parts)}) +(.*)$", self.output, re.MULTILINE)
        if not reports or "all checks passed" not in self.output:
            raise Wrong(self.output[-800:])
        return "; ".join(map(str.strip, reports))


@dataclass(frozen=True)
class Chroot:
    """A running throw-away system."""

    root: Path
    suite: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        command: str,
        *,
        user: str = "root",
        limit: float = 900,
        environ: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a line of shell in it, as root or as a plain user in their home."""
        started = time.monotonic()
        try:
            done = subprocess.run(
                self._line(command, user, environ or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=limit,
                check=False,
                # Else its process group is an outside one, and 0 in here, which killpg takes for its own.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as late:
            output = (
                late.output.decode(errors="replace") if isinstance(late.output, bytes) else late.output or ""
            )
            raise Wrong(f"not done after {limit:.0f} s: {command}: …{output[-600:]}") from None
        return CommandResult(done.returncode, done.stdout, time.monotonic() - started)

    def start(
        self, command: str, log: Path, *, user: str = "root", environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a background program in it and return its process; its output goes to `log`."""
        with log.open("wb") as log_file:
            return subprocess.Popen(
                self._line(f"exec {command}", user, environ or {}),
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def install(self, *packages: str) -> CommandResult:
        """Install packages with apt. Raises Wrong."""
        names = shlex.join(packages)
        return self.run(f"apt-get install -qq -y --no-install-recommends {names}").must()

    def home(self, user: str) -> Path:
        """Where a user's home lies, seen from outside."""
        return self.root / ("root" if user == "root" else f"home/{user}")

    def give(self, path: Path, name: str) -> str:
        """Copy a file into it, below /srv; the path there."""
        shutil.copy(path, self.root / "srv" / name)
        return f"/srv/{name}"

    def _line(self, command: str, user: str, environ: Mapping[str, str]) -> list[str]:
        home = "/root" if user == "root" else f"/home/{user}"
        values = {
            "PATH": _PATH,
            "HOME": home,
            "USER": user,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": "/tmp",
        }
        values |= {"DEBIAN_FRONTEND": "noninteractive"} if user == "root" else {}
        pairs = [f"{name}={value}" for name, value in (values | dict(self.environ) | dict(environ)).items()]
        as_user = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        shell = ["/bin/sh", "-c", f"cd {home} && {command}"]
        # Jobs of cron look into /usr/bin and /bin only.
        chroot = shutil.which("chroot", path=_PATH) or "chroot"
        return [chroot, str(self.root), "/usr/bin/env", "-i", *pairs, *as_user, *shell]


@dataclass(frozen=True)
class Chroots:
    """The systems below one folder: debootstrap's, and layers over them."""

    place: Path

    def base(self, suite: str) -> Path:
        """Return the folder of a minimal system, built at the first call. Raise SetupFailed."""
        there = self.place / f"{suite}.base"
        if there.is_dir():
            return there
        self.place.mkdir(parents=True, exist_ok=True)
        say(f"building a minimal Debian {suite} in {there} (a minute, once)")
        making = Path(tempfile.mkdtemp(prefix=f"{suite}.making-", dir=self.place))
        making.chmod(0o755)
        try:
            address = host.debian_mirror()
            line = ["debootstrap", "--variant=minbase", suite, str(making), *([address] if address else [])]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SetupFailed(f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            unmount_below(making)
            making.rename(there)
        finally:
            if making.exists():
                discard(making)
        return there

    @contextmanager
    def chroot(self, suite: str) -> Iterator[Chroot]:
        """Open a throw-away system with a plain user in it; remove it at the end."""
        base = self.base(suite)
        place = Path(tempfile.mkdtemp(prefix="run-", dir=self.place))
        root = place / "root"
        try:
            _layer(base, place, root)
            _devices(root)
            chroot = Chroot(root, suite, host.carry_into(root))
            (root / "usr/sbin/policy-rc.d").write_text(_NO_SERVICES, encoding="utf-8")
            (root / "usr/sbin/policy-rc.d").chmod(0o755)
            chroot.run(f"useradd --create-home --shell /bin/sh {USER}").must()
            chroot.run("apt-get update -qq").must()
            yield chroot
        finally:
            discard(place)

    def sweep(self) -> None:
        """Remove the files of killed runs."""
        for left in (*self.place.glob("run-*"), *self.place.glob("*.making-*")):
            discard(left)


def mounted_below(place: Path) -> list[str]:
    """Return the mounts on or below a folder, the deepest first."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    points = [_unescaped(line.split()[4]) for line in text.splitlines()]
    resolved = place.resolve()
    return sorted((point for point in points if Path(point).is_relative_to(resolved)), key=len, reverse=True)


def unmount_below(place: Path) -> None:
    """Unmount everything on or below a folder."""
    for point in mounted_below(place):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)


def discard(place: Path) -> None:
    """Unmount and delete a folder; a remaining mount prevents the deletion. Raise SetupFailed."""
    _end_processes(place)
    unmount_below(place)
    if still := mounted_below(place):
        raise SetupFailed(f"{', '.join(still)} cannot be unmounted, so {place} is left as it is.")
    shutil.rmtree(place, ignore_errors=True)


def _layer(base: Path, place: Path, root: Path) -> None:
    """Lay a writable layer over the base; where the disk cannot, copy it."""
    for name in ("upper", "work", "root"):
        (place / name).mkdir()
    options = f"lowerdir={base},upperdir={place / 'upper'},workdir={place / 'work'}"
    laid = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, str(root)], capture_output=True, check=False
    )
    if laid.returncode:
        say("layers do not work on this disk; copying the system")
        subprocess.run(["cp", "-a", f"{base}/.", str(root)], check=True)


def _devices(root: Path) -> None:
    """Mount /proc, /sys and its own /dev: single devices of this machine, never its complete /dev."""
    dev = root / "dev"
    run("mount", "-t", "proc", "proc", root / "proc")
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(dev))
    for name in _DEVICES:
        (dev / name).touch()
        run("mount", "--bind", f"/dev/{name}", dev / name)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    run("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=0620,gid=5", "devpts", dev / "pts")
    run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", dev / "shm")
    (dev / "ptmx").symlink_to("pts/ptmx")
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        (dev / name).symlink_to(f"/proc/self/fd{target}")


def _end_processes(place: Path) -> None:
    """End the processes whose root lies below a folder; without them nothing there is busy."""
    own = os.getpid()
    inside = str(place.resolve())
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == own:
            continue
        try:
            rooted = os.readlink(entry / "root")
            if rooted == inside or rooted.startswith(f"{inside}/"):
                os.kill(int(entry.name), 9)
        except OSError:
            continue  # it has ended meanwhile


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)

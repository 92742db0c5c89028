"""The .deb in clean systems: installed, started, shown, upgraded over an older one, and removed again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from environment import SetupFailed

from check import shown, used
from check.chroot import PERSON, Room, Rooms
from check.table import Table, Wrong

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "helix-desktop"
OLDER = "0.0.1-1"
_STRAY = "find / -xdev -iname '*helix*' -not -path '/home/*' -not -path '/srv/*' -not -path '/tmp/*'"


def steps(rooms: Rooms, suite: str, table: Table) -> None:
    """Go the whole way of one package in one clean system. Raises SetupFailed without a package."""
    package = newest_package()
    with rooms.room(suite) as room:
        newer = room.give(package, package.name)
        older = f"/srv/{PROGRAM}_{OLDER}.deb"
        repacked(package, room.root / older.lstrip("/"))
        _install(room, older, table)
        if table.failures:
            return
        _first_use(room, table)
        used.steps(room, table)
        shown.on_x11(room, table, suite)
        shown.on_wayland(room, table, suite)
        _upgrade(room, newer, table)
        shown.after_upgrade(room, table, suite)
        used.read_only(room, table)
        _purge(room, table)


def newest_package() -> Path:
    """The .deb that was built last. Raises SetupFailed."""
    found = sorted((ROOT / "dist").glob(f"{PROGRAM}_*.deb"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SetupFailed("there is no .deb in dist/ to check. Build it first:  ./helix package deb")
    return found[-1]


def repacked(package: Path, older: Path) -> None:
    """Make an older package out of one: nothing but its version differs. Raises SetupFailed."""
    tree = older.with_suffix(".tree")
    control = tree / "DEBIAN" / "control"
    _dpkg("-R", str(package), str(tree))
    text = control.read_text(encoding="utf-8")
    control.write_text(
        re.sub(r"^Version: .*$", f"Version: {OLDER}", text, flags=re.MULTILINE), encoding="utf-8"
    )
    _dpkg("--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(older))
    shutil.rmtree(tree)


def _dpkg(*words: str) -> None:
    done = subprocess.run(["dpkg-deb", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupFailed(f"dpkg-deb {words[0]}: {done.stderr.strip()}")


def _install(room: Room, package: str, table: Table) -> None:
    with table.step("apt install of an older build, with what it depends on") as step:
        before = _packages(room)
        done = room.run(f"apt-get install -qq -y --no-install-recommends {package}").must()
        step.detail = f"{len(_packages(room) - before)} packages in {done.seconds:.0f} s, {_version(room)}"
    with table.step("no library is missing") as step:
        # Before anything else is installed that could bring it along.
        line = f"find /usr/lib/{PROGRAM} -name '*.so*' -type f -o -type f -name {PROGRAM}"
        files = room.run(f"{line} | wc -l").must().output.strip()
        lacking = room.run(f"{line} | LD_LIBRARY_PATH=/usr/lib/{PROGRAM}/_internal xargs -n 1 ldd 2>/dev/null"
                           " | grep 'not found' | sort -u")  # fmt: skip
        if lacking.output.strip():
            raise Wrong(lacking.output)
        step.detail = f"{files} files looked at"


def _first_use(room: Room, table: Table) -> None:
    before = used.listing(room)
    # Before anything is installed that could bring a Python along. Its data are kept beside its pictures.
    with table.step("plain user: the guided demo to its end, with no Python but its own") as step:
        if room.run("command -v python3").code == 0:
            raise Wrong("this system has one")
        room.run(f"{PROGRAM} demo --out demo", user=PERSON).must()
        pictures = len(list((room.home(PERSON) / "demo").glob("*.png")))
        if not pictures:
            raise Wrong("it made no pictures")
        room.run("rm -r demo", user=PERSON).must()
        wrong, caches = used.strays(used.listing(room) - before)
        if wrong:
            raise Wrong(f"it left {', '.join(wrong)}")
        step.detail = f"{pictures} pictures; caches that libraries keep: {', '.join(caches) or 'none'}"
    shown.first_start(room, table)
    with table.step("plain user, offscreen: self-check") as step:
        done = room.run(f"{PROGRAM} self-check", user=PERSON).must()
        step.detail = ran_well(done.output)
        if wrong := used.strays(used.listing(room) - before)[0]:
            raise Wrong(f"it left {', '.join(wrong)}")


def ran_well(output: str) -> str:
    """Give what a self-check says of itself and its window. Raises Wrong unless all parts work."""
    if "all parts work" not in output:
        raise Wrong(output[-800:])
    said = re.findall(r"^ok +(?:versions|window) +(.*)$", output, re.MULTILINE)
    return "; ".join(said)


def _upgrade(room: Room, package: str, table: Table) -> None:
    with table.step("upgrade: apt installs the newer build over it") as step:
        before, entries = _version(room), used.stored(room)
        room.run(f"apt-get install -qq -y --no-install-recommends {package}").must()
        step.detail = f"{before} -> {_version(room)}"
        if _version(room) == before:
            raise Wrong(f"it still is {before}")
    with table.step("upgrade: what the older build stored is there, and whole") as step:
        used.kept(room, entries, step)


def _purge(room: Room, table: Table) -> None:
    with table.step("purge leaves nothing but the person's data") as step:
        room.run(f"apt-get purge -qq -y {PROGRAM}").must()
        left = [
            line for line in room.run(_STRAY).output.splitlines() if not line.startswith(("/proc", "find:"))
        ]
        named = room.run("grep -rl -i helix /usr/share/applications /usr/share/mime /var/lib/dpkg/info")
        if left or named.output.strip():
            raise Wrong(" ".join([*left, named.output]))
        if not (room.home(PERSON) / ".local/share" / PROGRAM).is_dir():
            raise Wrong("the person's data is gone")
        step.detail = "found by name in the whole system, and in the lists of applications and kinds of file"


def _packages(room: Room) -> set[str]:
    return set(room.run("dpkg-query -W -f '${Package}\\n'").must().output.split())


def _version(room: Room) -> str:
    return room.run(f"dpkg-query -W -f '${{Version}}' {PROGRAM}").must().output.strip()

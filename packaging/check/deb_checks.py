"""The .deb in clean systems: installed, started, displayed, upgraded from an older one, and removed again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from environment import SetupFailed
from system_tools import run

from check import usage_checks, window_checks
from check.chroot import USER, Chroot, Chroots
from check.table import Table, Wrong

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "helix-desktop"
OLDER = "0.0.1-1"
_STRAY = "find / -xdev -iname '*helix*' -not -path '/home/*' -not -path '/srv/*' -not -path '/tmp/*'"


def steps(chroots: Chroots, suite: str, table: Table) -> None:
    """Check one package in one clean system from start to end. Raise SetupFailed without a package."""
    package = newest_package()
    with chroots.chroot(suite) as chroot:
        newer = chroot.give(package, package.name)
        older = f"/srv/{PROGRAM}_{OLDER}.deb"
        repack(package, chroot.root / older.lstrip("/"))
        _install(chroot, older, table)
        if table.failures:
            return
        _first_use(chroot, table)
        usage_checks.steps(chroot, table)
        window_checks.on_x11(chroot, table, suite)
        window_checks.on_wayland(chroot, table, suite)
        _upgrade(chroot, newer, table)
        window_checks.after_upgrade(chroot, table, suite)
        usage_checks.read_only(chroot, table)
        _purge(chroot, table)


def newest_package() -> Path:
    """The .deb that was built last. Raises SetupFailed."""
    packages = sorted((ROOT / "dist").glob(f"{PROGRAM}_*.deb"), key=lambda path: path.stat().st_mtime)
    if not packages:
        raise SetupFailed("there is no .deb in dist/ to check. Build it first:  ./helix package deb")
    return packages[-1]


def repack(package: Path, older: Path) -> None:
    """Make an older package out of one: nothing but its version differs. Raises SetupFailed."""
    tree = older.with_suffix(".tree")
    control = tree / "DEBIAN" / "control"
    run("dpkg-deb", "-R", package, tree)
    text = control.read_text(encoding="utf-8")
    control.write_text(
        re.sub(r"^Version: .*$", f"Version: {OLDER}", text, flags=re.MULTILINE), encoding="utf-8"
    )
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, older)
    shutil.rmtree(tree)


def _install(chroot: Chroot, package: str, table: Table) -> None:
    with table.step("apt install of an older build, with what it depends on") as step:
        before = _packages(chroot)
        done = chroot.run(f"apt-get install -qq -y --no-install-recommends {package}").must()
        step.detail = (
            f"{len(_packages(chroot) - before)} packages in {done.seconds:.0f} s, {_version(chroot)}"
        )
    with table.step("no library is missing") as step:
        # Before anything else is installed that could bring it along.
        line = f"find /usr/lib/{PROGRAM} -name '*.so*' -type f -o -type f -name {PROGRAM}"
        files = chroot.run(f"{line} | wc -l").must().output.strip()
        lacking = chroot.run(
            f"{line} | LD_LIBRARY_PATH=/usr/lib/{PROGRAM}/_internal xargs -n 1 ldd 2>/dev/null"
            " | grep 'not found' | sort -u"
        )
        if lacking.output.strip():
            raise Wrong(lacking.output)
        step.detail = f"{files} files looked at"


def _first_use(chroot: Chroot, table: Table) -> None:
    before = usage_checks.listing(chroot)
    # Before anything is installed that could bring a Python along. Its data are stored next to its pictures.
    with table.step("plain user: the guided demo to its end, with no Python but its own") as step:
        if chroot.run("command -v python3").code == 0:
            raise Wrong("this system has one")
        chroot.run(f"{PROGRAM} demo --out demo", user=USER).must()
        pictures = len(list((chroot.home(USER) / "demo").glob("*.png")))
        if not pictures:
            raise Wrong("it made no pictures")
        chroot.run("rm -r demo", user=USER).must()
        wrong, caches = usage_checks.strays(usage_checks.listing(chroot) - before)
        if wrong:
            raise Wrong(f"it left {', '.join(wrong)}")
        step.detail = f"{pictures} pictures; caches that libraries keep: {', '.join(caches) or 'none'}"
    window_checks.first_start(chroot, table)
    with table.step("plain user, offscreen: self-check") as step:
        done = chroot.run(f"{PROGRAM} self-check", user=USER).must()
        step.detail = done.report_of("versions", "window")
        if wrong := usage_checks.strays(usage_checks.listing(chroot) - before)[0]:
            raise Wrong(f"it left {', '.join(wrong)}")


def _upgrade(chroot: Chroot, package: str, table: Table) -> None:
    with table.step("upgrade: apt installs the newer build over it") as step:
        before = _version(chroot)
        entries = usage_checks.stored_digests(chroot)
        chroot.run(f"apt-get install -qq -y --no-install-recommends {package}").must()
        step.detail = f"{before} -> {_version(chroot)}"
        if _version(chroot) == before:
            raise Wrong(f"it still is {before}")
    with table.step("upgrade: what the older build stored is there, and whole") as step:
        usage_checks.check_stored(chroot, entries, step)


def _purge(chroot: Chroot, table: Table) -> None:
    with table.step("purge leaves nothing but the user's data") as step:
        chroot.run(f"apt-get purge -qq -y {PROGRAM}").must()
        left = [
            line for line in chroot.run(_STRAY).output.splitlines() if not line.startswith(("/proc", "find:"))
        ]
        leftovers = chroot.run("grep -rl -i helix /usr/share/applications /usr/share/mime /var/lib/dpkg/info")
        if left or leftovers.output.strip():
            raise Wrong(" ".join([*left, leftovers.output]))
        if not (chroot.home(USER) / ".local/share" / PROGRAM).is_dir():
            raise Wrong("the user's data is gone")
        step.detail = "found by name in the whole system, and in the lists of applications and kinds of file"


def _packages(chroot: Chroot) -> set[str]:
    return set(chroot.run("dpkg-query -W -f '${Package}\\n'").must().output.split())


def _version(chroot: Chroot) -> str:
    return chroot.run(f"dpkg-query -W -f '${{Version}}' {PROGRAM}").must().output.strip()

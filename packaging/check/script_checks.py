"""./helix on minimal systems: as root, as a plain user, without any Python, and with `make`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from check.chroot import USER, Chroot, Chroots, CommandResult
from check.table import Table, Wrong

ROOT = Path(__file__).resolve().parents[2]
_LINE = re.compile(r"^helix: .*:  sudo (apt-get install -y .*)$")


def steps(chroots: Chroots, suite: str, table: Table) -> None:
    """Try `./helix` in two clean systems of one suite: root's, then a plain user's."""
    with chroots.chroot(suite) as chroot:
        _as_root(chroot, table)
    with chroots.chroot(suite) as chroot:
        _as_user(chroot, table)
    if table.is_complete:
        with chroots.chroot(suite) as chroot:
            _complete_suite(chroot, table)


def _as_root(chroot: Chroot, table: Table) -> None:
    with table.step("root, no Python: ./helix doctor names one line") as step:
        place = _clone(chroot, "root")
        step.detail = _command_in(chroot.run(f"cd {place} && ./helix doctor").must(1), sudo=False)
    with table.step("root, no Python: ./helix run self-check") as step:
        done = chroot.run(f"cd {place} && ./helix run self-check").must()
        step.detail = done.report_of("versions")
    with table.step("root: ./helix run self-check, again") as step:
        again = chroot.run(f"cd {place} && ./helix run self-check").must()
        step.detail = again.report_of("versions")
        if "helix: " in again.output:
            raise Wrong(f"the second run set something up: {again.output[:600]}")
    with table.step("root: ./helix test tests/unit/context") as step:
        step.detail = _last_line(chroot.run(f"cd {place} && ./helix test -q tests/unit/context").must())
    with table.step("root: ./helix check") as step:
        step.detail = _last_line(chroot.run(f"cd {place} && ./helix check").must())
    with table.step("root: ./helix doctor, all there") as step:
        chroot.run(f"cd {place} && ./helix doctor").must()
    with table.step("root: make help, make run: the guided demo to its end") as step:
        chroot.install("make")
        chroot.run(f"cd {place} && make help").must()
        done = chroot.run(f"cd {place} && make run").must()
        pictures = len(list((chroot.root / place.lstrip("/") / "build" / "demo").glob("*.png")))
        if not pictures:
            raise Wrong("no picture in build/demo")
        step.detail = f"{pictures} pictures; {_last_line(done)}"


def _as_user(chroot: Chroot, table: Table) -> None:
    with table.step("plain user, no Python: one line, exit 1"):
        place = _clone(chroot, USER)
        line = _command_in(chroot.run(f"cd {place} && ./helix run self-check", user=USER).must(1))
    with table.step("root runs that line") as step:
        step.detail = line
        chroot.run(line).must()
    with table.step("plain user: ./helix run self-check") as step:
        done = chroot.run(f"cd {place} && ./helix run self-check", user=USER).must()
        step.detail = done.report_of("versions")
    with table.step("plain user: ./helix test names what is missing for it") as step:
        line = _command_in(chroot.run(f"cd {place} && ./helix test tests/unit/context", user=USER).must(1))
        step.detail = line
        doctor = chroot.run(f"cd {place} && ./helix doctor", user=USER).must(1)
        if line not in doctor.output:
            raise Wrong(f"the doctor says otherwise: {doctor.output}")
        chroot.run(line).must()
    with table.step("plain user: ./helix test tests/unit/context") as step:
        result = chroot.run(f"cd {place} && ./helix test -q tests/unit/context", user=USER).must()
        step.detail = _last_line(result)
    with table.step("plain user: ./helix doctor, all there"):
        chroot.run(f"cd {place} && ./helix doctor", user=USER).must()


def _complete_suite(chroot: Chroot, table: Table) -> None:
    with table.step("plain user: make test, the whole suite") as step:
        chroot.install("make")
        place = _clone(chroot, USER)
        line = _command_in(chroot.run(f"cd {place} && make test", user=USER).must(2))
        chroot.run(line).must()
        done = chroot.run(f"cd {place} && make test", user=USER, limit=3600)
        log = ROOT / "dist" / "check" / f"door-{chroot.suite}-suite.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.output, encoding="utf-8")
        step.detail = f"{_last_line(done.must())}; dist/check/{log.name}"


def _clone(chroot: Chroot, user: str) -> str:
    """Clone HEAD into a user's home, as that user's own; the path there."""
    folder = chroot.home(user) / "helix"
    # The checkout may belong to another user than root.
    trusting = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    command = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)]
    done = subprocess.run(command, env=os.environ | trusting, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"git clone: {done.stderr.strip()}")
    place = f"/{folder.relative_to(chroot.root)}"
    chroot.run(f"chown -R {user}:{user} {place}").must()
    return place


def _command_in(done: CommandResult, *, sudo: bool = True) -> str:
    """Return the command in the only line that ./helix printed. Raise Wrong."""
    lines = done.output.strip().splitlines()
    pattern = _LINE if sudo else re.compile(_LINE.pattern.replace("sudo ", ""))
    commands = [match[1] for match in map(pattern.match, lines) if match]
    # make adds a line of its own about the failure.
    if len(commands) != 1 or len([line for line in lines if not line.startswith("make: ")]) != 1:
        raise Wrong(f"not one line with one command: {done.output}")
    return commands[0]


def _last_line(done: CommandResult) -> str:
    return done.output.strip().splitlines()[-1]

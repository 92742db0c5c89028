"""./helix package check: installs and runs the products in clean systems, one table per system."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from environment import Environment, SetupFailed, call, locked, say

from check import deb_checks, namespace, script_checks, wine_checks
from check.chroot import SUITES, Chroots
from check.table import Table, Wrong

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "dist" / "check"

Steps = Callable[[Chroots, str, Table], None]
KINDS: dict[str, Steps] = {"door": script_checks.steps, "deb": deb_checks.steps, "windows": wine_checks.steps}
ONLY = {"windows": "trixie"}
"""Kinds that are checked on one system: Wine is new enough there."""
COMPLETE = "--whole"


def build(root: Path, words: Sequence[str]) -> int:
    """Check, as a target of `./helix package`; without words also the wheel, far from the checkout."""
    if words:
        return check(words)
    environment = Environment(root)
    environment.ensure("test")
    tested = call(str(environment.python), "-m", "pytest", "-m", "package", str(root / "tests" / "e2e"))
    return check(words) or tested


def check(arguments: Sequence[str]) -> int:
    """Check the given kinds on the given systems, all by default; return 0 if every step passed."""
    unknown = [word for word in arguments if word not in {*KINDS, *SUITES, COMPLETE}]
    if unknown:
        say(f"check knows {', '.join((*KINDS, *SUITES, COMPLETE))}, not {unknown[0]!r}.")
        return 2
    try:
        if not namespace.is_apart():
            namespace.prepare()
            return namespace.go_apart(arguments)
        namespace.end_on_signals()
        return _check(arguments)
    except SetupFailed as failed:
        say(str(failed))
        return 1
    except KeyboardInterrupt:
        say("stopped; everything is put away.")
        return 130


def _check(arguments: Sequence[str]) -> int:
    kinds = [kind for kind in KINDS if kind in arguments]
    if not kinds:
        kinds = [kind for kind in KINDS if kind != "windows" or wine_checks.is_built()]
        if "windows" not in kinds:
            say("the set-up for Windows is not built, so it is not checked.")
    suites = [suite for suite in SUITES if suite in arguments] or list(SUITES)
    pairs = [(kind, suite) for kind in kinds for suite in suites if ONLY.get(kind, suite) == suite]
    if not pairs:
        say(f"{kinds[0]} is checked on {ONLY[kinds[0]]} only.")
        return 2
    with _alone() as chroots:
        tables = [_run_checks(chroots, kind, suite, arguments) for kind, suite in pairs]
    failures = sum(table.failures for table in tables)
    sys.stdout.write(f"{failures} steps failed\n" if failures else "every step passed\n")
    return 1 if failures else 0


def _run_checks(chroots: Chroots, kind: str, suite: str, arguments: Sequence[str]) -> Table:
    table = Table(f"{kind} {suite}", is_complete=COMPLETE in arguments)
    try:
        KINDS[kind](chroots, suite, table)
    except Wrong as wrong:  # the next steps depend on it: theirs is the failure, other systems continue
        with table.step("what the next steps need"):
            raise wrong
    finally:
        table.write(SHOTS / f"{kind}-{suite}.md")
    return table


@contextmanager
def _alone() -> Iterator[Chroots]:
    """Let one check at a time into this checkout, and remove the files of a killed one."""
    place = ROOT / "build" / "chroots"
    place.mkdir(parents=True, exist_ok=True)
    with locked(place / "lock", "check"):
        chroots = Chroots(place)
        chroots.sweep()
        yield chroots

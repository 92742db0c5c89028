"""Processes that capture a change, record and revert it, and are killed at one step each.

Run as a script: FOLDER SEED STEPS. Forks a process for each of these steps (`A:B:C`, a range): it opens
session and history, checks that what those before it did stands there once and whole, makes one change after
the other, and kills itself at its step; the last one ends by itself. Prints where each was killed; ends
with 1 if a check fails.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helix_desktop.agent.change_recorder import record_captures, record_unrecorded
from helix_desktop.agent.session import Session
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import CallMark, FileChange
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.file_changes.rig import SESSION, open_history
from tests.support.file_changes.tree import describe_recorded, describe_state, walk_tree
from tests.support.session_simulator import create_session

WORKSPACE = "7b0c1a52-5f0e-4c8e-9f30-2f4c8d1e6a11"
_WATCHED = (
    "/file_history/",
    "/agent/changes/",
    "/agent/session.py",
    "/system/file_syscalls.py",
    "/kill_process.py",
)
_CALLS = frozenset(
    (
        *(
            "Connection.execute",
            "Connection.executemany",
            "open",
            "write",
            "fsync",
            "mkdir",
            "rmdir",
            "unlink",
        ),
        *("rename", "replace", "symlink", "link", "chmod", "fchmod", "scandir"),
    )
)
_FUNCTIONS = frozenset(("rename_new", "exchange", "record_decided", "acknowledge"))


class ProcessKiller:
    """Ends the process at the step of this number: before a call that writes, or looks at the disk."""

    def __init__(self, step: int) -> None:
        self.steps = 0
        self._fatal = step
        self.is_armed = False

    def watch(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count one call of a function; the interpreter calls this."""
        if not self.is_armed or not any(part in frame.f_code.co_filename for part in _WATCHED):
            return
        if event == "c_call":
            of_system = getattr(argument, "__module__", "") in ("posix", "io", "_io", None)
            is_step = of_system and getattr(argument, "__qualname__", "") in _CALLS
        else:
            is_step = event == "call" and frame.f_code.co_name in _FUNCTIONS
        if not is_step:
            return
        self.steps += 1
        if self.steps == self._fatal:
            print("killed in", frame.f_code.co_name, flush=True)  # noqa: T201 - it is its voice
            os.kill(os.getpid(), signal.SIGKILL)


async def work(folder: Path, seed: int, killer: ProcessKiller) -> None:
    """Check what is there, then change, capture, record and revert until the end comes."""
    root = folder / "work"
    store = await LevelDbStore.open(folder / "store", WORKSPACE)
    log = await store.events(SESSION)
    scope = TaskScope()
    session = create_session(SESSION, store, lambda: 1_750_000_000_000, scope, log)
    killer.is_armed = True
    history = open_history(folder)
    await history.start()
    await record_unrecorded(session, history)
    killer.is_armed = False
    await check_log(session, history)
    await history.scan(SESSION)
    await record_unrecorded(session, history)
    left = await check_log(session, history)
    assert left == {path: describe_state(entry) for path, entry in walk_tree(root).items()}
    killer.is_armed = True
    choose = random.Random(seed)
    for number in range(2):
        await history.begin_call(CallMark(SESSION, f"call {seed} {number}", "make"))
        change_files(root, choose)
        captured = await history.end_call(SESSION, f"call {seed} {number}")
        await record_captures(session, history, [captured] if captured else [])
        if captured is not None and number:
            plan = await history.plan_revert(captured.list.changes, [captured.capture.id])
            await history.revert(SESSION, plan, {})
            await record_unrecorded(session, history)
    killer.is_armed = False
    await history.close()
    await scope.close()
    await store.close()
    print(killer.steps, "steps", flush=True)  # noqa: T201 - it is its voice


def change_files(root: Path, choose: random.Random) -> None:
    """Make a few changes: new, changed, removed and moved files, folders, links, modes."""
    token = str(choose.random())
    (root / "changed.txt").write_bytes(token.encode() * choose.randint(1, 50))
    folder = root / f"folder{choose.randrange(3)}"
    folder.mkdir(exist_ok=True)
    (folder / "in.txt").write_bytes(token.encode())
    (folder / "in.txt").chmod(choose.choice((0o600, 0o644, 0o755)))
    link = root / "link"
    other = root / f"moved{choose.randrange(3)}.txt"
    link.unlink(missing_ok=True)
    link.symlink_to(choose.choice(("changed.txt", "nowhere")))
    os.replace(folder / "in.txt", other)
    if choose.random() < 0.5:
        folder.rmdir()


async def check_log(session: Session, history: Any) -> dict[str, str]:
    """Assert that each capture stands in the log once, whole, in order; return what it says stands there."""
    events = [entry.event for entry in session.log if isinstance(entry.event, ChangesRecorded)]
    assert all(count == 1 for count in Counter(event.capture for event in events).values())
    left: dict[str, str] = {}
    for event in events:
        for change in (await history.change_list(event.changes)).changes:
            assert describe_recorded(change.before) == left.get(change.path, "nothing"), change.path
            left[change.path] = describe_recorded(change.after)
            await check_contents(history, change)
    return {path: state for path, state in left.items() if state != "nothing"}


async def check_contents(history: Any, change: FileChange) -> None:
    """Assert that both contents of a change are stored and whole."""
    for state in (change.before, change.after):
        if state is not None and state.kind == "file":
            assert state.stored
            assert digest_of(await history.content(state.digest)) == state.digest


def run_killed(folder: Path, seed: int, step: int) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    killer = ProcessKiller(step)
    threading.setprofile(killer.watch)
    sys.setprofile(killer.watch)
    asyncio.run(work(folder, seed, killer))
    os._exit(0)


def main() -> int:
    """Kill one process after the other, then let one end."""
    folder = Path(sys.argv[1])
    first = int(sys.argv[2])
    steps = slice(*map(int, sys.argv[3].split(":")))
    (folder / "work").mkdir(exist_ok=True)
    status = 0
    for seed, step in enumerate(range(steps.start, steps.stop, steps.step), first):
        status = run_killed(folder, seed, step)
        if os.WIFEXITED(status):  # it came to its end, or a check failed
            break
    exit_code = os.waitstatus_to_exitcode(status)
    return max(exit_code, 0) or os.waitstatus_to_exitcode(run_killed(folder, first - 1, -1))


if __name__ == "__main__":
    sys.exit(main())

"""What is captured is the true difference of two snapshots that an independent walker made."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import CallMark, FileChange, FileState
from helix_desktop.system import folders
from tests.support.file_history_rig import changes_by_path, opened_history

States = dict[str, FileState]


def walk(root: Path) -> States:
    states: States = {}
    for folder, below, files in os.walk(root):
        for name in (*below, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode & 0o7777
            if path.is_symlink():
                state = FileState("link", target=os.readlink(path))
            elif path.is_dir():
                state = FileState("folder", mode=mode)
            else:
                data = path.read_bytes()
                state = FileState("file", digest_of(data), len(data), mode)
            states[path.relative_to(root).as_posix()] = state
    return states


def difference(before: States, after: States) -> dict[str, FileChange]:
    """Return the changes that lead from one to the other, by path."""
    return {
        path: FileChange(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    }


NAMES = ("a", "b", "c.txt", "ä")
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
Edit = tuple[str, str, str]


def apply(root: Path, edit: Edit) -> None:
    """Make a change, if there is something that it can be made to."""
    kind, path, other = edit[0], root / edit[1], root / edit[2]
    with suppress(OSError):
        _EDITS[kind](path, other)


def _write(path: Path, other: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(other.name)


def _overwrite(path: Path, other: Path) -> None:
    """Write as many other bytes, and put the time back."""
    found = path.stat()
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _swap(path: Path, other: Path) -> None:
    """Have a link in the place of what it leads to."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


_EDITS: dict[str, Callable[[Path, Path], object]] = {
    "write": _write,
    "append": lambda path, _: path.write_bytes(path.read_bytes() + b"more"),
    "overwrite": _overwrite,
    "delete": lambda path, _: shutil.rmtree(path) if path.is_dir() else path.unlink(),
    "folder": lambda path, _: path.mkdir(parents=True),
    "rename": lambda path, other: path.rename(other),
    "link": lambda path, other: path.symlink_to(other.name),
    "mode": lambda path, _: path.chmod(path.stat().st_mode ^ 0o055),
    "touch": lambda path, _: path.write_bytes(path.read_bytes()),
    "swap": _swap,
}
edits = st.tuples(st.sampled_from(sorted(_EDITS)), paths, paths)


@given(
    first=st.lists(edits, max_size=8),
    outside=st.lists(edits, max_size=3),
    during=st.lists(edits, max_size=6),
    restarts=st.booleans(),
    by_descriptor=st.booleans(),
)
def test_a_capture_is_the_true_difference(
    first: Sequence[Edit],
    outside: Sequence[Edit],
    during: Sequence[Edit],
    restarts: bool,
    by_descriptor: bool,
) -> None:
    """Also where folders are opened by their paths, as on Windows."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(folders, "BY_DESCRIPTOR", by_descriptor and folders.BY_DESCRIPTOR)
        root = Path(folder, "w")
        root.mkdir()
        snapshots = [walk(root)]
        history = stack.enter_context(opened_history(Path(folder)))
        for edit in first:
            apply(root, edit)
        history.scan("s")
        snapshots = [walk(root)]
        for edit in outside:
            apply(root, edit)
        snapshots.append(walk(root))
        if restarts:
            stack.close()
            history = stack.enter_context(opened_history(Path(folder)))
        assert changes_by_path(history.begin_call(CallMark("s", "c"))) == difference(*snapshots)
        for edit in during:
            apply(root, edit)
        snapshots.append(walk(root))
        captured = changes_by_path(history.end_call("s", "c"))
        assert captured == difference(*snapshots[1:])
        assert history.scan("s") is None
        assert history.coverage().is_complete
        for change in captured.values():
            for state in (change.before, change.after):
                if state is not None and state.kind == "file":
                    assert len(history.content(state.digest)) == state.size

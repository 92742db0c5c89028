"""Files that were moved: one row each, with the lines that differ from what they were before."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.domain.file_history.changes import (
    FileChange,
    FileState,
    FileSummary,
    RecordedChanges,
    SessionChanges,
)
from helix_desktop.ui.changes.change_groups import FileRow, group_changes

A, B = FileState("file", "a", 1, 0o644), FileState("file", "b", 1, 0o644)
CAPTURE = RecordedChanges("", "s", 1, 1, 1, 1, "", "command")


def _heads(*lists: tuple[FileChange, ...]) -> dict[str, FileRow]:
    """Return the rows by file of captures, each by its list of changes."""
    captures = tuple(
        replace(CAPTURE, capture_id=f"c{at}", changes=changes) for at, changes in enumerate(lists)
    )
    files: dict[str, FileSummary] = {}
    for change in (change for changes in lists for change in changes):
        file = files.get(change.path, FileSummary(change.path, change.before, None, ()))
        files[change.path] = replace(file, after=change.after)
    grouped = group_changes(SessionChanges("s", captures, tuple(files.values())))
    return {group.head.path: group.head for group in grouped.by_file if group.head is not None}


def _moved(source: str, path: str, state: FileState) -> tuple[FileChange, ...]:
    return FileChange(source, state, None), FileChange(path, None, state, source)


def test_a_moved_file_is_one_row_without_lines() -> None:
    [head] = _heads(_moved("x", "y", A), _moved("y", "z/y", A)).values()
    assert (head.path, head.kind, head.moved_from, head.contents) == ("z/y", "moved", "x", ("a", "a"))
    assert head.capture_ids == ("c0", "c1")


def test_what_was_changed_before_or_after_it_was_moved_is_in_its_row() -> None:
    [head] = _heads((FileChange("x", A, B),), _moved("x", "y", B)).values()
    assert (head.kind, head.contents, head.paths) == ("moved", ("a", "b"), ("y", "x"))
    [head] = _heads(_moved("x", "y", A), (FileChange("y", A, B),)).values()
    assert (head.kind, head.contents, head.capture_ids) == ("moved", ("a", "b"), ("c0", "c1"))


def test_a_file_that_is_back_or_was_new_is_no_other_ones_origin() -> None:
    back = _heads(_moved("x", "y", A), (FileChange("x", None, B),))
    assert {path: (head.kind, head.contents) for path, head in back.items()} == {
        "x": ("changed", ("a", "b")),
        "y": ("created", ("", "a")),
    }
    new = _heads((FileChange("x", None, A),), _moved("x", "y", A))
    assert {path: head.kind for path, head in new.items()} == {"x": "same", "y": "created"}
    gone = _heads(_moved("x", "y", A), (FileChange("y", A, None),))
    assert {path: head.kind for path, head in gone.items()} == {"x": "deleted", "y": "same"}

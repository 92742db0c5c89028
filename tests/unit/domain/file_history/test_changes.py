"""Implied changes, and the direction of a revert."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import FileChange, FileState, RevertDirections, without_implied

FOLDER, FILE = FileState("folder", mode=0o755), FileState(digest="a" * 64, size=3, mode=0o644)


def test_folders_of_new_files_and_the_old_places_of_moved_ones_are_implied() -> None:
    changes = [
        FileChange("docs", before=FOLDER),
        FileChange("docs/a.md", before=FILE),
        FileChange("empty", after=FOLDER),
        FileChange("src", FOLDER, FileState("folder", mode=0o700)),
        FileChange("src/sub", after=FOLDER),
        FileChange("src/sub/a.md", after=FILE, moved_from="docs/a.md"),
    ]
    assert [change.path for change in without_implied(changes)] == ["empty", "src", "src/sub/a.md"]


def test_what_takes_back_a_revert_is_a_redo_and_what_takes_back_that_is_none() -> None:
    directions = RevertDirections()
    assert not directions.add("edit", "tool", "", ())
    assert not directions.add("revert", "revert", "file", ("edit",))
    assert directions.add("redo", "revert", "redo", ("revert",))
    assert directions.add("part", "revert", "hunk", ("revert",)), "a part of a revert"
    assert not directions.add("back", "revert", "redo", ("redo",))
    assert not directions.add("back again", "revert", "hunk", ("part",))
    assert directions.add("the edit again", "revert", "redo", ("edit",))
    assert not directions.add("rewind", "revert", "rewind", ("edit", "revert"))
    assert directions.add("rewind undone", "revert", "redo", ("rewind",))


def test_of_what_is_not_known_the_scope_says_it() -> None:
    directions = RevertDirections()
    assert directions.is_redo("redo", ("elsewhere",))
    assert not directions.is_redo("hunk", ("elsewhere",))
    assert not directions.is_redo("file", ())

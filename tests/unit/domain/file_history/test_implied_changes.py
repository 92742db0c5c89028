"""Of the changes of a call those are listed and counted that no other implies."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import FileChange, FileState, without_implied

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

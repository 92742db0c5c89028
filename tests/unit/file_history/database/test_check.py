"""The full check names what is damaged by its paths, and a repair lets it be stored again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from helix_desktop.domain.file_history.changes import (
    Capture,
    ChangeList,
    DamagedVersion,
    FileChange,
    FileState,
)
from helix_desktop.domain.listeners import no_progress
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.rows import SeenPath
from helix_desktop.file_history.storage import check_history, repair_history


def test_damage_is_named_by_its_paths_and_heals(tmp_path: Path) -> None:
    path = tmp_path / "file-history.db"
    database = FileHistoryDatabase(path, lambda: 1)
    contents = database.contents
    before, after = (FileState(digest=contents.put(data), size=len(data)) for data in (b"old", b"new"))
    lists = [contents.put(ChangeList((FileChange(name, before, after),)).encode()) for name in "ab"]
    for id_, digest in zip("12", lists, strict=True):
        database.captures.add(Capture(id_, "s", "tool", digest, 1))
    database.tree.put([("c", SeenPath(after, b"", False))])
    assert check_history(database, no_progress).is_sound

    direct = sqlite3.connect(path)
    for damaged in (after.digest, lists[1]):
        direct.execute(
            "UPDATE content_data SET data = zeroblob(3)"
            " WHERE id = (SELECT id FROM contents WHERE digest = ?)",
            (bytes.fromhex(damaged),),
        )
    direct.commit()
    found = check_history(database, no_progress)
    assert found.damaged == (DamagedVersion(after.digest, 3, ("a", "c")),)
    assert found.lost_lists == ("2",)
    repair_history(database, found)
    assert database.tree.load()["c"].is_fresh
    contents.put(b"new")
    assert check_history(database, no_progress).is_sound
    assert [capture.id for capture in database.captures.all()] == ["1"]

    direct.execute("PRAGMA writable_schema = ON")
    direct.execute("UPDATE sqlite_schema SET rootpage = 1000 WHERE name = 'captures'")
    direct.commit()
    direct.close()
    database.close()
    database = FileHistoryDatabase(path, lambda: 1)
    assert check_history(database, no_progress).problems or database.damaged_file

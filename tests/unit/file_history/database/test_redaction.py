"""A secret is gone from former versions, from lists, and from the bytes on disk; all else stays."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.file_history.changes import Capture, ChangeList, FileChange, FileState
from helix_desktop.domain.listeners import no_progress
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.rows import SeenPath
from helix_desktop.file_history.storage import HistoryRedaction

NOW = 1_800_000_000_000
SECRET = "hunter2-hunter2"
ENCODED = base64.b64encode(SECRET.encode())


@pytest.fixture
def database(tmp_path: Path) -> FileHistoryDatabase:
    return FileHistoryDatabase(tmp_path / "file-history.db", lambda: NOW)


def state(database: FileHistoryDatabase, data: bytes) -> FileState:
    return FileState(digest=database.contents.put(data), size=len(data))


def redact(database: FileHistoryDatabase, text: str = SECRET) -> HistoryRedaction:
    return HistoryRedaction(database, Redaction(RedactionRequest(text), NOW))


def test_a_secret_is_gone_from_versions_lists_and_disk(database: FileHistoryDatabase, tmp_path: Path) -> None:
    plain, encoded = state(database, SECRET.encode()), state(database, b"key: " + ENCODED)
    clean = state(database, b"clean")
    changes = ChangeList(
        (
            FileChange("a.py", plain, encoded),
            FileChange(f"notes/{SECRET}.md", None, clean),
            FileChange("link", None, FileState("link", target=f"/run/{SECRET}")),
            FileChange("b.py", clean, None),
        )
    )
    with database.write():
        capture = Capture(
            "1", "s", "command", database.contents.put(changes.encode()), NOW, others=(f"curl {SECRET}",)
        )
        database.captures.add(capture)
        database.tree.put([("a.py", SeenPath(encoded, b"stamp", False))])
    (tmp_path / "file-history.db.damaged-20270101-000000").write_bytes(SECRET.encode())

    before = redact(database).preview(no_progress)
    matches = redact(database).redact(no_progress)
    assert before == matches
    assert set(matches.file_versions) == {plain.digest, encoded.digest}
    assert (matches.change_lists, matches.workspace_files) == (("1",), ("a.py",))
    assert matches.store_copies == ("file-history.db.damaged-20270101-000000",)

    for file in tmp_path.iterdir():
        assert SECRET.encode() not in file.read_bytes()
        assert ENCODED not in file.read_bytes()
    with pytest.raises(ContentRedacted, match="2027-01-15"):
        database.contents.get(plain.digest)
    assert database.contents.get(clean.digest) == b"clean"
    assert not database.tree.load()["a.py"].state.stored
    by_old_name = ChangeList.decode(database.contents.get(capture.changes)).changes
    mark = "[FORGOTTEN 2027-01-15]"
    assert [change.path for change in by_old_name] == ["a.py", f"notes/{mark}.md", "link", "b.py"]
    assert [change.is_covered for change in by_old_name] == [True, False, False, True]
    [redacted] = database.captures.all()
    assert redacted.others == (f"curl {mark}",)
    assert database.contents.get(redacted.changes) == database.contents.get(capture.changes)
    assert redact(database).redact(no_progress).is_empty


def test_names_of_files_that_hold_the_secret_are_reported(database: FileHistoryDatabase) -> None:
    """They are the user's, as their contents are; nothing else of them is left."""
    clean, link = state(database, b"clean"), FileState("link", target=f"/run/{SECRET}")
    with database.write():
        database.tree.put(
            [
                (path, SeenPath(seen, b"stamp", False))
                for path, seen in (("a.py", clean), (f"dump-{SECRET}/b", clean), ("current", link))
            ]
        )
    for matches in (redact(database).preview(no_progress), redact(database).redact(no_progress)):
        assert matches.workspace_files == ("current", f"dump-{SECRET}/b")
        assert matches.file_versions == ()
    assert database.contents.get(clean.digest) == b"clean"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_secret_is_found_in_utf_16(database: FileHistoryDatabase, encoding: str) -> None:
    wide = state(database, f"[Grüße]\r\nkey={SECRET}\r\n".encode(encoding))
    packed = state(database, b"-EncodedCommand " + base64.b64encode(f"curl {SECRET}".encode("utf-16-le")))
    matches = redact(database).redact(no_progress)
    assert set(matches.file_versions) == {wide.digest, packed.digest}
    with pytest.raises(ContentRedacted):
        database.contents.get(wide.digest)
    redaction = Redaction(RedactionRequest(SECRET), NOW)
    text = f"a{SECRET}b, ä{SECRET}"
    assert redaction.redact_data(text.encode(encoding)).decode(encoding) == text.replace(
        SECRET, redaction.mark
    )


def test_what_was_removed_is_stored_again_only_when_that_is_allowed(database: FileHistoryDatabase) -> None:
    digest = database.contents.put(SECRET.encode())
    redact(database).redact(no_progress)
    assert database.contents.put(SECRET.encode()) == digest
    assert not database.contents.has(digest)
    assert database.contents.lift(digest)
    database.contents.put(SECRET.encode())
    assert database.contents.has(digest)


def test_an_output_that_is_removed_by_its_digest_is_no_version_of_a_file_either(
    database: FileHistoryDatabase,
) -> None:
    digest, other = database.contents.put(b"the whole file"), database.contents.put(b"another")
    request = RedactionRequest(digests=(digest, digest_of(b"nothing")))
    matches = HistoryRedaction(database, Redaction(request, NOW)).redact(no_progress)
    assert matches.file_versions == (digest,)
    assert database.contents.has(other)


def test_what_a_kill_left_in_the_files_goes_at_the_next_opening(
    database: FileHistoryDatabase, tmp_path: Path
) -> None:
    digest = database.contents.put(SECRET.encode())
    database.begin_purge()
    database.contents.redact(digest)
    assert [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]
    FileHistoryDatabase(tmp_path / "file-history.db", lambda: NOW)
    assert not [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]

"""The stored bytes of a file history that is in use: redacted, checked, cleaned up from beside it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.file_history.changes import (
    CallMark,
    FileCoverageSettings,
    FileHistoryCheck,
    FileHistoryTotals,
)
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.file_history.storage import FileHistoryStorage
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_history_rig import open_history

SECRET = "hunter2-hunter2"


def storage(tmp_path: Path) -> FileHistoryStorage:
    return FileHistoryStorage(tmp_path / "data" / "h.db", wall_clock_ms)


async def test_a_removed_secret_is_not_stored_again_until_its_file_changes(tmp_path: Path) -> None:
    root, secret_places = tmp_path / "w", [("config.py", "secret")]
    root.mkdir()
    (root / "config.py").write_text(f"key = {SECRET!r}")
    (root / "clean.py").write_text("clean")
    async with open_history(tmp_path) as history:
        matches = await storage(tmp_path).redact(Redaction(RedactionRequest(SECRET), 1))
        assert matches.workspace_files == ("config.py",)
        [version] = matches.file_versions
        with pytest.raises(ContentRedacted):
            await history.content(version)
        await history.scan("s")
        changed = asyncio.Event()
        history.listen(changed.set)
        await history.start()
        async with asyncio.timeout(300):
            while [(place.path, place.reason) for place in history.coverage.places] != secret_places:
                await changed.wait()
                changed.clear()
        assert SECRET.encode() not in b"".join(
            path.read_bytes() for path in (tmp_path / "data").glob("h.db*")
        )
        await history.begin_call(CallMark("s", "c", "sed"))
        (root / "config.py").write_text("key = read()")
        captured = await history.end_call("s", "c")
        assert captured is not None
        [change] = captured.list.changes
        assert (change.before is not None and change.before.stored, change.is_covered) == (False, False)
        assert history.coverage.uncovered == 0


async def test_when_the_quota_is_used_up_the_oldest_versions_make_room(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a").write_bytes(bytes_of(0))
    at_ms = wall_clock_ms()
    async with open_history(tmp_path, FileCoverageSettings(quota=9_000), lambda: at_ms) as history:
        for number in range(1, 8):
            at_ms += 3_600_000
            await history.begin_call(CallMark("s", str(number), "sh"))
            (root / "a").write_bytes(bytes_of(number))
            captured = await history.end_call("s", str(number))
            assert captured is not None
            assert captured.list.changes[0].is_covered
        totals = await storage(tmp_path).totals()
        assert totals.stored_size <= 9_000
        assert history.coverage.uncovered == 0


async def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    assert await storage(tmp_path).totals() == FileHistoryTotals()
    assert await storage(tmp_path).check() == FileHistoryCheck()
    assert not (tmp_path / "data").exists()


def bytes_of(number: int) -> bytes:
    """Return two kilobytes that cannot be compressed."""
    return random.Random(number).randbytes(2_000)

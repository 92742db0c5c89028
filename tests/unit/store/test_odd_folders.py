"""Stores in folders with non-English names."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.files import ansi_path

WORKSPACE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("name", ["Jürgen Ω", "名前", "a b"])
async def test_a_store_can_be_created_and_reopened_in_any_folder(tmp_path: Path, name: str) -> None:
    """On Windows LevelDB takes names in the code page, which for a plain Python is not UTF-8."""
    data = b"tide"
    for _ in range(2):
        store = await LevelDbStore.open(tmp_path / name / "store", WORKSPACE)
        await store.commit(Commit("s", contents=[Content(digest_of(data), data)]))
        assert await store.get(digest_of(data)) == data
        await store.close()
    assert (tmp_path / name / "store" / "db" / "CURRENT").is_file()


def test_a_plain_name_is_passed_on_unchanged(tmp_path: Path) -> None:
    assert ansi_path(tmp_path / "db") == str(tmp_path / "db")

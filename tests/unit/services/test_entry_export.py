"""Cached contents as files: names, index, nothing replaced, nothing left of a zip that was given up."""

from __future__ import annotations

import asyncio
import json
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.services.entry_export import ExportedEntries, export_to_folder, export_to_zip, file_name
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, TickingClock

CONTENTS = tuple(
    Content(digest_of(data), data, tool, target, line, 3)
    for tool, target, data, line in (
        ("read_file", "src/app.py", b"import os\n", '"import os"'),
        ("run_command", "make test | tee ../../out; true", b"\x00\xffbytes", '"say "hello""'),
        ("read_file", "../../etc/passwd", b"root\n", "JSON: a, b"),
    )
)
DIGESTS = [content.digest for content in CONTENTS]


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[LevelDbStore]:
    opened = await LevelDbStore.open(tmp_path / "store", WORKSPACE, TickingClock())
    await opened.commit(Commit("s1", contents=list(CONTENTS)))
    yield opened
    await opened.close()


@given(tool=st.text(max_size=20), target=st.text(max_size=200))
def test_a_name_is_a_plain_file_of_any_system(tool: str, target: str) -> None:
    """No separator, no leading dot, no sign that a system forbids; it ends in digest and suffix."""
    digest = digest_of(b"x")
    name = file_name(CacheEntry(0, 0, 1, 1, 1, tool, target, "", "output", digest=digest))
    assert not re.search(r'[/\\:*?"<>|\x00-\x1f]', name)
    assert not name.startswith((".", "-"))
    assert re.search(rf"{digest[:8]}\.[A-Za-z0-9]+$", name)
    assert len(name.encode()) <= 255


async def test_a_folder_gets_every_byte_and_keeps_what_it_has(store: LevelDbStore, tmp_path: Path) -> None:
    """The second time adds nothing; a file of a name that may not be read, and a link, stay as they are."""
    folder = tmp_path / "out"
    outside = tmp_path / "outside"
    folder.mkdir()
    names = [file_name(await store.entry(digest)) for digest in DIGESTS]
    assert names[0].startswith("app-")
    assert names[0].endswith(".py")
    (folder / names[0]).write_bytes(b"mine")
    (folder / names[0]).chmod(0)
    (folder / names[1]).symlink_to(outside)
    done = ExportedEntries(folder)
    await export_to_folder(store, DIGESTS, done)
    (folder / names[0]).chmod(0o600)
    assert (folder / names[0]).read_bytes() == b"mine"
    assert not outside.exists()
    index = json.loads((folder / "index.json").read_text())
    assert [row["sha256"] for row in index["entries"]] == DIGESTS
    assert [(folder / row["file"]).read_bytes() for row in index["entries"]] == [
        content.data for content in CONTENTS
    ]
    assert [row["first_line"] for row in index["entries"]] == ["import os", 'say "hello"', "JSON: a, b"]
    before = set(folder.iterdir())
    await export_to_folder(store, DIGESTS, ExportedEntries(folder))
    assert set(folder.iterdir()) == before
    assert (done.files, done.size) == (3, sum(len(content.data) for content in CONTENTS))
    with pytest.raises(HelixError, match="Couldn't save"):
        await export_to_folder(store, DIGESTS, ExportedEntries(folder / "missing"))


async def test_a_zip_is_complete_or_not_there(store: LevelDbStore, tmp_path: Path) -> None:
    """One that takes the place of another does so at the end; canceled, the former one stays."""
    path = tmp_path / "cache.zip"
    path.write_bytes(b"former")

    def stop(done: int, _total: int) -> None:
        if done == 1:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await export_to_zip(store, DIGESTS, ExportedEntries(path), stop)
    assert path.read_bytes() == b"former"
    assert await asyncio.to_thread(files_in, tmp_path) == {"store", "cache.zip"}
    await export_to_zip(store, [*DIGESTS, DIGESTS[0]], ExportedEntries(path))
    with zipfile.ZipFile(path) as archive:
        index = json.loads(archive.read("index.json"))
        for row, content in zip(index["entries"], (*CONTENTS, CONTENTS[0]), strict=True):
            assert archive.read(row["file"]) == content.data
        assert not [name for name in archive.namelist() if "/" in name]

"""A store's files are deleted or moved while it is open: writes are refused, reads and exports go on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.store.remote.server import SharedStore
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    WORKSPACE,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files can't be deleted there")


async def test_a_deleted_folder_takes_no_writes_and_can_be_exported(tmp_path: Path) -> None:
    content = make_content(b"found" * 1000)
    store = await SharedStore.open(tmp_path / "data" / "store", WORKSPACE)
    commit = Commit("s", [tool_answer_event(1, content.data)], [content], summary=make_summary("s"))
    await store.commit(commit)
    assert await store.health.missing_files() is None
    await store.wait_until_indexed()  # else it may add files meanwhile
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(StoreWriteFailed, match="workspace data is gone") as caught:
        await store.commit(Commit("s", [user_message_event(2)]))
    assert f"{tmp_path / 'data'} was deleted" in caught.value.why
    with pytest.raises(StoreWriteFailed):
        await store.save_draft("s", "typed")
    assert await store.health.missing_files() is not None
    await store.export_to(tmp_path / "saved.helix", "project")
    await store.close()
    assert not (tmp_path / "data").exists()
    other = await SharedStore.open(tmp_path / "other", OTHER_WORKSPACE)
    await other.import_from(tmp_path / "saved.helix")
    assert await other.events("s") == [tool_answer_event(1, content.data)]
    assert await other.get(content.digest) == content.data
    await other.close()


async def test_a_folder_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = await SharedStore.open(folder, WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    folder.rename(tmp_path / "away")
    with pytest.raises(StoreWriteFailed):
        await store.commit(Commit("s", [user_message_event(2)]))
    (tmp_path / "away").rename(folder)
    await store.commit(Commit("s", [user_message_event(2)]))
    await store.close()
    store = await SharedStore.open(folder, WORKSPACE)
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()


async def test_a_copy_in_its_place_stays_as_it_is(tmp_path: Path) -> None:
    """It may be older: what was stored since can be exported, and nothing is mixed."""
    folder, copy = tmp_path / "store", tmp_path / "copy"
    store = await SharedStore.open(folder, WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("search.db*"))  # it may be written now
    await store.commit(Commit("s", [user_message_event(2)], summary=make_summary("s")))
    folder.rename(tmp_path / "away")
    copy.rename(folder)
    before = {path: path.read_bytes() for path in (folder / "db").iterdir()}
    with pytest.raises(StoreWriteFailed, match="workspace data was replaced"):
        await store.commit(Commit("s", [user_message_event(3)]))
    await store.export_to(tmp_path / "saved.helix", "project")
    await store.close()
    assert {path: path.read_bytes() for path in (folder / "db").iterdir()} == before
    assert not (folder / "clean").exists()
    store = await SharedStore.open(folder, WORKSPACE)
    assert await store.events("s") == [user_message_event(1)]
    await store.import_from(tmp_path / "saved.helix")
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()

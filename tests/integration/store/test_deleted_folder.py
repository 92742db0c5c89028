"""A store's files are deleted or moved while it is open: writes are refused, reads and exports go on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.store.commit import Commit
from helix_desktop.store.remote.shared_store import SharedStore
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


@pytest.mark.parametrize("as_copy", [False, True])
async def test_a_folder_that_is_put_back_is_written_again(tmp_path: Path, as_copy: bool) -> None:
    """Whether it is the same one, or a copy of it: what is written to the deleted files would be lost."""
    folder = tmp_path / "store"
    store = await SharedStore.open(folder, WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    folder.rename(tmp_path / "away")
    with pytest.raises(StoreWriteFailed):
        await store.commit(Commit("s", [user_message_event(2)]))
    if as_copy:
        shutil.copytree(tmp_path / "away", folder)
    else:
        (tmp_path / "away").rename(folder)
    await store.commit(Commit("s", [user_message_event(2)]))
    await store.close()
    store = await SharedStore.open(folder, WORKSPACE)
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()

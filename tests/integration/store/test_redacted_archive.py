"""A workspace as one file, without what the user removed from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.store.archive_transfer import export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.words.store_reports import export_summary
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    make_content,
    tool_answer_event,
)


async def test_what_the_user_removed_is_not_lost(tmp_path: Path) -> None:
    """Here and where it is imported; what an archive says was removed may be stored there."""
    secret = b"the key is hunter22-of-tide"
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    events = [tool_answer_event(1, secret), tool_answer_event(2, b"kept")]
    await store.commit(Commit("s", events, [make_content(secret), make_content(b"kept")]))
    await store.redaction.redact(RedactionRequest("hunter22-of-tide"))
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE)
    result = await export_store(store, str(tmp_path / "a.helix"), "", START_MS)
    exported = result.totals
    assert export_summary(result) == "Contains 1 entry and 1 session. Without 1 output that you removed."
    assert (exported.entries, exported.lost, list(exported.removed)) == (1, (), [digest_of(secret)])
    assert exported.missing == tuple(exported.removed), "so that older versions read the file"
    assert (await import_store(other, str(tmp_path / "a.helix"))).missing == ()
    for removed_from in (store, other):
        with pytest.raises(ContentRedacted):
            await removed_from.get(digest_of(secret))
    again = (await export_store(other, str(tmp_path / "b.helix"), "", START_MS)).totals
    assert (again.lost, again.removed) == ((), exported.removed)
    await other.commit(Commit("t", [tool_answer_event(1, secret)], [make_content(secret)]))
    assert await other.get(digest_of(secret)) == secret
    await store.close()
    await other.close()

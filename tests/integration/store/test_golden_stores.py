"""A store that any released version wrote always opens, and gives the same answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, closing_store, user_message_event
from tests.support.store.stored_kinds import holds

FOLDER = Path(__file__).parents[2] / "golden" / "stores"
STORES = sorted(FOLDER.iterdir())


def plain(value: object) -> Any:
    """Return a value as JSON represents it."""
    return json.loads(msgspec.json.encode(value))


@pytest.mark.parametrize("golden", STORES, ids=lambda path: path.name)
async def test_a_golden_store_gives_the_same_answers(golden: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(golden, folder)
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        assert store.health.report is None
        assert holds(plain(await store.totals()), expected["totals"])
        assert holds(plain(await store.sessions()), expected["sessions"])
        for session, log in expected["events"].items():
            assert holds(plain(await store.events(session)), log)
            assert (await store.draft(session)).text == expected["drafts"][session]
        entries = plain((await store.page(limit=1000)).entries)
        assert holds(entries, expected["entries"])
        for entry in expected["entries"]:
            data = await store.get(entry["digest"])
            assert (digest_of(data), len(data)) == (entry["digest"], entry["size"])
        session = expected["sessions"][0]["id"]
        await store.commit(Commit(session, [user_message_event(len(expected["events"][session]) + 1)]))


def test_the_golden_stores_are_unchanged() -> None:
    """Each is small, and contains tables, a log, and contents in one piece and in chunks."""
    assert [path.name for path in STORES] == ["schema-1"]
    for golden in STORES:
        files = [path for path in golden.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < 200_000
        assert {".ldb", ".log"} <= {path.suffix for path in files}
        sizes = [entry["size"] for entry in json.loads((golden / "expected.json").read_text())["entries"]]
        assert min(sizes) == 0
        assert max(sizes) > 1024 * 1024

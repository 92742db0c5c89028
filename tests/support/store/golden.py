"""The store and the archive of the golden files: made of the golden log and contents, and what they hold."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit, Content, PartialOutput
from helix_desktop.store.archive_transfer import export_store
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    make_summary,
    user_message_event,
)

GOLDEN = Path(__file__).parents[2] / "golden"
STORE = GOLDEN / "store"
ARCHIVE = GOLDEN / "archive.helix"
HELD = GOLDEN / "store.json"
"""What the store and the archive hold."""

_BRANCH_SEQ = 11
_PINNED = 3  # contents, from the first one


def golden_log() -> list[RecordedEvent]:
    rows = json.loads((GOLDEN / "log.json").read_text(encoding="utf-8"))
    return [msgspec.convert(row, RecordedEvent) for row in rows]


def golden_contents() -> list[Content]:
    """Return the contents that the golden log names, each with its bytes."""
    rows = json.loads((GOLDEN / "contents.json").read_text(encoding="utf-8"))
    return [_content(row) for row in rows]


def _content(row: dict[str, Any]) -> Content:
    lines = (row["line"].replace("{i}", str(i)) for i in range(1, row.get("count", 0) + 1))
    data = (row.get("text", "") + "".join(lines) + row.get("end", "")).encode()
    if "base64" in row:
        data = base64.b64decode(row["base64"])
    first_line = data.decode(errors="replace").partition("\n")[0][:80]
    assert digest_of(data) == row["digest"]
    return Content(row["digest"], data, row["tool"], row["target"], first_line, len(data) // 4, row["kind"])


async def write_golden_store() -> None:
    """Write the store, the archive and what they hold, as this version does."""
    shutil.rmtree(STORE, ignore_errors=True)
    for fill in (_fill, _fill_more):  # what the first one commits is in tables, the rest in a log
        async with closing_store(await LevelDbStore.open(STORE, WORKSPACE, TickingClock())) as store:
            await fill(store)
    for name in ("owner.lock", "search.db", "db/LOCK", "db/LOG", "db/LOG.old"):
        (STORE / name).unlink(missing_ok=True)
    shutil.rmtree(STORE / "quarantine")
    ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(STORE, Path(folder) / "store")
        async with closing_store(await LevelDbStore.open(copy, WORKSPACE, TickingClock())) as store:
            held = await held_by(store)
            await export_store(store, str(ARCHIVE), "golden", START_MS)
    rows = {name: [json.dumps(row, ensure_ascii=False) for row in part] for name, part in held.items()}
    parts = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in rows.items()]
    HELD.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


async def _fill(store: LevelDbStore) -> None:
    contents = golden_contents()
    log = golden_log()
    first_half = len(log) // 2
    await store.commit(Commit("every-kind", log[:first_half], contents, summary=make_summary("every-kind")))
    await store.commit(Commit("every-kind", log[first_half:], summary=make_summary("every-kind")))


async def _fill_more(store: LevelDbStore) -> None:
    """Add a branch, drafts, pins, a recall, and a session in the trash."""
    contents = golden_contents()
    log = golden_log()
    branched = RecordedEvent(
        _BRANCH_SEQ + 1, START_MS, SessionBranched("every-kind", _BRANCH_SEQ, "A branch", "edit")
    )
    own = RecordedEvent(_BRANCH_SEQ + 2, START_MS, UserSpoke("Otherwise, please.", 4))
    await store.commit(Commit("branch", [branched, own], summary=make_summary("branch")))
    await store.commit(Commit("trashed", [user_message_event(1)], summary=make_summary("trashed")))
    await store.retention.trash_session("trashed")
    notes = contents[2]
    text = notes.data.decode()
    attachment = Attachment(notes.digest, "notes.md", text, notes.tokens, len(notes.data))
    await store.save_draft("every-kind", "typed, not sent", [attachment])
    await store.save_partial_answer("branch", RecordedEvent(_BRANCH_SEQ + 2, START_MS, log[8].event))
    running = [user_message_event(1), RecordedEvent(2, START_MS, log[4].event)]
    await store.commit(Commit("running", running, summary=make_summary("running")))
    await store.save_partial_outputs("running", [PartialOutput("call_1", "half a line", 1200)])
    for content in contents[:_PINNED]:
        await store.retention.pin(content.digest, True)
    await store.commit(Commit("every-kind", recalls=[contents[0].digest]))


async def held_by(store: LevelDbStore) -> dict[str, list[Any]]:
    """Return all that a store holds as JSON would have it: sessions, their logs and drafts, and entries."""
    sessions = [session for session in await store.sessions() if not session.trashed]
    logs = [[session.id, await store.events(session.id)] for session in sessions]
    drafts = [[session.id, await store.draft(session.id)] for session in sessions]
    entries = (await store.page(limit=1000)).entries
    held = {"sessions": sessions, "logs": logs, "drafts": drafts, "entries": entries}
    plain: dict[str, list[Any]] = json.loads(msgspec.json.encode(held))
    return plain

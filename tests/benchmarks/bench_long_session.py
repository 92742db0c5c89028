"""A session of 100,000 messages, from the disk to the chat: the duration and memory of each part."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.text_format import first_line
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from tests.support.store.builders import WORKSPACE

MESSAGES = 100_000
_BATCH = 500
_OUTPUT = "def tide(level: float) -> str:\n    return 'high' if level > 4.0 else 'low'\n" * 12


def events() -> Iterator[Event]:
    """A session that never handed over: a user message, then steps of one call and its output."""
    yield SessionStarted("A long session")
    for number in range(MESSAGES // 4):
        text = f"{number}\n{_OUTPUT}"
        call = ToolCall(f"c{number}", "read_file", f'{{"path": "src/part_{number % 90}.py"}}')
        digest = digest_of(text.encode())
        yield UserSpoke(f"Look at part {number}, please.", 8)
        yield AssistantSpoke("I read it.", "demo/offline", 12, calls=(call,))
        yield ToolAnswered(
            call.id, "read_file", text, digest, len(text), 300, 45, "src/part.py", first_line(text)
        )
        yield AssistantSpoke(f"Part {number} is **fine**: it says when the tide is high.", "demo/offline", 14)


async def store_session(place: Path) -> None:
    """Store the session `long` in a new store."""

    store = await LevelDbStore.open(place, WORKSPACE)
    recorded = [RecordedEvent(seq, seq, event) for seq, event in enumerate(events(), 1)]
    for at in range(0, len(recorded), _BATCH):
        batch = recorded[at : at + _BATCH]
        texts = [entry.event.text.encode() for entry in batch if isinstance(entry.event, ToolAnswered)]
        await store.commit(Commit("long", batch, [Content(digest_of(text), text) for text in texts]))
    await store.close()


async def _read(place: Path) -> tuple[list[RecordedEvent], float, float]:
    started = time.perf_counter()
    store = await LevelDbStore.open(place, WORKSPACE)
    opened = time.perf_counter() - started
    started = time.perf_counter()
    log = await store.events("long")
    duration = time.perf_counter() - started
    await store.close()
    return log, opened, duration


def main() -> list[tuple[str, float, str]]:
    """Seconds for each part; only the projection is paid again at each request."""
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(store_session(Path(place)))
        log, opened, read = asyncio.run(_read(Path(place)))
    started = time.perf_counter()
    transcript = Transcript(log)
    reduced = time.perf_counter() - started
    started = time.perf_counter()
    _, rows = rows_from_log(log)
    shown_after = time.perf_counter() - started
    started = time.perf_counter()
    project(transcript, ContextPolicy(), PromptFrame(ModelInfo("demo", "offline"), "system"))
    projected = time.perf_counter() - started
    return [
        ("long session: open the store", opened * 1000, "ms"),
        (f"long session: read {len(log):,} events from LevelDB", read * 1000, "ms, in a thread"),
        ("long session: reduce them to a transcript", reduced * 1000, "ms"),
        (f"long session: make {len(rows):,} chat rows", shown_after * 1000, "ms, in a thread"),
        ("long session: project a window of all of them", projected * 1000, "ms; handovers keep it small"),
    ]

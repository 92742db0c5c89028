"""Writes data folders with very many sessions or outputs, through the store itself, without a turn.

`big_workspaces.py DATA_DIR many-sessions [SESSIONS]` adds a workspace of sessions as an import leaves them,
40 outputs each; `big_workspaces.py DATA_DIR one-session [OUTPUTS]` one whose only session holds all outputs,
most of them behind summaries. The project folders are made beside the data, and trusted.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import SUMMARY_TEXT_VERSION, Bullet, HandoverMade, Section
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content, SessionSummary
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

SESSIONS = 5_000
OUTPUTS_PER_SESSION = 40
OUTPUTS = SESSIONS * OUTPUTS_PER_SESSION
OUTPUTS_PER_TURN = 5
SESSION_ID = "session-000000"
"""Of the session that holds all outputs."""
_OUTPUTS_PER_SUMMARY = 400
_EVENTS_AT_ONCE = 2_000  # in one commit
_WORDS = Path(statistics.__file__).read_text(encoding="utf-8").split()


def add_workspace(data_dir: Path, name: str) -> tuple[WorkspaceRecord, Path]:
    """Register a trusted project folder beside the data; return its record and the folder of its store."""
    project = data_dir.parent / name
    project.mkdir(parents=True, exist_ok=True)
    registry = WorkspaceRegistry(data_dir / "workspaces", wall_clock_ms)
    record = registry.add(project, trusted=True)
    return record, registry.store_folder(record.id)


async def add_many_sessions(data_dir: Path, sessions: int = SESSIONS) -> WorkspaceRecord:
    """Add the workspace `many-sessions`; its sessions have no count of their window, as after an import."""
    record, folder = add_workspace(data_dir, "many-sessions")
    store = await LevelDbStore.open(folder, record.id, index_after_s=None)
    first_ms = wall_clock_ms() - sessions * 60_000
    for number in range(sessions):
        writer = _SessionWriter(f"session-{number:06d}", first_ms + number * 60_000)
        for _ in range(OUTPUTS_PER_SESSION // OUTPUTS_PER_TURN):
            writer.add_turn()
        await store.commit(writer.take(with_summary=True))
    await store.close()
    return record


async def add_one_session(data_dir: Path, outputs: int = OUTPUTS) -> WorkspaceRecord:
    """Add the workspace `one-session`, whose only session has all outputs, in turns, with its summaries."""
    record, folder = add_workspace(data_dir, "one-session")
    store = await LevelDbStore.open(folder, record.id, index_after_s=None)
    writer = _SessionWriter(SESSION_ID, wall_clock_ms() - outputs * 1_000)
    for number in range(0, outputs, OUTPUTS_PER_TURN):
        if number and number % _OUTPUTS_PER_SUMMARY == 0:
            writer.add_summary()
        writer.add_turn()
        if writer.waiting >= _EVENTS_AT_ONCE:
            await store.commit(writer.take())
    await store.commit(writer.take(with_summary=True))
    await store.close()
    return record


class _SessionWriter:
    """Makes the log of one session, and the contents that it names, a commit at a time."""

    def __init__(self, session_id: str, started_ms: int) -> None:
        self._id = session_id
        self._title = f"Look into {session_id}"
        self._rng = random.Random(session_id)
        self._started_ms = started_ms
        self._seq = 0
        self._outputs = 0
        self._messages = 0
        self._events: list[RecordedEvent] = []
        self._contents: list[Content] = []
        self._add(SessionStarted(self._title))

    @property
    def waiting(self) -> int:
        """The number of events that no commit has taken yet."""
        return len(self._events)

    def add_turn(self) -> None:
        text = f"Please look into this: {self._prose(30)}"
        self._add(UserSpoke(text, _tokens(text)))
        for _ in range(OUTPUTS_PER_TURN):
            self._add_step()
        text = f"Done. {self._prose(40)}"
        self._add(AssistantSpoke(text, "demo/offline", _tokens(text)))
        self._add(TurnEnded("done"))
        self._messages += 2

    def add_summary(self) -> None:
        """Put a handover in place of all that came before."""
        index = f"index of {self._id} up to {self._seq}".encode()
        digest = digest_of(index)
        bullets = tuple(Bullet(self._prose(20), (self._seq,)) for _ in range(6))
        sections = (Section("Completed Work", bullets),)
        threshold = HandoverTrigger.THRESHOLD
        made = HandoverMade(
            *(self._seq, 0, sections, "ledger", digest, 1, 9, 100_000, 500, 3, "m", threshold),
            text_version=SUMMARY_TEXT_VERSION,
        )
        self._contents.append(Content(digest, index, kind="index"))
        self._add(made)

    def take(self, with_summary: bool = False) -> Commit:
        """Return what is waiting as one commit, the last one with the line of the list."""
        summary = None
        if with_summary:
            summary = SessionSummary(
                self._id,
                self._title,
                self._started_ms,
                self._started_ms + self._seq,
                messages=self._messages,
                calls=self._outputs,
                events=self._seq,
            )
        commit = Commit(self._id, self._events, self._contents, summary=summary)
        self._events = []
        self._contents = []
        return commit

    def _add_step(self) -> None:
        self._outputs += 1
        path = f"src/part_{self._rng.randrange(400)}.py"
        call = ToolCall(f"call-{self._outputs}", "read_file", f'{{"path": "{path}"}}')
        self._add(AssistantSpoke("", "demo/offline", 12, calls=(call,)))

        lines = [f"{number} {self._prose(9)}" for number in range(1, 12)]
        text = "\n".join([f"{self._id} {self._outputs}", *lines])
        data = text.encode()
        digest = digest_of(data)
        tokens = _tokens(text)
        self._contents.append(Content(digest, data, "read_file", path, lines[0], tokens))
        self._add(
            ToolAnswered(
                call.id,
                call.name,
                text,
                digest,
                len(data),
                tokens,
                marker_tokens=45,
                target=path,
                first_line=lines[0],
            )
        )

    def _prose(self, words: int) -> str:
        at = self._rng.randrange(len(_WORDS) - words)
        return " ".join(_WORDS[at : at + words])

    def _add(self, event: Event) -> None:
        self._seq += 1
        self._events.append(RecordedEvent(self._seq, self._started_ms + self._seq, event))


def _tokens(text: str) -> int:
    return len(text) // 4


_MAKERS = {"many-sessions": add_many_sessions, "one-session": add_one_session}


def _main(arguments: list[str]) -> None:
    data_dir, kind, *size = arguments
    started = time.perf_counter()
    make = _MAKERS[kind]
    record = asyncio.run(make(Path(data_dir).absolute(), *map(int, size)))
    took_s = time.perf_counter() - started
    sys.stdout.write(f"{record.path}  {record.id}  {took_s:.0f} s\n")


if __name__ == "__main__":
    _main(sys.argv[1:])

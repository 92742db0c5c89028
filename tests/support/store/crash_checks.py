"""Kills a writing process at a random moment and looks whether anything acknowledged is gone."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import plyvel

from helix_desktop.domain.digest import digest_of
from helix_desktop.store.kinds import DIGEST_BYTES
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE

WRITER_SCRIPT = Path(__file__).with_name("writer_process.py")
RETENTION_SCRIPT = Path(__file__).with_name("retention_process.py")

AcknowledgedCommits = dict[str, list[tuple[int, str, int]]]
"""Per session: seq, digest and length of each acknowledged commit."""


def kill_writer(
    folder: Path, seed: int, max_wait_s: float = 0.4, script: Path = WRITER_SCRIPT
) -> AcknowledgedCommits:
    """Let a process write for a random time, kill it, and return its acknowledged commits."""
    wait_s = random.Random(seed).uniform(0.0, max_wait_s)
    command = [sys.executable, str(script), str(folder), WORKSPACE, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        try:
            child.wait(wait_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        output = first + child.stdout.read()
    assert child.returncode == -signal.SIGKILL, "the writer ended by itself"
    commits: AcknowledgedCommits = {}
    complete_lines = output[: output.rfind(b"\n") + 1].decode()
    for line in complete_lines.splitlines():
        session_id, seq, digest, length = line.split()
        commits.setdefault(session_id, []).append((int(seq), digest, int(length)))
    return commits


async def check_acknowledged(store: LevelDbStore, acknowledged: AcknowledgedCommits) -> int:
    """Assert that every acknowledged commit is stored completely; return how many there were."""
    listed = {session.id: session.updated for session in await store.sessions()}
    for session_id, commits in acknowledged.items():
        events = await store.events(session_id)
        assert [seq for seq, _, _ in commits] == list(range(1, len(commits) + 1))
        assert len(events) >= len(commits)
        assert listed[session_id] == len(events)
        for seq, digest, length in commits:
            data = await store.get(digest)
            assert (len(data), digest_of(data)) == (length, digest)
            entry = await store.entry(digest)
            assert (entry.references, entry.recalls, entry.size) == (1, 1, length)
            assert digest in events[seq - 1].event.__repr__()
    return sum(len(commits) for commits in acknowledged.values())


def check_row_consistency(folder: Path) -> None:
    """Assert, in a closed store, that rows which were written together are there together."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
    try:
        by_kind: dict[bytes, set[bytes]] = {}
        for key in db.iterator(include_value=False):
            by_kind.setdefault(key[:1], set()).add(key)
    finally:
        db.close()
    contents = {key[1:] for key in by_kind[b"b"]}
    assert contents == {key[1:] for key in by_kind[b"m"]}
    assert contents == {key[-DIGEST_BYTES:] for key in by_kind[b"t"]}
    assert len(contents) == len(by_kind[b"t"])
    forwards = {(key[33:], key[1:33]) for key in by_kind[b"r"]}
    assert forwards == {(key[1:-32], key[-32:]) for key in by_kind[b"R"]}
    assert {key[1:] for key in by_kind[b"e"]} == {place for place, _ in forwards}

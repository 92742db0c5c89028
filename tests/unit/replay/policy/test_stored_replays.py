"""Replays on disk: there again for the same session in the same state, and never for another one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay.policy.policy_replay import SessionFacts
from helix_desktop.replay.policy.session_replays import FOLDER, MAX_SESSIONS, StoredReplays
from tests.support.policy_replay import replay_policy

MODEL = ModelInfo("test", "small", 12_000, reserve=0)
FACTS = SessionFacts(MODEL, 100)
SESSION = "0" * 32


def log_of(*texts: str) -> list[RecordedEvent]:
    """A session with an answer to each text."""
    events: list[Event] = [SessionStarted("A session")]
    for text in texts:
        events += [UserSpoke(text, 50), AssistantSpoke("An answer.", "test/small", 150)]
    return [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events, 1)]


LOG = log_of("One", "Two", "Three")
REPLAYS = {policy: replay_policy(LOG, policy, MODEL, 100) for policy in PROFILES.values()}


def test_the_same_session_gets_its_replays_back(tmp_path: Path) -> None:
    stored = StoredReplays(tmp_path)
    assert stored.load(SESSION, LOG, FACTS) == {}
    stored.save(SESSION, LOG, FACTS, REPLAYS)
    assert StoredReplays(tmp_path).load(SESSION, log_of("One", "Two", "Three"), FACTS) == REPLAYS


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (log_of("One", "Two"), FACTS),
        (log_of("One", "Two", "Three", "Four"), FACTS),
        (log_of("One", "[removed]", "Three"), FACTS),
        (LOG, replace(FACTS, fixed_tokens=200)),
        (LOG, replace(FACTS, info=replace(MODEL, window=9_000))),
    ],
    ids=["shorter", "longer", "with a secret removed", "with other tools", "for another model"],
)
def test_a_session_that_changed_gets_none(
    tmp_path: Path, log: Sequence[RecordedEvent], facts: SessionFacts
) -> None:
    stored = StoredReplays(tmp_path)
    stored.save(SESSION, LOG, FACTS, REPLAYS)
    assert stored.load(SESSION, log, facts) == {}


def test_another_version_of_the_app_reads_none(tmp_path: Path) -> None:
    """It may decide otherwise."""
    StoredReplays(tmp_path, version="0.0.1").save(SESSION, LOG, FACTS, REPLAYS)
    assert StoredReplays(tmp_path).load(SESSION, LOG, FACTS) == {}


@pytest.mark.parametrize("size", [0, 5, -1])
def test_a_damaged_file_counts_as_none(tmp_path: Path, size: int) -> None:
    stored = StoredReplays(tmp_path)
    stored.save(SESSION, LOG, FACTS, REPLAYS)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_bytes(path.read_bytes()[:size])
    assert stored.load(SESSION, LOG, FACTS) == {}
    stored.save(SESSION, LOG, FACTS, REPLAYS)
    assert stored.load(SESSION, LOG, FACTS) == REPLAYS


def test_only_the_sessions_saved_last_are_kept(tmp_path: Path) -> None:
    stored = StoredReplays(tmp_path)
    names = [f"{number:032x}" for number in range(MAX_SESSIONS + 2)]
    for number, name in enumerate(names):
        stored.save(name, LOG, FACTS, REPLAYS)
        os.utime(tmp_path / FOLDER / f"{name}.msgpack", (number, number))
    stored.save(names[2], LOG, FACTS, REPLAYS)  # the oldest that is left
    stored.save("f" * 32, LOG, FACTS, REPLAYS)
    remaining = [name for name in names if stored.load(name, LOG, FACTS)]
    assert remaining == [names[2], *names[4:]]


def test_nothing_is_made_where_the_workspace_is_gone(tmp_path: Path) -> None:
    """As on a drive that was taken out: what is made there would stand in its place."""
    StoredReplays(tmp_path / "gone").save(SESSION, LOG, FACTS, REPLAYS)
    assert list(tmp_path.iterdir()) == []

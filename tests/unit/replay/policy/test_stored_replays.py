"""Replays on disk: there again for the same session in the same state, and never for another one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay.policy.policy_replay import PolicyReplay
from helix_desktop.replay.policy.session_replays import FOLDER, MAX_SESSIONS, StoredReplays
from helix_desktop.replay.recording import SessionFacts
from tests.support.policy_replay import replay_policy

MODEL = ModelInfo("test", "small", 12_000, reserve=0)
FACTS = SessionFacts(MODEL, 100)
SESSION = "0" * 32
Replays = Mapping[ContextPolicy, PolicyReplay]


def log_of(*texts: str) -> list[RecordedEvent]:
    """A session with an answer to each text."""
    events: list[Event] = [SessionStarted("A session")]
    for text in texts:
        events += [UserSpoke(text, 50), AssistantSpoke("An answer.", "test/small", 150)]
    return [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events, 1)]


LOG = log_of("One", "Two", "Three")


@pytest.fixture(scope="module")
def replays() -> Replays:
    return {policy: replay_policy(LOG, policy, MODEL, 100) for policy in PROFILES.values()}


def test_the_same_session_gets_its_replays_back(tmp_path: Path, replays: Replays) -> None:
    stored = StoredReplays(tmp_path)
    assert stored.load(SESSION, LOG, FACTS) == {}
    stored.save(SESSION, LOG, FACTS, replays)
    assert StoredReplays(tmp_path).load(SESSION, log_of("One", "Two", "Three"), FACTS) == replays


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
    tmp_path: Path, log: Sequence[RecordedEvent], facts: SessionFacts, replays: Replays
) -> None:
    stored = StoredReplays(tmp_path)
    stored.save(SESSION, LOG, FACTS, replays)
    assert stored.load(SESSION, log, facts) == {}


def test_another_version_of_the_app_reads_none(tmp_path: Path, replays: Replays) -> None:
    """It may decide otherwise."""
    StoredReplays(tmp_path, version="0.0.1").save(SESSION, LOG, FACTS, replays)
    assert StoredReplays(tmp_path).load(SESSION, LOG, FACTS) == {}


@pytest.mark.parametrize("size", [0, 5, -1])
def test_a_damaged_file_counts_as_none(tmp_path: Path, size: int, replays: Replays) -> None:
    stored = StoredReplays(tmp_path)
    stored.save(SESSION, LOG, FACTS, replays)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_bytes(path.read_bytes()[:size])
    assert stored.load(SESSION, LOG, FACTS) == {}
    stored.save(SESSION, LOG, FACTS, replays)
    assert stored.load(SESSION, LOG, FACTS) == replays


def test_only_the_sessions_saved_last_are_kept(tmp_path: Path, replays: Replays) -> None:
    stored = StoredReplays(tmp_path)
    names = [f"{number:032x}" for number in range(MAX_SESSIONS + 2)]
    for number, name in enumerate(names):
        stored.save(name, LOG, FACTS, replays)
        os.utime(tmp_path / FOLDER / f"{name}.msgpack", (number, number))
    stored.save(names[2], LOG, FACTS, replays)  # the oldest that is left
    stored.save("f" * 32, LOG, FACTS, replays)
    remaining = [name for name in names if stored.load(name, LOG, FACTS)]
    assert remaining == [names[2], *names[4:]]


def test_nothing_is_made_where_the_workspace_is_gone(tmp_path: Path, replays: Replays) -> None:
    """As on a drive that was taken out: what is made there would stand in its place."""
    StoredReplays(tmp_path / "gone").save(SESSION, LOG, FACTS, replays)
    assert list(tmp_path.iterdir()) == []

"""Replays of outputs that came in a short form: whether they would have is the policy's decision, too."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
from helix_desktop.replay.policy.line_tokens import LineTokenCounter
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.policy.session import SessionFacts
from helix_desktop.replay.recording import with_turn_ends

MODEL = ModelInfo("replay", "recorded", 128_000)


def messages() -> list[dict[str, Any]]:
    """Twelve reads, each third of a file of some 6,000 tokens."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Read them."}]
    for number in range(12):
        lines = 700 if number % 3 == 0 else 20
        text = "\n".join(f"value_{number}_{line} = compute({line})" for line in range(lines))
        call = {"id": f"c{number}", "name": "Read", "arguments": f'{{"file_path": "f{number}.py"}}'}
        found.append({"role": "assistant", "content": "I read.", "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{number}", "name": "Read", "content": text})
    return [*found, {"role": "assistant", "content": "All of them are read."}]


def recorded_under(profile: str) -> list[RecordedEvent]:
    """The log of the session when a profile was in force."""
    with closing(Replayer(profile, MODEL.window)) as replayer:
        for message, is_turn_end in with_turn_ends(messages()):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return list(replayer.session.log)


def replay_of(log: list[RecordedEvent]) -> SessionReplay:
    """A replay of a log."""
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    replay.add(log)
    return replay


def test_off_sends_in_full_what_the_policy_in_force_had_shortened() -> None:
    """As if it had been off from the start: it said that it sends every request unchanged."""
    log = recorded_under("balanced")
    outputs = [recorded.event for recorded in log if isinstance(recorded.event, ToolAnswered)]
    assert sum(output.form == "preview" for output in outputs) == 4
    short, full = replay_of(log), replay_of(recorded_under("off"))
    off = PROFILES["off"]
    assert [point.tokens for point in short.run(off).points] == [
        point.tokens for point in full.run(off).points
    ]
    assert short.approximate(off).sent == short.run(off).sent


@pytest.mark.parametrize("profile", ["lean", "balanced"])
def test_a_policy_that_shortens_it_too_has_it_as_it_came(profile: str) -> None:
    replay = replay_of(recorded_under("balanced"))
    largest = max(point.tokens for point in replay.run(PROFILES[profile]).points)
    assert largest < max(point.tokens for point in replay.run(PROFILES["off"]).points) / 2
    assert replay.approximate(PROFILES[profile]).sent < replay.approximate(PROFILES["off"]).sent / 2

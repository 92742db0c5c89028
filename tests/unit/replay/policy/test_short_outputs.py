"""Replays of outputs that came in a short form: whether they would have is the policy's decision, too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.recording import SessionFacts, with_turn_ends
from helix_desktop.replay.token_counters import LineTokenCounter

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


def recorded_under(profile: str, session: Sequence[dict[str, Any]] = ()) -> list[RecordedEvent]:
    with closing(Replayer(profile, MODEL.window)) as replayer:
        for message, is_turn_end in with_turn_ends([*session] or messages()):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return list(replayer.session.log)


def replay_of(log: list[RecordedEvent]) -> SessionReplay:
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


@pytest.mark.parametrize("profile", ["lean", "balanced"])
def test_a_policy_shortens_what_came_in_full_while_it_was_off(profile: str) -> None:
    """As if it had been in force from the start: it said that large outputs stay whole."""
    full, short = replay_of(recorded_under("off")), replay_of(recorded_under(profile))
    policy = PROFILES[profile]
    assert [point.tokens for point in full.run(policy).points] == [
        point.tokens for point in short.run(policy).points
    ]
    estimated, exact = full.approximate(policy).sent, full.run(policy).sent
    assert abs(estimated - exact) < exact * 0.1


def test_a_lower_threshold_shortens_more() -> None:
    replay = replay_of(recorded_under("balanced"))
    policy = PROFILES["balanced"]
    lower = replace(policy, intake_above=100, preview_tokens=100)
    assert replay.run(lower).sent < replay.run(policy).sent
    assert replay.approximate(lower).sent < replay.approximate(policy).sent


def test_names_that_only_the_whole_output_has_are_not_in_a_preview() -> None:
    """Line 350 of a file of 700 is in no preview of it, and the agent asks for what stands there."""
    search_call = {"id": "c99", "name": "Grep", "arguments": '{"pattern": "value_0_350"}'}
    session = [
        *messages()[:3],
        {"role": "assistant", "content": "Where is it used?", "tool_calls": [search_call]},
        {"role": "tool", "tool_call_id": "c99", "name": "Grep", "content": "No match."},
        {"role": "assistant", "content": "Nowhere."},
    ]
    replay = replay_of(recorded_under("off", session))
    assert replay.run(PROFILES["off"]).coverage == 1.0
    assert (replay.run(PROFILES["balanced"]).coverage or 0.0) < 1.0

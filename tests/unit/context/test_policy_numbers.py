"""A policy is read from TOML, or refused with an error that names the field."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomlkit
from hypothesis import given

import helix_desktop
from helix_desktop.context.policy_numbers import (
    FIELDS,
    PROFILES,
    ContextPolicy,
    managed_window,
    policy_fields,
    policy_from,
)
from tests.support.histories import policies
from tests.support.tables import for_each


@given(policies())
def test_a_policy_survives_its_file(policy: ContextPolicy) -> None:
    """Written to TOML and read back it is the same."""
    assert policy_from(tomllib.loads(tomlkit.dumps(policy_fields(policy)))) == policy


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_needs_no_numbers(name: str) -> None:
    """A file with only a profile means that profile, and a profile is written as its name alone."""
    assert policy_from({"profile": name}) == PROFILES[name]
    assert policy_fields(PROFILES[name]) == {"profile": name}


def test_a_field_of_an_earlier_version_changes_nothing() -> None:
    """No other unknown field is accepted: it may be a typing error."""
    assert policy_from({"protect_steps": 7, "ask_above": 1_000}) == policy_from({"protect_steps": 7})
    with pytest.raises(ValueError, match="ask_abov"):
        policy_from({"ask_abov": 1_000})


def test_an_empty_file_is_the_balanced_profile() -> None:
    """The default is Balanced, with the measured numbers."""
    policy = policy_from({})
    assert policy == PROFILES["balanced"]
    assert (policy.protect_steps, policy.protect_tokens, policy.least_saving) == (4, 1_600, 100)
    assert (policy.handover_at, policy.handover_cooldown_s, policy.handover_least_messages) == (0.85, 60, 8)


@for_each(
    ("fields", "field_name"),
    [
        ({"profile": "fast"}, "profile"),
        ({"profile": ["lean"]}, "profile"),
        ({"profile": 3}, "profile"),
        ({"protect_stepz": 3}, "protect_stepz"),
        ({"protect_steps": "three"}, "protect_steps"),
        ({"protect_steps": -1}, "protect_steps"),
        ({"protect_steps": 2.5}, "protect_steps"),
        ({"enabled": 1}, "enabled"),
        ({"sweep": "sometimes"}, "sweep"),
        ({"handover_at": 0.99}, "handover_at"),
        ({"handover_at": float("nan")}, "handover_at"),
        ({"handover_keep": 0.0}, "handover_keep"),
        ({"sweep_min": 3_000, "sweep_max": 2_000}, "sweep_min"),
        ({"manage_at_most": 7_999}, "manage_at_most"),
        ({"manage_at_most": -1}, "manage_at_most"),
    ],
)
def test_invalid_fields_are_named(fields: dict[str, Any], field_name: str) -> None:
    with pytest.raises(ValueError, match=field_name):
        policy_from(fields)


@pytest.mark.parametrize("name", FIELDS)
def test_the_engine_reads_each_field(name: str) -> None:
    package = Path(helix_desktop.__file__).parent
    modules = [path for folder in ("agent", "context") for path in (package / folder).rglob("*.py")]
    reads = re.compile(rf"\b(?:policy|self)\.{name}\b")
    assert any(reads.search(path.read_text("utf-8")) for path in modules), f"{name} changes nothing"


@for_each(
    ("manage_at_most", "model_window", "managed"),
    [
        (128_000, 1_000_000, 128_000),
        (128_000, 128_000, 128_000),
        (128_000, 32_000, 32_000),
        (256_000, 200_000, 200_000),
        (256_000, 1_000_000, 256_000),
        (0, 1_000_000, 1_000_000),
        (8_000, 128_000, 8_000),
    ],
)
def test_the_managed_window_is_a_part_of_the_models(
    manage_at_most: int, model_window: int, managed: int
) -> None:
    """Numbers shrink with what is managed, as they do with a small model."""
    policy = ContextPolicy(manage_at_most=manage_at_most)
    assert managed_window(policy, model_window) == managed
    own = policy_from({"manage_at_most": 0}).scaled(managed)
    assert policy.scaled(model_window) == msgspec.structs.replace(own, manage_at_most=manage_at_most)
    assert policy.is_large(int(managed * policy.preview_above) + 1, model_window)


def test_the_default_manages_128k_and_a_policy_that_is_off_manages_nothing() -> None:
    assert {managed_window(policy, 1_000_000) for policy in PROFILES.values() if policy.enabled} == {128_000}
    assert managed_window(PROFILES["off"], 1_000_000) == 1_000_000


def test_subagents_keep_to_the_managed_window_of_their_workspace() -> None:
    subagents = ContextPolicy(manage_at_most=256_000).for_subagents()
    assert subagents is not None
    assert (subagents.profile, managed_window(subagents, 1_000_000)) == ("lean", 256_000)

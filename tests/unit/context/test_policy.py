"""A policy is what a TOML file says, or an error that names the field."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given

from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_fields, policy_from
from tests.support.histories import policies


@given(policies())
def test_a_policy_survives_its_file(policy: ContextPolicy) -> None:
    """Written to TOML and read back it is the same."""
    assert policy_from(tomllib.loads(tomlkit.dumps(policy_fields(policy)))) == policy


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_needs_no_numbers(name: str) -> None:
    """A file that names only its profile means that profile, and a profile is written as its name alone."""
    assert policy_from({"profile": name}) == PROFILES[name]
    assert policy_fields(PROFILES[name]) == {"profile": name}


def test_an_empty_file_is_balanced() -> None:
    """The default is Balanced, with the numbers that were measured."""
    policy = policy_from({})
    assert policy == PROFILES["balanced"]
    assert (policy.protect_steps, policy.protect_tokens, policy.least_saving) == (10, 8_000, 100)
    assert (policy.handover_at, policy.handover_cooldown_s, policy.handover_least_messages) == (0.85, 60, 8)


@pytest.mark.parametrize(
    ("fields", "named"),
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
    ],
)
def test_nonsense_is_named(fields: dict[str, Any], named: str) -> None:
    """A wrong field is an error that says which."""
    with pytest.raises(ValueError, match=named):
        policy_from(fields)

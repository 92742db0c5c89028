"""The policy of a workspace: every number by which its window is managed.

Defaults and profiles are those of CONTEXT.md 3.5, measured by replay. Fields of mechanisms that are not built
yet are not here: a setting without an effect would be a lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

SweepMode = Literal["rent", "fixed", "at once"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of one workspace; tokens unless a name says otherwise. Raises ValueError on nonsense."""

    profile: str = "balanced"
    enabled: bool = True
    least_saving: int = 100
    protect_steps: int = 10
    protect_tokens: int = 8_000
    sweep: SweepMode = "rent"
    sweep_min: int = 2_000
    sweep_max: int = 20_000
    sweep_fixed: int = 10_000
    handover_at: float = 0.85
    handover_cooldown_s: int = 60
    handover_least_messages: int = 8
    handover_least_gain: float = 0.10
    handover_keep: float = 0.10
    user_text_tokens: int = 20_000
    ledger_tokens: int = 600
    preview_above: float = 0.25
    preview_tokens: int = 600

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work together."""
        for name, low, high in _SHARES:
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must lie between {low} and {high}")
        for name in _COUNTS:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        if self.sweep_min > self.sweep_max:
            raise ValueError("sweep_min must not be above sweep_max")


_SHARES = (
    ("handover_at", 0.30, 0.95),
    ("handover_least_gain", 0.0, 0.5),
    ("handover_keep", 0.02, 0.5),
    ("preview_above", 0.05, 0.8),
)
_COUNTS = (
    "least_saving",
    "protect_steps",
    "protect_tokens",
    "sweep_min",
    "sweep_max",
    "sweep_fixed",
    "handover_cooldown_s",
    "handover_least_messages",
    "user_text_tokens",
    "ledger_tokens",
    "preview_tokens",
)

PROFILES: Mapping[str, Policy] = {
    "lean": Policy(profile="lean", protect_steps=5, protect_tokens=4_000),
    "balanced": Policy(),
    "classic": Policy(
        profile="classic", protect_steps=20, protect_tokens=15_000, least_saving=200, sweep="fixed"
    ),
    "plain": Policy(
        profile="plain", protect_steps=10, protect_tokens=1_000_000, least_saving=200, sweep="at once"
    ),
    "off": Policy(profile="off", enabled=False),
}


def policy_from(fields: Mapping[str, Any]) -> Policy:
    """The policy that a mapping (one TOML file) describes: its profile's numbers, then its own.

    Raises ValueError naming the field that is unknown or wrong.
    """
    profile = fields.get("profile", "balanced")
    if not isinstance(profile, str) or profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, not {profile!r}")
    merged = {**msgspec.structs.asdict(PROFILES[profile]), **fields}
    try:
        return msgspec.convert(merged, Policy)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def fields_of(policy: Policy) -> dict[str, Any]:
    """The fields to write into a TOML file: the profile, and what differs from it."""
    base = msgspec.structs.asdict(PROFILES[policy.profile])
    own = msgspec.structs.asdict(policy)
    return {name: value for name, value in own.items() if name == "profile" or value != base[name]}

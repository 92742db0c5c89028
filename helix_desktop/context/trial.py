"""What a test of a model's server finds, in five ticks."""

from __future__ import annotations

from typing import Literal

import msgspec

TickName = Literal["reach", "tls", "auth", "streaming", "tools"]
TickState = Literal["waiting", "running", "ok", "failed", "skipped"]


class Tick(msgspec.Struct, frozen=True):
    """One step of the test: what was found, or what failed, why, and what to do."""

    name: TickName
    state: TickState = "waiting"
    found: str = ""
    why: str = ""
    fix: str = ""


UNTRIED: tuple[Tick, ...] = tuple(Tick(name) for name in ("reach", "tls", "auth", "streaming", "tools"))
"""The ticks before the test begins."""

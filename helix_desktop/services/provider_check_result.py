"""The result of checking a model's server, in five steps."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckStepName = Literal["reach", "tls", "auth", "streaming", "tools"]
CheckStepState = Literal["waiting", "running", "ok", "failed", "skipped"]


class CheckStep(msgspec.Struct, frozen=True):
    """One step of the test: what was found, or what failed, why, and what to do; `server_text` on request.

    `has_tools`: whether the model calls tools, where the step has shown it.
    """

    name: CheckStepName
    state: CheckStepState = "waiting"
    detail: str = ""
    why: str = ""
    fix: str = ""
    server_text: str = ""
    has_tools: bool | None = None


UNTESTED_STEPS: tuple[CheckStep, ...] = tuple(
    CheckStep(name) for name in ("reach", "tls", "auth", "streaming", "tools")
)
"""The steps before the check begins."""

"""The fields of Anthropic Messages that say how much a model is to think."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from helix_desktop.domain.effort import SentEffort

EffortForm = Literal["adaptive", "budget"]
"""A level with adaptive thinking (from Claude 4.6 on), or a number of tokens for thinking (before)."""

EFFORT_REFUSED = re.compile(
    r"output_config|\beffort\b|thinking\.|budget_tokens|disabled|not support thinking|level \S+ not supported"
)
"""How errors name these fields, in lower case; gateways say 'level "minimal" not supported'."""

OLDER_FORM = re.compile(r"adaptive|effort parameter")
"""How models from before adaptive thinking refuse it: "adaptive thinking is not supported on this model".

Newer ones name it too when they refuse a budget: 'Use "thinking.type.adaptive"'.
"""

BLOCK_REQUIRED = re.compile(r"must start with a thinking block|expected .?thinking.? or")
"""What older models answer when thinking is switched on between a call and its result."""

_MIN_BUDGET, _MAX_BUDGET = 1_024, 128_000  # tokens; Anthropic, "Extended thinking"; OpenRouter's upper limit
_SHARES: Mapping[str, float] = {"minimal": 0.1, "low": 0.2, "medium": 0.5, "high": 0.8}
"""Of the largest answer, as OpenRouter takes them ("Reasoning tokens"); levels above high: 0.95."""


def effort_fields(level: SentEffort, form: EffortForm, max_thinking: int) -> dict[str, Any]:
    """Return the fields for a level; `max_thinking` is what an answer leaves for thinking, in tokens."""
    if level == "":
        return {}
    if level == "none":
        return {"thinking": {"type": "disabled"}}
    if form == "adaptive":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = min(max(int(max_thinking * _SHARES.get(level, 0.95)), _MIN_BUDGET), _MAX_BUDGET, max_thinking)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _MIN_BUDGET else {}

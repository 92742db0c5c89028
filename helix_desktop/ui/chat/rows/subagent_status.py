"""What a call's card says of its subagent, as text: what it does, what it took, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from helix_desktop.agent.session import SubagentActivity, SubagentProgress
from helix_desktop.domain.messages import TurnOutcome
from helix_desktop.domain.tools import SubagentUsage
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.numbers import format_token_count, format_usd, format_whole_percent
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

Phase: TypeAlias = SubagentActivity | TurnOutcome
RUNNING_PHASE_TEXTS: dict[Phase, TranslatableText] = {
    "queued": text("Queued"),
    "thinking": text("Thinking"),
    "working": text("Working"),
    "waiting": text("Waiting for you"),
    "full": text("Waiting for a handover"),
}
_ENDED_PHASE_TEXTS: dict[Phase, TranslatableText] = {
    "done": text("Done", "end of a subagent"),
    "stopped": text("Stopped", "end of a subagent"),
    "failed": text("Failed", "end of a subagent"),
    "interrupted": text("Interrupted", "end of a subagent"),
}


class SubagentStatus(msgspec.Struct, frozen=True):
    """A subagent at work, or after its end; tokens, US dollars, and milliseconds since 1970."""

    phase: Phase
    steps: int = 0
    spent_tokens: int = 0
    cost: float = 0.0
    used: int = 0
    window: int = 0
    current_tool: str = ""
    started_at_ms: int = 0
    duration_ms: int = 0
    is_estimated: bool = False  # tokens and cost, in part

    @classmethod
    def from_progress(cls, progress: SubagentProgress) -> SubagentStatus:
        return cls(
            progress.phase,
            progress.steps,
            progress.spent_tokens,
            progress.cost,
            progress.used,
            progress.window,
            progress.current_tool,
            progress.started_at_ms,
            is_estimated=progress.estimated,
        )

    @classmethod
    def from_result(cls, result: SubagentUsage, duration_ms: int = 0) -> SubagentStatus:
        return cls(
            result.how,
            result.steps,
            result.tokens,
            result.cost,
            duration_ms=duration_ms,
            is_estimated=result.estimated,
        )

    @property
    def is_running(self) -> bool:
        return self.phase in RUNNING_PHASE_TEXTS

    @property
    def window_ratio(self) -> float:
        """Return how much of its context window its next request takes; it may pass 1."""
        return self.used / self.window if self.window else 0.0

    @property
    def window_ratio_text(self) -> str:
        return tr("{share} of context", share=format_whole_percent(self.window_ratio))

    @property
    def phase_text(self) -> str:
        """Return what it does, or how it ended."""
        return translate({**RUNNING_PHASE_TEXTS, **_ENDED_PHASE_TEXTS}[self.phase])

    def summary(self, now_ms: int, fits: Callable[[str], bool] = bool) -> str:
        """Return its model calls, tokens, cost, and how long it works or worked, as one line of words.

        Where not all of it fits, the first ones are left out: half of a figure would read as another one.
        """
        parts = self._figures(now_ms)
        lines = (" · ".join(parts[start:]) for start in range(len(parts)))
        return next(filter(fits, lines), "")

    def _about(self, figure: str) -> str:
        return tr("≈ {figure}", figure=figure) if self.is_estimated else figure

    def _figures(self, now_ms: int) -> list[str]:
        parts = []
        if self.steps:
            parts.append(tr.plural(self.steps, "%n model call", "%n model calls"))
        if self.spent_tokens:
            parts.append(tr("{tokens} used", tokens=self._about(format_token_count(self.spent_tokens))))
        if self.cost:
            parts.append(self._about(format_usd(self.cost)))
        if self.is_running and self.started_at_ms:
            parts.append(format_elapsed((now_ms - self.started_at_ms) // 1000))
        if self.duration_ms:
            parts.append(format_elapsed(self.duration_ms // 1000))
        return parts

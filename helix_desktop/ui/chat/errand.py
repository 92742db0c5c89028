"""What a call's card says of its subagent, in words: what it does, what it took, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from helix_desktop.agent.update import Doing, SubagentMoved
from helix_desktop.context.message import Ended
from helix_desktop.context.spending import dollars
from helix_desktop.context.tool import Delegated
from helix_desktop.ui.figures import tokens_text

Phase: TypeAlias = Doing | Ended
DOING: dict[Phase, str] = {
    "queued": "Waits for a place",
    "thinking": "Thinking",
    "working": "Working",
    "waiting": "Waits for you",
}
_ENDED: dict[Phase, str] = {
    "done": "Done",
    "stopped": "Stopped",
    "failed": "Failed",
    "interrupted": "Interrupted",
}
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Errand:
    """A subagent at work, or after its end; tokens, US dollars, and milliseconds since 1970."""

    phase: Phase
    steps: int = 0
    spent: int = 0
    cost: float = 0.0
    use: int = 0
    window: int = 0
    tool: str = ""
    began: int = 0
    took_ms: int = 0

    @classmethod
    def moving(cls, moved: SubagentMoved) -> Errand:
        """As its parent tells of it."""
        return cls(
            moved.phase,
            moved.steps,
            moved.spent,
            moved.cost,
            moved.use,
            moved.window,
            moved.tool,
            moved.began,
        )

    @classmethod
    def ended(cls, took: Delegated, duration_ms: int = 0) -> Errand:
        """As the call's answer tells of it."""
        return cls(took.how, took.steps, took.tokens, took.cost, took_ms=duration_ms)

    @property
    def live(self) -> bool:
        """Whether it is not over."""
        return self.phase in DOING

    @property
    def share(self) -> float:
        """How much of its context window its next request takes; it may pass 1."""
        return self.use / self.window if self.window else 0.0

    @property
    def share_words(self) -> str:
        """How full its context is."""
        return f"{self.share * 100:.0f} % of context"

    @property
    def phase_words(self) -> str:
        """What it does, or how it ended."""
        return {**DOING, **_ENDED}[self.phase]

    def figures(self, now_ms: int) -> str:
        """Its model calls, tokens, cost, and how long it works or worked, as one line of words."""
        parts = []
        if self.steps:
            parts.append(f"{self.steps} model call{'s' if self.steps != 1 else ''}")
        if self.spent:
            parts.append(f"{tokens_text(self.spent)} tokens used")
        if self.cost:
            parts.append(dollars(self.cost))
        if self.live and self.began:
            parts.append(clock_text(now_ms - self.began))
        if self.took_ms:
            parts.append(clock_text(self.took_ms))
        return " · ".join(parts)


def clock_text(milliseconds: int) -> str:
    """A running time as a clock shows it: 0:07, 12:40, 1:02:40."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // _MINUTE, seconds // (_MINUTE * _MINUTE)
    if hours:
        return f"{hours}:{minutes % _MINUTE:02}:{seconds % _MINUTE:02}"
    return f"{minutes}:{seconds % _MINUTE:02}"

"""What the window's frame shows, as plain rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Controls")


@dataclass(frozen=True, slots=True)
class GaugeState:
    """Use of the context window, in tokens; the same number that triggers a compaction."""

    used: int
    window: int
    estimated: bool
    source: str  # where the number comes from, e.g. "reported by the provider"
    compaction: str = ""  # how far the next compaction is
    policy: str = ""  # which policy manages it
    is_on_hold: bool = False

    @property
    def share(self) -> float:
        """Return the used part of the window, 0 when no window is known; may pass 1."""
        return self.used / self.window if self.window > 0 else 0.0


@dataclass(frozen=True, slots=True)
class TopBarState:
    """The session that is open: title, and what the status line says.

    `failure` says why the newest turn failed, until the next one begins; `budget_spent`
    says that it ended because the budget is spent.
    """

    session_id: str
    title: str
    running: bool
    model: str
    demo: bool
    messages: int
    waiting: bool = False  # for the user
    failure: str = ""
    budget_spent: bool = False


@dataclass(frozen=True, slots=True)
class JobAction:
    """The button of a running job: a model's work or a call is stopped, other work canceled or paused.

    `effect` says what is kept then, or that nothing changes.
    """

    verb: Literal["cancel", "stop", "pause", "resume"]
    run: Callable[[], object]
    effect: str = ""


@dataclass(frozen=True, slots=True)
class JobRow:
    """One running job: verb and count as text, progress 0..1 or None when unknown."""

    id: str
    text: str
    progress: float | None = None
    action: JobAction | None = None


def gauge_text(state: GaugeState) -> str:
    if state.window <= 0:
        return tr("Context window unknown")
    share = format_whole_percent(state.share, is_estimated=state.estimated)
    used, window = format_tokens(state.used), format_tokens(state.window)
    return " · ".join((share, tr("{used} / {window}", used=used, window=window), state.compaction))

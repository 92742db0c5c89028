"""What the window's frame shows: plain rows that a presenter fills."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from helix_desktop.domain.errors import (
    AgentWorking,
    BudgetExhausted,
    CompactionRefused,
    ContentRedacted,
    DigestAmbiguous,
    DigestUnknown,
    HelixError,
    InvalidInput,
    ModelNotChosen,
    OutputFormUnavailable,
    RevertRefused,
    StoreRepaired,
    StoreWriteFailed,
    SummaryRefused,
    WorkspaceUntrusted,
)
from helix_desktop.ui.design.usage_bar import Pressure
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Controls")

BannerLevel = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class GaugeState:
    """Use of the context window, in tokens; the same number that triggers a compaction."""

    used: int
    window: int
    estimated: bool
    source: str  # where the number comes from, e.g. "reported by the provider"
    threshold: float  # share of the window at which a handover is written, 0..1
    pressure: Pressure
    policy: str = ""  # which policy manages it
    is_on_hold: bool = False

    @property
    def share(self) -> float:
        """Return the used part of the window, 0 when no window is known; may pass 1."""
        return self.used / self.window if self.window > 0 else 0.0

    @property
    def tokens_left(self) -> int:
        """Return the tokens until the threshold, never negative."""
        return max(0, int(self.window * self.threshold) - self.used)


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


@dataclass(frozen=True, slots=True)
class BannerAction:
    """A button of a banner."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Banner:
    """A message on top of the center: what happened, why, and what can be done.

    It is shown with the workspace and the session it is about, by id; empty: with all of them.
    `is_brief`: it goes by itself, since all that it offers stands elsewhere too.
    """

    id: str
    level: BannerLevel
    what: str
    why: str = ""
    fix: str = ""
    actions: tuple[BannerAction, ...] = ()
    dismissable: bool = True
    workspace_id: str = ""
    session_id: str = ""
    is_brief: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what tells it from all others: its id, and what it is about."""
        return self.id, self.workspace_id, self.session_id

    @property
    def is_required(self) -> bool:
        """Return True if it has to be seen until the user answers it or closes it."""
        return self.level != "info" or not self.dismissable

    def applies_to(self, workspace_id: str, session_id: str) -> bool:
        """Return whether it is about what is on screen."""
        return self.workspace_id in {"", workspace_id} and self.session_id in {"", session_id}


REFUSED_COMPACTION = "refused-compaction"
"""Of the banner that says why nothing is compacted: the next attempt or message ends it."""


FAILED_WRITE = "failed-write"
"""Of the banner that says that nothing can be saved: the next event that is saved ends it."""

UNDONE_CHANGES = "undone-changes"
"""Of the banner that says what was taken back after a crash: what restores it ends it."""

AGENT_WORKING = "agent-working"
"""Of the banner that says that something has to wait for the end of the turn, which ends it."""


def error_level(error: HelixError) -> BannerLevel:
    """Return how an error is shown: as an alarm only where something is broken."""
    match error:
        case (
            SummaryRefused()
            | BudgetExhausted()
            | DigestAmbiguous()
            | InvalidInput()
            | RevertRefused()
            | StoreRepaired()
        ):
            return "warning"  # something else is needed of the user or a model; nothing is broken
        case CompactionRefused() | ContentRedacted() | OutputFormUnavailable():
            return "info"  # nothing went wrong: what was asked for cannot be done now, and this says why
        case ModelNotChosen() | WorkspaceUntrusted():
            return "info"
        case DigestUnknown():
            return "warning"
    return "error"


def _banner_id(error: HelixError) -> str:
    match error:
        case CompactionRefused():
            return REFUSED_COMPACTION
        case StoreWriteFailed():
            return FAILED_WRITE
        case AgentWorking():
            return AGENT_WORKING
    return error.what


def error_banner(error: HelixError, workspace_id: str = "", session_id: str = "") -> Banner:
    """Return the banner that says what went wrong, or why what was asked for cannot be done."""
    actions = tuple(BannerAction(remedy, action_label(remedy)) for remedy in error.remedies)
    level = error_level(error)
    return Banner(
        _banner_id(error),
        level,
        translate(error.what),
        translate(error.why),
        translate(error.fix),
        actions,
        workspace_id=workspace_id,
        session_id=session_id,
    )


def gauge_text(state: GaugeState) -> str:
    """Return the gauge as text: the share, used and window, and how far the next compaction is."""
    if state.window <= 0:
        return tr("Context window unknown")
    share = format_whole_percent(state.share, is_estimated=state.estimated)
    used, window = format_tokens(state.used), format_tokens(state.window)
    return " · ".join((share, tr("{used} / {window}", used=used, window=window), _compaction_text(state)))


def _compaction_text(state: GaugeState) -> str:
    """Return how far the next compaction is."""
    if state.is_on_hold:
        return tr("paused")
    match state.pressure:
        case "off":
            return tr("compaction off")
        case "over":
            return tr("above {share}", share=format_whole_percent(state.threshold))
    return tr("handover in ≈ {tokens}", tokens=format_tokens(state.tokens_left))

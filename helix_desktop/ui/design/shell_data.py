"""What the window's frame shows, as plain rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


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

"""Updates: what a session tells its listeners. Recorded facts must arrive; the rest may coalesce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from helix_desktop.context.event import Recorded
from helix_desktop.context.message import Ended, ToolCall
from helix_desktop.context.spending import Estimate, SpendAsk
from helix_desktop.context.tool import ApprovalAsk

Phase = Literal["idle", "read", "summarise", "check", "write"]
Doing = Literal["queued", "thinking", "working", "waiting"]


class Happened(msgspec.Struct, frozen=True):
    """An event was recorded."""

    recorded: Recorded


class Arriving(msgspec.Struct, frozen=True):
    """A piece of the model's answer."""

    text: str
    reasoning: bool = False


class ArrivalVoided(msgspec.Struct, frozen=True):
    """What arrived of this answer does not count: the call is made again after `wait_s` seconds."""

    attempt: int
    wait_s: float
    reason: str


class CallWaiting(msgspec.Struct, frozen=True):
    """A call waits for the person's answer."""

    ask: ApprovalAsk


class CallStarted(msgspec.Struct, frozen=True):
    """A call was allowed and runs now."""

    call: ToolCall


class CallProgress(msgspec.Struct, frozen=True):
    """A piece of what a running call puts out."""

    call_id: str
    text: str


class TurnChanged(msgspec.Struct, frozen=True):
    """A turn began or ended."""

    running: bool


class CompactionMoved(msgspec.Struct, frozen=True):
    """A handover entered a phase; `text` is what the summary says so far.

    `estimate` is what it will take, once that is known and a model is asked.
    """

    phase: Phase
    text: str = ""
    estimate: Estimate | None = None


class IntakeMoved(msgspec.Struct, frozen=True):
    """How these large outputs are to stand in the window is being chosen, or some are being extracted from.

    `calls` are the calls that gave them; with "idle" it is done.
    """

    phase: Literal["idle", "ask", "extract"]
    calls: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is going on, for people; empty when nothing is."""
        outputs = f"{len(self.calls)} large output" + ("" if len(self.calls) == 1 else "s")
        return {
            "idle": "",
            "ask": f"Choosing how to keep {outputs}…",
            "extract": f"Extracting from {outputs}…",
        }[self.phase]


class ObservationMoved(msgspec.Struct, frozen=True):
    """Observations, or a reflection, entered a phase; `text` and `estimate` are as of handovers."""

    phase: Phase
    text: str = ""
    estimate: Estimate | None = None


class SpendAsksChanged(msgspec.Struct, frozen=True):
    """These questions about what background work may read are open now."""

    asks: tuple[SpendAsk, ...]


class SpendDecided(msgspec.Struct, frozen=True):
    """With nobody there to ask, the budget decided whether background work begins."""

    ask: SpendAsk
    allowed: bool


class SubagentMoved(msgspec.Struct, frozen=True):
    """A subagent went on: told to its parent's listeners. `child` is its session.

    It waits for others to end, asks its model, runs tools, waits for the person's yes, or has ended, as
    `phase` says. `use` counts the tokens of its next request, `window` those that fit. `call` is the call
    that asked for it, `tool` the newest call of its own, `spent` and `cost` its tokens in and out and US
    dollars, `began` the moment it got its task (milliseconds since 1970; 0: not yet).
    """

    child: str
    phase: Doing | Ended
    use: int
    window: int
    steps: int
    title: str = ""
    call: str = ""
    tool: str = ""
    spent: int = 0
    cost: float = 0.0
    began: int = 0


class RequestChanged(msgspec.Struct, frozen=True):
    """The model or the tools of a session's next request are others now; nothing was recorded."""


class ChangedOutside(msgspec.Struct, frozen=True):
    """Another process stored something of this session; no id: of any."""


class Trouble(msgspec.Struct, frozen=True):
    """Something failed that could not be recorded as an event."""

    what: str
    why: str = ""
    fix: str = ""
    remedies: tuple[str, ...] = ()


Update = (
    Trouble
    | Happened
    | Arriving
    | ArrivalVoided
    | CallWaiting
    | CallStarted
    | CallProgress
    | TurnChanged
    | CompactionMoved
    | ObservationMoved
    | SpendAsksChanged
    | SpendDecided
    | IntakeMoved
    | SubagentMoved
    | RequestChanged
    | ChangedOutside
)
Listener = Callable[[Update], None]

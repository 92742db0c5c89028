"""A subagent as its parent sees it: a conversation to begin, to stop, and to follow."""

from __future__ import annotations

import asyncio
from typing import Protocol, get_args

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.agent.update import (
    CallStarted,
    CallWaiting,
    Doing,
    Happened,
    SubagentMoved,
    Trouble,
    TurnChanged,
    Update,
)
from helix_desktop.context.budget import Gauge
from helix_desktop.context.event import NEW_TITLE, Recorded, SessionStarted, TurnEnded, UserSpoke
from helix_desktop.context.message import Ended, ModelInfo
from helix_desktop.context.target import target_of
from helix_desktop.context.tool import ApprovalAsk, Reply
from helix_desktop.context.window import Window

_ENDS = get_args(Ended)


class Child(Protocol):
    """What is needed of a subagent's conversation."""

    session: Session

    @property
    def asks(self) -> list[ApprovalAsk]:
        """The questions its calls wait with."""
        ...

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        ...

    def measure(self) -> tuple[Window, Gauge]:
        """What its next request would contain, and how full that is."""
        ...

    async def send(self, text: str) -> None:
        """Begin its turn."""
        ...

    def decide(self, call_id: str, answer: Reply) -> bool:
        """Answer a question; False when it is no longer open."""
        ...

    async def stop(self) -> None:
        """Stop its turn, and wait for the end."""
        ...

    async def close(self) -> None:
        """Interrupt whatever runs, and wait for the end."""
        ...


class Watch:
    """Follows one subagent and tells its parent how it goes.

    `ended` is set when its turn is over; it is `wanted` until its parent stops it. `told` is the newest word.
    """

    def __init__(self, child: Child, parent: Session, call: str) -> None:
        self.child, self._parent, self._call = child, parent, call
        self.ended = asyncio.Event()
        self.wanted = True
        self.trouble: Trouble | None = None
        self.told: SubagentMoved | None = None
        self._tool, self._began = "", 0
        self._leave = child.session.listen(self._hear)

    def _hear(self, update: Update) -> None:
        match update:
            case CallWaiting(ask=ask):
                self.tell("waiting")
                self._parent.publish(CallWaiting(told_as(self.child, ask)))
            case Happened(recorded=Recorded(event=TurnEnded(how=how))):
                self.tell(how)
            case Happened(recorded=Recorded(at=at, event=UserSpoke())):
                self._began = self._began or at
                self.tell(self._doing())
            case Happened(recorded=Recorded(event=SessionStarted())):
                pass  # it may have to wait for a place before it does anything
            case CallStarted(call=call):
                self._tool = f"{call.name} {target_of(call.arguments)}".strip()
                self.tell(self._doing())
            case Happened():
                self.tell(self._doing())
            case Trouble():
                self.trouble = update
            case TurnChanged(running=False):
                self.ended.set()
            case _:
                pass

    def leave(self) -> None:
        """Hear no more; an end that could not be recorded is told all the same."""
        if self.child.session.log and (self.told is None or self.told.phase not in _ENDS):
            self.tell("failed" if self.trouble else "stopped")
        self._leave()

    def _doing(self) -> Doing:
        if self.child.asks:
            return "waiting"
        return "working" if self.child.session.transcript.open_calls else "thinking"

    def tell(self, phase: Doing | Ended) -> None:
        """Tell the parent's listeners what it does now, unless they know."""
        session = self.child.session
        known = session.transcript
        _, gauge = self.child.measure()
        moved = SubagentMoved(
            session.id,
            phase,
            gauge.used,
            gauge.window,
            known.steps,
            known.title,
            self._call,
            self._tool,
            known.spent.tokens,
            known.spent.cost,
            self._began,
        )
        if moved != self.told:
            self.told = moved
            self._parent.publish(moved)


def told_as(child: Child, ask: ApprovalAsk) -> ApprovalAsk:
    """A subagent's question as its parent's: two models may well give two calls one id."""
    session = child.session
    asker = session.transcript.title or NEW_TITLE
    return msgspec.structs.replace(ask, call_id=f"{session.id}/{ask.call_id}", asker=asker)

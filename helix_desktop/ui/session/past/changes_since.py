"""What changed in the context since the first request of a turn that the user chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.steps import Step, read_steps
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.past_windows import PastWindow
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.inspector.changes_bar import LAST_TURN, OFF, ChangesBar
from helix_desktop.ui.inspector.from_changes import with_changes
from helix_desktop.ui.inspector.inspector_data import InspectorState


class ChangesSince:
    """Reads the request of the choice in a thread, once, and compares at every refresh."""

    def __init__(self, bar: ChangesBar, schedule_refresh: Callable[[], None]) -> None:
        self._bar, self._schedule_refresh = bar, schedule_refresh
        self._conversation: Conversation | None = None
        self._turn = OFF
        self._read_for: tuple[int, ContextPolicy, PromptFrame] | None = None
        self._items: tuple[WindowItem, ...] = ()
        self.window: PastWindow | None = None
        """The request that the next one is compared with; None: it is not compared."""
        bar.turn_changed.connect(self._choose)

    def show(self, conversation: Conversation | None) -> None:
        """Compare nothing in another session, until the user chooses."""
        self._conversation = conversation
        self._bar.choose(OFF)
        self._forget(OFF)

    def _choose(self, turn: int) -> None:
        self._forget(turn)
        if turn == OFF and self._conversation is not None:
            self._conversation.window.forget_past()
        self._schedule_refresh()

    def _forget(self, turn: int) -> None:
        self._turn, self._read_for, self._items, self.window = turn, None, (), None

    async def read(self) -> None:
        """Read the request of the choice, if that is due; drop it if the user chose another meanwhile."""
        conversation, turn = self._conversation, self._turn
        if conversation is None or turn == OFF:
            return
        step = await asyncio.to_thread(_first_step, conversation.session.log, turn)
        read_for = (step.seq, conversation.window.policy, conversation.window.frame) if step else None
        past, items = self.window, self._items
        if read_for != self._read_for:
            past = await conversation.window.window_at(step.seq) if step else None
            items = await asyncio.to_thread(past.items) if past else ()
        if conversation is self._conversation and turn == self._turn:
            self._read_for, self.window, self._items = read_for, past, items

    def apply(self, state: InspectorState, items: tuple[WindowItem, ...], turns: int) -> InspectorState:
        """Return the state of the next request with the choice of `turns`, and what changed since."""
        if self.window is not None:
            state = with_changes(state, self._items, items)
        return replace(state, turns=turns)


def _first_step(log: Sequence[RecordedEvent], turn: int) -> Step | None:
    """Return the first step of a turn, or of the next one that has any; None: there is none yet."""
    steps = read_steps(log)
    if turn == LAST_TURN:
        turn = steps[-1].turn if steps else 1
    return next((step for step in steps if step.turn >= turn), None)

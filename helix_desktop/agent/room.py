"""A room: one open workspace with its store, its sessions and its model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from helix_desktop.agent.conversation import Conversation, Parts
from helix_desktop.agent.holdings import Holdings
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.terms import Terms
from helix_desktop.agent.update import Happened, Update
from helix_desktop.context.content import SessionSummary
from helix_desktop.context.event import NEW_TITLE, AssistantSpoke, Recorded, SessionStarted
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import Transcript


class Room(Holdings):
    """An open workspace. Its conversations run whether or not anybody looks.

    `reading` says that its folder is not there, so that it can be looked at and no more.
    """

    def __init__(
        self, identity: str, parts: Parts, policy: Policy, model: Model, reading: bool = False
    ) -> None:
        super().__init__(parts.store, parts.counter)
        self.id = identity
        self.reading = reading
        self.policy = policy
        self._parts = parts
        self._ratios: dict[str, float] = {}
        self._terms = Terms(parts, lambda: self.policy, model, self._ratios)
        self._open: dict[str, Conversation] = {}
        self._children: dict[str, Conversation] = {}
        self._listeners: list[Callable[[str, Update], None]] = []

    def clock(self) -> int:
        """Milliseconds since 1970."""
        return self._parts.clock()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self._terms.model

    async def use(self, model: Model) -> None:
        """Let another model answer from the next step on; subagents go on with the one they began with."""
        await self._terms.use(model)

    async def retool(self) -> None:
        """Let the model know of changed tools from the next step on; subagents keep those they began with."""
        await self._terms.retool()

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """All sessions that a person began, or the subagents of one, last used first."""
        return [one for one in await self.store.sessions() if one.parent == parent]

    async def begin(self, title: str = NEW_TITLE) -> Conversation:
        """Begin a session."""
        conversation = await self.open(uuid.uuid4().hex)
        await conversation.session.record(SessionStarted(title))
        return conversation

    async def open(self, session: str) -> Conversation:
        """The conversation of a session, opened once; a turn that a crash cut off is marked interrupted."""
        known = self._open.get(session) or self._children.get(session)
        if known is not None:
            self._open[session] = known
            return known
        if not self._terms.framed:
            await self.use(self.model)
        log = await self.store.events(session)
        transcript = await asyncio.to_thread(Transcript, log)
        listed = await self.store.sessions()
        if session in self._open:
            return self._open[session]
        scope = TaskScope()
        opened = Session(session, self.store, self._parts.clock, scope, log, transcript)
        for one in listed:
            for label, ratio in one.ratios.items():
                self._ratios.setdefault(label, ratio)  # the newest session comes first
            if one.id == session:
                opened.take_figures(one)
        nursery = None if transcript.parent else self
        conversation = Conversation(opened, scope, self._parts, self._terms, nursery)
        self._open[session] = conversation
        opened.listen(lambda update: self._hear(opened, update))
        await opened.mend()
        return conversation

    def _hear(self, session: Session, update: Update) -> None:
        match update:
            case Happened(recorded=Recorded(event=AssistantSpoke(model=model))) if model in session.ratios:
                self._ratios[model] = session.ratios[model]
        if session.id in self._open:  # of a subagent that nobody looks at, its parent tells
            for listener in tuple(self._listeners):
                listener(session.id, update)

    async def admit(self, policy: Policy | None, model: Model | None) -> Conversation:
        """A subagent's conversation, without a log yet; by the room's policy and model if none is given."""
        parts, scope = self._parts.for_subagents(), TaskScope()
        terms = Terms(parts, lambda: policy or self.policy, model or self.model, self._ratios)
        await terms.use(terms.model)
        session = Session(uuid.uuid4().hex, self.store, parts.clock, scope, [], Transcript())
        session.listen(lambda update: self._hear(session, update))
        self._children[session.id] = Conversation(session, scope, parts, terms)
        return self._children[session.id]

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended, unless somebody has opened its session."""
        if session not in self._open:
            await self._children[session].close()
        del self._children[session]

    async def shut(self, session: str) -> None:
        """End what runs in a session and let go of it: the next `open` reads it anew from the store."""
        conversation = self._open.get(session)
        if conversation is not None:
            await conversation.close()
            self._open.pop(session, None)

    def listen(self, listener: Callable[[str, Update], None]) -> Callable[[], None]:
        """Hear the updates of every open session, and of subagents what their parents tell of them.

        Call the returned function to stop.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversations that are open."""
        return tuple(self._open.values())

    async def close(self) -> None:
        """End every turn, then close the store."""
        for conversation in (*self._open.values(), *self._children.values()):
            await conversation.close()
        await self.store.close()

"""A room: one open workspace with its store, its sessions and its model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from helix_desktop.agent.approval import Leeway
from helix_desktop.agent.conversation import Conversation, Parts
from helix_desktop.agent.holdings import Holdings
from helix_desktop.agent.ports import Model
from helix_desktop.agent.purse import Purse
from helix_desktop.agent.roles import Roles
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.terms import Terms
from helix_desktop.agent.update import ChangedOutside, Happened, Update
from helix_desktop.context.content import SessionSummary
from helix_desktop.context.event import NEW_TITLE, AssistantSpoke, ModelRole, Recorded, SessionStarted
from helix_desktop.context.policy import Policy
from helix_desktop.context.spending import Spending
from helix_desktop.context.transcript import Transcript


class Room(Holdings):
    """An open workspace. Its conversations run whether or not anybody looks.

    `reading` says that its folder is not there, so that it can be looked at and no more.
    """

    def __init__(
        self, identity: str, parts: Parts, policy: Policy, models: Model | Roles, reading: bool = False
    ) -> None:
        super().__init__(parts.store, parts.counter)
        self.id = identity
        self.reading = reading
        self.policy = policy
        self._parts = parts
        self.trusted = parts.trusted  # whether something may run here, or be sent
        self._ratios: dict[str, float] = {}
        self.terms = Terms(parts, lambda: self.policy, models, self._ratios)
        """What conversations run under now, with the models and their roles."""
        self._open: dict[str, Conversation] = {}
        self._children: dict[str, Conversation] = {}
        self._led: dict[str, tuple[Terms, ModelRole]] = {}  # of subagents that answer by a role, by session
        self._listeners: list[Callable[[str, Update], None]] = []

    def clock(self) -> int:
        """Milliseconds since 1970."""
        return self._parts.clock()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self.terms.model

    async def use(self, models: Model | Roles) -> None:
        """Let other models work from the next step on; subagents at work go on with those they began with.

        A model alone is the new main one, beside the others as they are.
        """
        await self.terms.use(models)
        for session, (terms, role) in tuple(self._led.items()):
            known = self.known(session)
            if known is not None and not known.running:  # a person goes on with it
                await terms.use(self.terms.roles.with_main(self._answering(role)))

    async def retool(self) -> None:
        """Let the model know of changed tools from the next step on; subagents keep those they began with."""
        await self.terms.retool()

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
        known = self.known(session)
        if known is not None:
            self._open[session] = known
            return known
        if not self.terms.framed:
            await self.use(self.terms.roles)
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
        conversation = await self._conversing(opened, scope)
        conversation.purse.children = {
            one.id: Spending(one.spent, one.cost) for one in listed if one.parent == session
        }
        if session in self._open:  # by somebody else meanwhile
            return self._open[session]
        self._open[session] = conversation
        opened.listen(lambda update: self._hear(opened, update))
        await opened.mend()
        return conversation

    async def _conversing(self, session: Session, scope: TaskScope) -> Conversation:
        """A session's conversation; a subagent's goes on under its own terms, with what subagents may do."""
        known = session.transcript
        leeway = Leeway(known.mode)
        if not known.parent:
            return Conversation(session, scope, self._parts, self.terms, _Nursery(self, leeway), leeway)
        parts = self._parts.for_subagents()
        terms = Terms(
            parts,
            lambda: known.own_policy or self.policy,
            self.terms.roles.with_main(self._answering(known.answering)),
            self._ratios,
        )
        await terms.use(terms.roles)
        self._led[session.id] = (terms, known.answering)
        return Conversation(
            session, scope, parts, terms, leeway=leeway, above=lambda: self._paying(known.parent)
        )

    def _paying(self, parent: str) -> Purse | None:
        """The purse of the session that a subagent works for, while that is open."""
        return self._open[parent].purse if parent in self._open else None

    def _answering(self, role: ModelRole) -> Model:
        """The workspace's model of a role; where none is set for it, the main one."""
        roles = self.terms.roles
        return {"main": None, "fast": roles.fast, "long": roles.long}[role] or roles.main

    def _hear(self, session: Session, update: Update) -> None:
        match update:
            case Happened(recorded=Recorded(event=AssistantSpoke(model=model))) if model in session.ratios:
                self._ratios[model] = session.ratios[model]
        payer = self._paying(session.transcript.parent)
        if payer is not None:
            payer.children[session.id] = session.transcript.spent
        if session.id in self._open:  # of a subagent that nobody looks at, its parent tells
            for listener in tuple(self._listeners):
                listener(session.id, update)

    async def admit(
        self, policy: Policy | None, model: Model | None, role: ModelRole, leeway: Leeway
    ) -> Conversation:
        """A subagent's conversation, without a log yet; by the room's policy and model if none is given."""
        parts, scope = self._parts.for_subagents(), TaskScope()
        roles = self.terms.roles.with_main(model or self._answering(role))
        terms = Terms(parts, lambda: policy or self.policy, roles, self._ratios)
        await terms.use(terms.roles)
        session = Session(uuid.uuid4().hex, self.store, parts.clock, scope, [], Transcript())
        if model is None:
            self._led[session.id] = (terms, role)
        session.listen(lambda update: self._hear(session, update))
        self._children[session.id] = Conversation(
            *(session, scope, parts, terms),
            leeway=leeway,
            led=True,
            above=lambda: self._paying(session.transcript.parent),
        )
        return self._children[session.id]

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended, unless somebody has opened its session."""
        if session not in self._open:
            await self._children[session].close()
            self._led.pop(session, None)
        del self._children[session]

    async def shut(self, session: str) -> None:
        """End what runs in a session and let go of it: the next `open` reads it anew from the store."""
        conversation = self._open.get(session)
        if conversation is not None:
            await conversation.close()
            self._open.pop(session, None)
            self._led.pop(session, None)

    def listen(self, listener: Callable[[str, Update], None]) -> Callable[[], None]:
        """Hear the updates of every open session, and of subagents what their parents tell of them.

        Call the returned function to stop.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def known(self, session: str) -> Conversation | None:
        """The conversation of a session that is open, or works for another one; None when it is neither."""
        return self._open.get(session) or self._children.get(session)

    def changed_outside(self, session: str) -> None:
        """Tell the listeners that another process stored something of a session (empty: of any)."""
        for listener in tuple(self._listeners):
            listener(session, ChangedOutside())

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversations that are open."""
        return tuple(self._open.values())

    async def close(self) -> None:
        """End every turn, then close the store."""
        for conversation in (*self._open.values(), *self._children.values()):
            await conversation.close()
        await self.store.close()


class _Nursery:
    """Where the subagents of one conversation come from: they act as freely as it does, and no more."""

    def __init__(self, room: Room, leeway: Leeway) -> None:
        self._room, self._leeway = room, leeway

    async def admit(
        self, policy: Policy | None, model: Model | None, role: ModelRole = "main"
    ) -> Conversation:
        """A subagent's conversation, without a log yet."""
        return await self._room.admit(policy, model, role, self._leeway)

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended."""
        await self._room.release(session)

"""A room: one open workspace with its store, its sessions and its model."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from helix_desktop.agent.approval import Leeway
from helix_desktop.agent.conversation import Conversation, Parts
from helix_desktop.agent.holdings import Holdings
from helix_desktop.agent.ports import Model
from helix_desktop.agent.purse import Purse
from helix_desktop.agent.roles import Roles, RolesFor
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.terms import SessionTerms, Terms
from helix_desktop.agent.update import ChangedOutside, Happened, RequestChanged, Update
from helix_desktop.context.budget import Gauge, count_window, gauge_of, is_outdated
from helix_desktop.context.content import SessionSummary
from helix_desktop.context.errors import HelixError, StoreError
from helix_desktop.context.event import (
    NEW_TITLE,
    AssistantSpoke,
    ModelChosen,
    ModelRole,
    Recorded,
    SessionStarted,
)
from helix_desktop.context.message import ModelInfo
from helix_desktop.context.policy import Policy
from helix_desktop.context.spending import Spending
from helix_desktop.context.transcript import Transcript

log = logging.getLogger(__name__)


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
        self._own_terms: dict[str, SessionTerms] = {}  # of sessions that a user works in
        self.roles_for: RolesFor | None = None
        """Resolves the model that is chosen for one session; without it sessions follow the room."""
        self._one_model = False  # whether one model answers whatever sessions have chosen
        self._listeners: list[Callable[[str, Update], None]] = []
        self._uncountable: set[str] = set()  # sessions whose logs cannot be read
        self._chosen_infos: dict[str, ModelInfo] = {}  # of the models that listed sessions have chosen

    def clock(self) -> int:
        """Milliseconds since 1970."""
        return self._parts.clock()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self.terms.model

    async def use(self, models: Model | Roles) -> None:
        """Let other models work from the next step on; subagents at work go on with those they began with.

        A model alone is the new main one, beside the others as they are; it answers in every session, also
        where another one was chosen.
        """
        self._one_model = not isinstance(models, Roles)
        await self.terms.use(models)
        self._chosen_infos.clear()
        for session in (*self._own_terms, *self._led):
            known = self.known(session)
            if known is not None:
                await self._follow_choice(known)
        self._tell_changed()

    async def choose_model(self, session: str, label: str) -> None:
        """Let the model PROVIDER/NAME answer one open session from now on; empty: the workspace's default.

        Raises HelixError when it is not set up, StoreError.
        """
        conversation = self._open[session]
        if label and self.roles_for is not None:
            await self.roles_for(label)  # raises before anything is recorded
        await conversation.session.record(ModelChosen(label))
        await self._follow_choice(conversation)
        self._tell_changed()

    async def _follow_choice(self, conversation: Conversation) -> None:
        """Let the model answer that a session has chosen; a subagent at work goes on with the one it has."""
        session, transcript = conversation.session.id, conversation.session.transcript
        chosen = await self._chosen_roles(transcript.chosen_model)
        if (own := self._own_terms.get(session)) is not None:
            if chosen is None:
                own.follow()
            else:
                await own.choose(chosen)
        elif session in self._led and not conversation.running:
            terms, role = self._led[session]
            await terms.use(chosen or _by_role(self.terms.roles, role))

    async def _chosen_roles(self, label: str) -> Roles | None:
        """Return the roles under a chosen model; None without one, or when it is not set up any more."""
        if not label or self._one_model or self.roles_for is None:
            return None
        try:
            return await self.roles_for(label)
        except HelixError as error:
            log.warning("the model chosen for a session is not used: %s", error)
            return None

    async def retool(self) -> None:
        """Let the model know of changed tools from the next step on; subagents keep those they began with."""
        await self.terms.retool()
        for own in tuple(self._own_terms.values()):
            await own.retool()
        self._tell_changed()

    def _tell_changed(self) -> None:
        for conversation in self.conversations:
            conversation.session.publish(RequestChanged())

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """All sessions that a person began, or the subagents of one, last used first."""
        return [one for one in await self.store.sessions() if one.parent == parent]

    def gauge(self, listed: SessionSummary) -> Gauge | None:
        """How full the next request of a listed session would be; None until `recount` has counted it.

        None also for a subagent's while it is not open: it has a model and a policy of its own.
        """
        conversation = self.known(listed.id)
        if conversation is not None:
            return conversation.measure()[1]
        if listed.count is None or listed.parent or not self.terms.framed:
            return None
        _, frame, _ = self.terms()
        chosen = listed.count.chosen
        info = self._chosen_infos.get(chosen) if chosen else frame.info
        if info is None or is_outdated(listed.count, self.policy, info.window):
            return None
        ratio = self._ratios.get(info.label, 1.0)
        return gauge_of(listed.count, self.policy, replace(frame, info=info, ratio=ratio))

    async def recount(self) -> bool:
        """Count the listed sessions for which there is no `gauge`, from their logs; whether there were any.

        Those of an older version, and those whose handover quotes more or less under another policy or model.
        """
        counted = False
        for one in await self.sessions():
            if self.terms.framed and one.id not in self._uncountable and self.gauge(one) is None:
                counted = await self._recount(one) or counted
        return counted

    async def _recount(self, listed: SessionSummary) -> bool:
        if listed.count is not None and listed.count.chosen not in ("", *self._chosen_infos):
            await self._resolve(listed.count.chosen)
            if self.gauge(listed) is not None:
                return True
        try:
            events = await self.store.events(listed.id)
            state = await asyncio.to_thread(Transcript, events)
            info = await self._resolve(state.chosen_model)
            frame = replace(self.terms()[1], info=info)
            count = count_window(state, self.policy, info.window)
            used = gauge_of(count, self.policy, frame).used
            counted = replace(listed, count=count, used=used, window=info.window)
            if listed not in await self.store.sessions() or self.known(listed.id) is not None:
                return False  # it was opened or changed meanwhile: whoever does that counts
            await self.store.commit(listed.id, summary=counted)
        except StoreError as error:
            log.info("the session %s could not be counted again: %s", listed.id, error)
            self._uncountable.add(listed.id)
            return False
        return True

    async def _resolve(self, label: str) -> ModelInfo:
        """The model that answers where one of this label is chosen; empty: the workspace's."""
        roles = await self._chosen_roles(label)
        info = (roles or self.terms.roles).main.info
        if label:
            self._chosen_infos[label] = info
        return info

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
        this = next((one for one in listed if one.id == session), None)
        opened.ratios = dict(this.ratios) if this else {}
        conversation = await self._conversing(opened, scope)
        conversation.purse.children = {
            one.id: Spending(one.spent, one.cost) for one in listed if one.parent == session
        }
        if session in self._open:  # by somebody else meanwhile
            return self._open[session]
        self._open[session] = conversation
        opened.listen(lambda update: self._hear(opened, update))
        mended = await opened.mend()
        if this is not None and not mended:
            with suppress(StoreError):  # another process writes it: its line is that one's to correct
                await opened.correct_summary(this)
        return conversation

    async def _conversing(self, session: Session, scope: TaskScope) -> Conversation:
        """A session's conversation; a subagent's goes on under its own terms, with what subagents may do."""
        known = session.transcript
        leeway = Leeway(known.mode)
        chosen = await self._chosen_roles(known.chosen_model)
        if not known.parent:
            own = Terms(self._parts, lambda: self.policy, self.terms.roles, self._ratios)
            shared = SessionTerms(self.terms, own)
            if chosen is not None:
                await shared.choose(chosen)
            if session.id not in self._open:  # else it was opened meanwhile, with terms of its own
                self._own_terms[session.id] = shared
            return Conversation(session, scope, self._parts, shared, _Nursery(self, leeway, shared), leeway)
        parts = self._parts.for_subagents()
        roles = chosen or _by_role(self.terms.roles, known.answering)
        terms = Terms(parts, lambda: known.own_policy or self.policy, roles, self._ratios)
        await terms.use(roles)
        self._led[session.id] = (terms, known.answering)
        return Conversation(
            session, scope, parts, terms, leeway=leeway, above=lambda: self._paying(known.parent)
        )

    def _paying(self, parent: str) -> Purse | None:
        """The purse of the session that a subagent works for, while that is open."""
        return self._open[parent].purse if parent in self._open else None

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
        self, policy: Policy | None, model: Model | None, role: ModelRole, leeway: Leeway, roles: Roles
    ) -> Conversation:
        """A subagent's conversation, without a log yet; by the room's policy if none is given.

        Without a model the one of its role among `roles` answers.
        """
        parts, scope = self._parts.for_subagents(), TaskScope()
        roles = roles.with_main(model) if model is not None else _by_role(roles, role)
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
            self._own_terms.pop(session, None)

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

    def __init__(self, room: Room, leeway: Leeway, terms: SessionTerms) -> None:
        self._room, self._leeway, self._terms = room, leeway, terms

    async def admit(
        self, policy: Policy | None, model: Model | None, role: ModelRole = "main"
    ) -> Conversation:
        """A subagent's conversation, without a log yet."""
        return await self._room.admit(policy, model, role, self._leeway, self._terms.roles)

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended."""
        await self._room.release(session)


def _by_role(roles: Roles, role: ModelRole) -> Roles:
    """Return the roles with the model of one role as the main one; where none is set for it, unchanged."""
    return roles.with_main({"main": None, "fast": roles.fast, "long": roles.long}[role] or roles.main)

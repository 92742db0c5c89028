"""A room: one open workspace with its store, its sessions and its model."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.content_access import ContentAccess
from helix_desktop.agent.conversation import Conversation, SessionServices
from helix_desktop.agent.models.roles import ModelRoles, RolesResolver
from helix_desktop.agent.ports import Model
from helix_desktop.agent.run_settings import RunSettings, SessionRunSettings
from helix_desktop.agent.session import Session
from helix_desktop.agent.tool_calls.approvals import SessionPermissions
from helix_desktop.agent.updates import EventRecorded, ExternalChange, RequestChanged, Update
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.usage_gauge import UsageGauge, count_window, is_outdated, usage_from_count
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    AssistantSpoke,
    ModelChosen,
    ModelRole,
    RecordedEvent,
    SessionStarted,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.system.task_scope import TaskScope

log = logging.getLogger(__name__)


class OpenWorkspace(ContentAccess):
    """An open workspace. Its conversations run whether or not anybody looks.

    `reading` says that its folder is not there, so that it can be looked at and no more.
    """

    def __init__(
        self,
        workspace_id: str,
        services: SessionServices,
        policy: ContextPolicy,
        models: Model | ModelRoles,
        is_read_only: bool = False,
    ) -> None:
        super().__init__(services.store, services.counter)
        self.id = workspace_id
        self.is_read_only = is_read_only
        self.policy = policy
        self._services = services
        self.is_trusted = services.is_trusted  # whether something may run here, or be sent
        self._ratios: dict[str, float] = {}
        self.run_settings = RunSettings(services, lambda: self.policy, models, self._ratios)
        """What conversations run under now, with the models and their roles."""
        self._open: dict[str, Conversation] = {}
        self._subagents: dict[str, Conversation] = {}
        self._subagent_settings: dict[
            str, tuple[RunSettings, ModelRole]
        ] = {}  # of subagents that answer by a role, by session
        self._session_settings: dict[str, SessionRunSettings] = {}  # of sessions that a user works in
        self.resolve_roles: RolesResolver | None = None
        """Resolves the model that is chosen for one session; without it sessions follow the room."""
        self._overrides_choices = False  # whether one model answers whatever sessions have chosen
        self._listeners: list[Callable[[str, Update], None]] = []
        self._uncountable: set[str] = set()  # sessions whose logs cannot be read
        self._chosen_models: dict[str, ModelInfo] = {}  # of the models that listed sessions have chosen

    def clock(self) -> int:
        """Milliseconds since 1970."""
        return self._services.clock()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self.run_settings.model

    async def set_models(self, models: Model | ModelRoles) -> None:
        """Let other models work from the next step on; subagents at work go on with those they began with.

        A model alone is the new main one, beside the others as they are; it answers in every session, also
        where another one was chosen.
        """
        self._overrides_choices = not isinstance(models, ModelRoles)
        await self.run_settings.set_models(models)
        self._chosen_models.clear()
        for session in (*self._session_settings, *self._subagent_settings):
            known = self.find_open(session)
            if known is not None:
                await self._apply_choice(known)
        self._publish_request_changed()

    async def choose_model(self, session: str, label: str) -> None:
        """Let the model PROVIDER/NAME answer one open session from now on; empty: the workspace's default.

        Raises HelixError when it is not set up, StoreError.
        """
        conversation = self._open[session]
        if label and self.resolve_roles is not None:
            await self.resolve_roles(label)  # raises before anything is recorded
        await conversation.session.record(ModelChosen(label))
        await self._apply_choice(conversation)
        self._publish_request_changed()

    async def _apply_choice(self, conversation: Conversation) -> None:
        """Let the model answer that a session has chosen; a subagent at work goes on with the one it has."""
        session, transcript = conversation.session.id, conversation.session.transcript
        chosen = await self._chosen_roles(transcript.chosen_model)
        if (own := self._session_settings.get(session)) is not None:
            if chosen is None:
                own.follow_workspace()
            else:
                await own.choose_models(chosen)
        elif session in self._subagent_settings and not conversation.is_running:
            terms, role = self._subagent_settings[session]
            await terms.set_models(chosen or _roles_for_subagent(self.run_settings.roles, role))

    async def _chosen_roles(self, label: str) -> ModelRoles | None:
        """Return the roles under a chosen model; None without one, or when it is not set up any more."""
        if not label or self._overrides_choices or self.resolve_roles is None:
            return None
        try:
            return await self.resolve_roles(label)
        except HelixError as error:
            log.warning("the model chosen for a session is not used: %s", error)
            return None

    async def refresh_tools(self) -> None:
        """Let the model know of changed tools from the next step on; subagents keep those they began with."""
        await self.run_settings.refresh_tools()
        for own in tuple(self._session_settings.values()):
            await own.refresh_tools()
        self._publish_request_changed()

    def _publish_request_changed(self) -> None:
        for conversation in self.conversations:
            conversation.session.publish(RequestChanged())

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """All sessions that a person began, or the subagents of one, last used first."""
        return [one for one in await self.store.sessions() if one.parent == parent]

    def usage_of(self, summary: SessionSummary) -> UsageGauge | None:
        """How full the next request of a listed session would be; None until `recount` has counted it.

        None also for a subagent's while it is not open: it has a model and a policy of its own.
        """
        conversation = self.find_open(summary.id)
        if conversation is not None:
            return conversation.measure()[1]
        if summary.count is None or summary.parent or not self.run_settings.is_ready:
            return None
        _, frame, _ = self.run_settings()
        chosen = summary.count.chosen
        info = self._chosen_models.get(chosen) if chosen else frame.info
        if info is None or is_outdated(summary.count, self.policy, info.window):
            return None
        ratio = self._ratios.get(info.label, 1.0)
        return usage_from_count(summary.count, self.policy, replace(frame, info=info, ratio=ratio))

    async def recount_missing(self) -> bool:
        """Count the listed sessions for which there is no `gauge`, from their logs; whether there were any.

        Those of an older version, and those whose handover quotes more or less under another policy or model.
        """
        counted = False
        for one in await self.sessions():
            if self.run_settings.is_ready and one.id not in self._uncountable and self.usage_of(one) is None:
                counted = await self._recount(one) or counted
        return counted

    async def _recount(self, summary: SessionSummary) -> bool:
        if summary.count is not None and summary.count.chosen not in ("", *self._chosen_models):
            await self._resolve_model(summary.count.chosen)
            if self.usage_of(summary) is not None:
                return True
        try:
            events = await self.store.events(summary.id)
            state = await asyncio.to_thread(Transcript, events)
            info = await self._resolve_model(state.chosen_model)
            frame = replace(self.run_settings()[1], info=info)
            count = count_window(state, self.policy, info.window)
            used = usage_from_count(count, self.policy, frame).used
            counted = replace(summary, count=count, used=used, window=info.window)
            if summary not in await self.store.sessions() or self.find_open(summary.id) is not None:
                return False  # it was opened or changed meanwhile: whoever does that counts
            await self.store.commit(summary.id, summary=counted)
        except StoreError as error:
            log.info("the session %s could not be counted again: %s", summary.id, error)
            self._uncountable.add(summary.id)
            return False
        return True

    async def _resolve_model(self, label: str) -> ModelInfo:
        """The model that answers where one of this label is chosen; empty: the workspace's."""
        roles = await self._chosen_roles(label)
        info = (roles or self.run_settings.roles).main.info
        if label:
            self._chosen_models[label] = info
        return info

    async def create_session(self, title: str = NEW_TITLE) -> Conversation:
        """Begin a session."""
        conversation = await self.open_session(uuid.uuid4().hex)
        await conversation.session.record(SessionStarted(title))
        return conversation

    async def open_session(self, session: str) -> Conversation:
        """The conversation of a session, opened once; a turn that a crash cut off is marked interrupted."""
        known = self.find_open(session)
        if known is not None:
            self._open[session] = known
            return known
        if not self.run_settings.is_ready:
            await self.set_models(self.run_settings.roles)
        log = await self.store.events(session)
        transcript = await asyncio.to_thread(Transcript, log)
        listed = await self.store.sessions()
        if session in self._open:
            return self._open[session]
        scope = TaskScope()
        opened = Session(session, self.store, self._services.clock, scope, log, transcript)
        for one in listed:
            for label, ratio in one.ratios.items():
                self._ratios.setdefault(label, ratio)  # the newest session comes first
        this = next((one for one in listed if one.id == session), None)
        opened.ratios = dict(this.ratios) if this else {}
        conversation = await self._create_conversation(opened, scope)
        conversation.budget.subagent_spending = {
            one.id: Spending(one.spent, one.cost) for one in listed if one.parent == session
        }
        if session in self._open:  # by somebody else meanwhile
            return self._open[session]
        self._open[session] = conversation
        opened.listen(lambda update: self._on_update(opened, update))
        mended = await opened.close_interrupted()
        if this is not None and not mended:
            with suppress(StoreError):  # another process writes it: its line is that one's to correct
                await opened.correct_summary(this)
        return conversation

    async def _create_conversation(self, session: Session, scope: TaskScope) -> Conversation:
        """A session's conversation; a subagent's goes on under its own terms, with what subagents may do."""
        known = session.transcript
        leeway = SessionPermissions(known.mode)
        chosen = await self._chosen_roles(known.chosen_model)
        if not known.parent:
            own = RunSettings(self._services, lambda: self.policy, self.run_settings.roles, self._ratios)
            shared = SessionRunSettings(self.run_settings, own)
            if chosen is not None:
                await shared.choose_models(chosen)
            if session.id not in self._open:  # else it was opened meanwhile, with terms of its own
                self._session_settings[session.id] = shared
            return Conversation(
                session, scope, self._services, shared, _SubagentFactory(self, leeway, shared), leeway
            )
        parts = self._services.for_subagents()
        roles = chosen or _roles_for_subagent(self.run_settings.roles, known.model_role)
        terms = RunSettings(parts, lambda: known.session_policy or self.policy, roles, self._ratios)
        await terms.set_models(roles)
        self._subagent_settings[session.id] = (terms, known.model_role)
        return Conversation(
            session,
            scope,
            parts,
            terms,
            permissions=leeway,
            parent_budget=lambda: self._parent_budget(known.parent),
        )

    def _parent_budget(self, parent: str) -> SessionBudget | None:
        """The purse of the session that a subagent works for, while that is open."""
        return self._open[parent].budget if parent in self._open else None

    def _on_update(self, session: Session, update: Update) -> None:
        match update:
            case EventRecorded(recorded=RecordedEvent(event=AssistantSpoke(model=model))) if (
                model in session.ratios
            ):
                self._ratios[model] = session.ratios[model]
        payer = self._parent_budget(session.transcript.parent)
        if payer is not None:
            payer.subagent_spending[session.id] = session.transcript.spending
        if session.id in self._open:  # of a subagent that nobody looks at, its parent tells
            for listener in tuple(self._listeners):
                listener(session.id, update)

    async def create_subagent(
        self,
        policy: ContextPolicy | None,
        model: Model | None,
        role: ModelRole,
        permissions: SessionPermissions,
        roles: ModelRoles,
    ) -> Conversation:
        """A subagent's conversation, without a log yet; by the room's policy if none is given.

        Without a model the one of its role among `roles` answers.
        """
        parts, scope = self._services.for_subagents(), TaskScope()
        roles = roles.with_main(model) if model is not None else _roles_for_subagent(roles, role)
        terms = RunSettings(parts, lambda: policy or self.policy, roles, self._ratios)
        await terms.set_models(terms.roles)
        session = Session(uuid.uuid4().hex, self.store, parts.clock, scope, [], Transcript())
        if model is None:
            self._subagent_settings[session.id] = (terms, role)
        session.listen(lambda update: self._on_update(session, update))
        self._subagents[session.id] = Conversation(
            *(session, scope, parts, terms),
            permissions=permissions,
            is_subagent=True,
            parent_budget=lambda: self._parent_budget(session.transcript.parent),
        )
        return self._subagents[session.id]

    async def release_subagent(self, session: str) -> None:
        """Let go of a subagent that has ended, unless somebody has opened its session."""
        if session not in self._open:
            await self._subagents[session].close()
            self._subagent_settings.pop(session, None)
        del self._subagents[session]

    async def close_session(self, session: str) -> None:
        """End what runs in a session and let go of it: the next `open` reads it anew from the store."""
        conversation = self._open.get(session)
        if conversation is not None:
            await conversation.close()
            self._open.pop(session, None)
            self._subagent_settings.pop(session, None)
            self._session_settings.pop(session, None)

    def listen(self, listener: Callable[[str, Update], None]) -> Callable[[], None]:
        """Hear the updates of every open session, and of subagents what their parents tell of them.

        Call the returned function to stop.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def find_open(self, session: str) -> Conversation | None:
        """The conversation of a session that is open, or works for another one; None when it is neither."""
        return self._open.get(session) or self._subagents.get(session)

    def publish_external_change(self, session: str) -> None:
        """Tell the listeners that another process stored something of a session (empty: of any)."""
        for listener in tuple(self._listeners):
            listener(session, ExternalChange())

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversations that are open."""
        return tuple(self._open.values())

    async def close(self) -> None:
        """End every turn, then close the store."""
        for conversation in (*self._open.values(), *self._subagents.values()):
            await conversation.close()
        await self.store.close()


class _SubagentFactory:
    """Where the subagents of one conversation come from: they act as freely as it does, and no more."""

    def __init__(
        self, workspace: OpenWorkspace, permissions: SessionPermissions, run_settings: SessionRunSettings
    ) -> None:
        self._workspace, self._permissions, self._run_settings = workspace, permissions, run_settings

    async def create_subagent(
        self, policy: ContextPolicy | None, model: Model | None, role: ModelRole = "main"
    ) -> Conversation:
        """A subagent's conversation, without a log yet."""
        return await self._workspace.create_subagent(
            policy, model, role, self._permissions, self._run_settings.roles
        )

    async def release_subagent(self, session: str) -> None:
        """Let go of a subagent that has ended."""
        await self._workspace.release_subagent(session)


def _roles_for_subagent(roles: ModelRoles, role: ModelRole) -> ModelRoles:
    """Return the roles with the model of one role as the main one; where none is set for it, unchanged."""
    return roles.with_main({"main": None, "fast": roles.fast, "long": roles.long}[role] or roles.main)

"""An open workspace: its store, its sessions and its models."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.cached_content import ContentAccess
from helix_desktop.agent.conversation import Conversation, SessionServices
from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import ConfiguredModels, ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import Model
from helix_desktop.agent.run_settings import RunSettings, SessionRunSettings
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_updates import EventRecorded, ExternalChange, RequestChanged, Update
from helix_desktop.agent.tool_calls.approvals import SessionPermissions
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
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.system.task_scope import TaskScope

log = logging.getLogger(__name__)


class OpenWorkspace(ContentAccess):
    """An open workspace. Its conversations run whether or not a view shows them.

    `is_read_only` is True if the folder is missing, so that its sessions can only be read. Without
    `configured_models` every session follows the workspace's models.
    """

    def __init__(
        self,
        workspace_id: str,
        services: SessionServices,
        policy: ContextPolicy,
        models: Model | ModelRoles,
        is_read_only: bool = False,
        configured_models: ConfiguredModels | None = None,
    ) -> None:
        super().__init__(services.store, services.counter)
        self.id = workspace_id
        self.is_read_only = is_read_only
        self._policy = policy
        self._services = services
        self.is_trusted = services.is_trusted  # returns True if tools may run here and requests may be sent
        self._ratios: dict[str, float] = {}
        self.run_settings = RunSettings(services, lambda: self.policy, models, self._ratios)
        """The settings that conversations run under now, with the models and their roles."""
        self._open: dict[str, Conversation] = {}
        self._subagents: dict[str, Conversation] = {}
        self._subagent_settings: dict[
            str, tuple[RunSettings, ModelRole]
        ] = {}  # of subagents that use the model of a role, by session id
        self._session_settings: dict[str, SessionRunSettings] = {}  # of top-level sessions, by session id
        self._configured_models = configured_models
        self._overrides_choices = False  # True if one model answers in every session
        self._listeners: list[Callable[[str, Update], None]] = []
        self._uncountable: set[str] = set()  # sessions whose logs cannot be read
        self._chosen_models: dict[str, ModelInfo] = {}  # by label, of models chosen in listed sessions

    def clock(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self._services.clock()

    @property
    def policy(self) -> ContextPolicy:
        """The context policy. Another one is used from the next step on."""
        return self._policy

    @policy.setter
    def policy(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._publish_request_changed()

    @property
    def model(self) -> Model:
        """The model that answers in this workspace."""
        return self.run_settings.model

    async def set_models(self, models: Model | ModelRoles) -> None:
        """Use other models from the next step on; running subagents keep theirs.

        A single model becomes the main one and the other roles stay; it answers in every session, even where
        another one was chosen.
        """
        self._overrides_choices = not isinstance(models, ModelRoles)
        await self.run_settings.set_models(models)
        self._chosen_models.clear()
        for session_id in (*self._session_settings, *self._subagent_settings):
            conversation = self.find_open(session_id)
            if conversation is not None:
                await self._apply_choice(conversation)
        self._publish_request_changed()

    async def choose_model(self, session: str, label: str) -> None:
        """Use the model PROVIDER/NAME in one open session from now on; empty: the workspace's default.

        Raises HelixError if it is not set up, StoreError.
        """
        conversation = self._open[session]
        if label and self._configured_models is not None:
            await self._configured_models.roles(label)  # raises before anything is recorded
        await conversation.session.record(ModelChosen(label))
        await self._apply_choice(conversation)
        conversation.model_choice.accept()
        self._publish_request_changed()

    async def _apply_choice(self, conversation: Conversation) -> None:
        """Apply the model that a session has chosen; a running subagent keeps the one it has."""
        session_id, transcript = conversation.session.id, conversation.session.transcript
        roles = await self._chosen_roles(transcript.chosen_model)
        if (session_settings := self._session_settings.get(session_id)) is not None:
            if roles is None:
                session_settings.follow_workspace()
            else:
                await session_settings.choose_models(roles)
        elif session_id in self._subagent_settings and not conversation.is_running:
            subagent_settings, role = self._subagent_settings[session_id]
            await subagent_settings.set_models(roles or _roles_for_subagent(self.run_settings.roles, role))

    async def _chosen_roles(self, label: str) -> ModelRoles | None:
        """Return the roles under a chosen model; None if none is chosen, or it is no longer set up."""
        if not label or self._overrides_choices or self._configured_models is None:
            return None
        try:
            return await self._configured_models.roles(label)
        except HelixError as error:
            log.warning("the model chosen for a session is not used: %s", error)
            return None

    async def refresh_tools(self) -> None:
        """Send changed tools to the model from the next step on; subagents keep those they started with."""
        await self.run_settings.refresh_tools()
        for session_settings in tuple(self._session_settings.values()):
            await session_settings.refresh_tools()
        self._publish_request_changed()

    def _publish_request_changed(self) -> None:
        for conversation in self.conversations:
            conversation.session.publish(RequestChanged())

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """Return the top-level sessions, or the subagents of `parent`, last used first."""
        return [summary for summary in await self.store.sessions() if summary.parent == parent]

    def usage_of(self, summary: SessionSummary) -> UsageGauge | None:
        """Return the usage of a listed session's next request; None until `recount_missing` has counted it.

        None also for a subagent's session that is not open: it has a model and a policy of its own.
        """
        conversation = self.find_open(summary.id)
        if conversation is not None:
            return conversation.measure()[1]
        if summary.count is None or summary.parent or not self.run_settings.is_ready:
            return None
        _, frame, _ = self.run_settings()
        chosen_label = summary.count.chosen
        info = self._chosen_models.get(chosen_label) if chosen_label else frame.info
        if info is None or is_outdated(summary.count, self.policy, info.window):
            return None
        ratio = self._ratios.get(info.label, 1.0)
        return usage_from_count(summary.count, self.policy, replace(frame, info=info, ratio=ratio))

    async def recount_missing(self) -> bool:
        """Count the listed sessions without `usage_of` from their logs. Return True if any was counted.

        These are sessions of an older version, and those whose handover quotes more or less under another
        policy or model.
        """
        counted = False
        for summary in await self.sessions():
            if (
                self.run_settings.is_ready
                and summary.id not in self._uncountable
                and self.usage_of(summary) is None
            ):
                counted = await self._recount(summary) or counted
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
                return False  # opened or changed meanwhile: that code counts it
            await self.store.commit(Commit(summary.id, summary=counted))
        except StoreError as error:
            log.info("the session %s could not be counted again: %s", summary.id, error)
            self._uncountable.add(summary.id)
            return False
        return True

    async def _resolve_model(self, label: str) -> ModelInfo:
        """Return the model used where `label` is chosen; empty: the workspace's."""
        roles = await self._chosen_roles(label)
        info = (roles or self.run_settings.roles).main.info
        if label:
            self._chosen_models[label] = info
        return info

    async def create_session(self, title: str = NEW_TITLE) -> Conversation:
        """Create a session and return its conversation."""
        conversation = await self.open_session(uuid.uuid4().hex)
        await conversation.session.record(SessionStarted(title))
        return conversation

    async def open_session(self, session: str) -> Conversation:
        """Return a session's conversation, opened once; a turn cut off by a crash is marked interrupted."""
        conversation = self.find_open(session)
        if conversation is not None:
            self._open[session] = conversation
            return conversation
        if not self.run_settings.is_ready:
            await self.set_models(self.run_settings.roles)
        log = await self.store.events(session)
        transcript = await asyncio.to_thread(Transcript, log)
        listed = await self.store.sessions()
        if session in self._open:
            return self._open[session]
        scope = TaskScope()
        session_state = Session(session, self.store, self._services.clock, scope, log, transcript)
        for summary in listed:
            for label, ratio in summary.ratios.items():
                self._ratios.setdefault(label, ratio)  # the newest session comes first
        own_summary = next((summary for summary in listed if summary.id == session), None)
        session_state.ratios = dict(own_summary.ratios) if own_summary else {}
        conversation = await self._create_conversation(session_state, scope)
        conversation.budget.subagent_spending = {
            summary.id: Spending(summary.spent, summary.cost)
            for summary in listed
            if summary.parent == session
        }
        if session in self._open:  # opened by another task meanwhile
            return self._open[session]
        self._open[session] = conversation
        session_state.listen(lambda update: self._on_update(session_state, update))
        was_interrupted = await session_state.close_interrupted()
        if own_summary is not None and not was_interrupted:
            with suppress(StoreError):  # another process writes it and corrects its summary
                await session_state.correct_summary(own_summary)
        return conversation

    async def _create_conversation(self, session: Session, scope: TaskScope) -> Conversation:
        """Create a session's conversation; a subagent's gets its own settings and a subagent's tools."""
        transcript = session.transcript
        permissions = SessionPermissions(transcript.mode)
        chosen_roles = await self._chosen_roles(transcript.chosen_model)
        if not transcript.parent:
            own_settings = RunSettings(
                self._services, lambda: self.policy, self.run_settings.roles, self._ratios
            )
            session_settings = SessionRunSettings(self.run_settings, own_settings)
            if chosen_roles is not None:
                await session_settings.choose_models(chosen_roles)
            if session.id not in self._open:  # else it was opened meanwhile, with its own settings
                self._session_settings[session.id] = session_settings
            return Conversation(
                session,
                scope,
                self._services,
                session_settings,
                _SubagentFactory(self, permissions, session_settings),
                permissions,
                model_choice=self._model_choice(session, session_settings),
            )
        services = self._services.for_subagents()
        roles = chosen_roles or _roles_for_subagent(self.run_settings.roles, transcript.model_role)
        settings = RunSettings(
            services, lambda: transcript.session_policy or self.policy, roles, self._ratios
        )
        await settings.set_models(roles)
        self._subagent_settings[session.id] = (settings, transcript.model_role)
        return Conversation(
            session,
            scope,
            services,
            settings,
            permissions=permissions,
            parent_budget=lambda: self._parent_budget(transcript.parent),
            model_choice=self._model_choice(session, settings),
        )

    def _model_choice(self, session: Session, settings: RunSettingsSource) -> ModelChoice:
        configured = self._configured_models
        if configured is None:
            return ModelChoice(session, settings)
        return ModelChoice(session, settings, configured.is_configured, lambda: self._overrides_choices)

    def _parent_budget(self, parent: str) -> SessionBudget | None:
        """Return the budget of a subagent's parent session; None while that is not open."""
        return self._open[parent].budget if parent in self._open else None

    def _on_update(self, session: Session, update: Update) -> None:
        match update:
            case EventRecorded(recorded=RecordedEvent(event=AssistantSpoke(model=model))) if (
                model in session.ratios
            ):
                self._ratios[model] = session.ratios[model]
        parent_budget = self._parent_budget(session.transcript.parent)
        if parent_budget is not None:
            parent_budget.subagent_spending[session.id] = session.transcript.spending
        if session.id in self._open:  # else it is a subagent, whose parent reports
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
        """Create a subagent's conversation, without a log yet; the default policy is the workspace's.

        If `model` is None, the model of `role` among `roles` answers.
        """
        services, scope = self._services.for_subagents(), TaskScope()
        roles = roles.with_main(model) if model is not None else _roles_for_subagent(roles, role)
        settings = RunSettings(services, lambda: policy or self.policy, roles, self._ratios)
        await settings.set_models(settings.roles)
        session = Session(uuid.uuid4().hex, self.store, services.clock, scope, [], Transcript())
        if model is None:
            self._subagent_settings[session.id] = (settings, role)
        session.listen(lambda update: self._on_update(session, update))
        self._subagents[session.id] = Conversation(
            *(session, scope, services, settings),
            permissions=permissions,
            is_subagent=True,
            parent_budget=lambda: self._parent_budget(session.transcript.parent),
            model_choice=self._model_choice(session, settings),
        )
        return self._subagents[session.id]

    async def release_subagent(self, session: str) -> None:
        """Release a subagent that has ended, unless its session was opened."""
        if session not in self._open:
            await self._subagents[session].close()
            self._subagent_settings.pop(session, None)
        del self._subagents[session]

    async def close_session(self, session: str) -> None:
        """Stop what runs in a session and release it: `open_session` then reads it from the store again."""
        conversation = self._open.get(session)
        if conversation is not None:
            await conversation.close()
            self._open.pop(session, None)
            self._subagent_settings.pop(session, None)
            self._session_settings.pop(session, None)

    def listen(self, listener: Callable[[str, Update], None]) -> Callable[[], None]:
        """Subscribe to the updates of every open session; for subagents, their parents' reports.

        Call the returned function to unsubscribe.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def find_open(self, session: str) -> Conversation | None:
        """Return the conversation of an open session or a running subagent; None if it is neither."""
        return self._open.get(session) or self._subagents.get(session)

    def publish_external_change(self, session: str) -> None:
        """Notify listeners that another process stored something in a session (empty: in any)."""
        for listener in tuple(self._listeners):
            listener(session, ExternalChange())

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The open conversations."""
        return tuple(self._open.values())

    async def close(self) -> None:
        """Stop every turn, then close the store."""
        for conversation in (*self._open.values(), *self._subagents.values()):
            await conversation.close()
        await self.store.close()


class _SubagentFactory:
    """A factory of one conversation's subagents: they share its permissions."""

    def __init__(
        self, workspace: OpenWorkspace, permissions: SessionPermissions, run_settings: SessionRunSettings
    ) -> None:
        self._workspace, self._permissions, self._run_settings = workspace, permissions, run_settings

    async def create_subagent(
        self, policy: ContextPolicy | None, model: Model | None, role: ModelRole = "main"
    ) -> Conversation:
        """Create a subagent's conversation, without a log yet."""
        return await self._workspace.create_subagent(
            policy, model, role, self._permissions, self._run_settings.roles
        )

    async def release_subagent(self, session: str) -> None:
        """Release a subagent that has ended."""
        await self._workspace.release_subagent(session)


def _roles_for_subagent(roles: ModelRoles, role: ModelRole) -> ModelRoles:
    """Return the roles with the model of `role` as the main one; unchanged if that role is not set."""
    return roles.with_main({"main": None, "fast": roles.fast, "long": roles.long}[role] or roles.main)

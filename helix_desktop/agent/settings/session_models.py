"""Session models: which models, tools and policy each session of a workspace works with."""

from __future__ import annotations

import logging
from collections.abc import Callable

from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import ConfiguredModels, ModelRoles, RunSettingsSource
from helix_desktop.agent.ports.model import Model
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.settings.run_settings import RunSettings, SessionRunSettings
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import ModelRole
from helix_desktop.domain.messages import ModelInfo

log = logging.getLogger(__name__)


class SessionModels:
    """The models of one workspace: those of all its sessions, those chosen for one, those of subagents.

    `shared` are the settings of the sessions that follow the workspace. `ratios` maps model labels to the
    provider's tokens per token of our count, as measured so far, in other workspaces too if these share it.
    """

    def __init__(
        self,
        services: SessionServices,
        policy: Callable[[], ContextPolicy],
        models: Model | ModelRoles,
        configured_models: ConfiguredModels | None = None,
        ratios: dict[str, float] | None = None,
    ) -> None:
        """`policy` returns the workspace's policy. Without `configured_models` no session has a choice."""
        self._services, self._policy, self._configured_models = services, policy, configured_models
        self.ratios = {} if ratios is None else ratios
        self.shared = RunSettings(services, policy, models, self.ratios)
        self._overrides_choices = False  # True if one model answers in every session
        self._sessions: dict[str, SessionRunSettings] = {}  # of top-level sessions, by session id
        self._subagents: dict[str, tuple[RunSettings, ModelRole]] = {}  # that use the model of a role
        self._chosen_models: dict[str, ModelInfo] = {}  # by label, of models chosen in listed sessions

    async def set_shared(self, models: Model | ModelRoles) -> None:
        """Use other models from the next step on; a single one answers in every session.

        `apply_choice` then has to be called for every open session.
        """
        self._overrides_choices = not isinstance(models, ModelRoles)
        await self.shared.set_models(models)
        self._chosen_models.clear()

    async def refresh_tools(self) -> None:
        """Send changed tools to the models from the next step on; subagents keep those they started with."""
        await self.shared.refresh_tools()
        for settings in tuple(self._sessions.values()):
            await settings.refresh_tools()

    async def require_configured(self, label: str) -> None:
        """Raise HelixError if a model is not set up."""
        if label and self._configured_models is not None:
            await self._configured_models.roles(label)

    async def _chosen_roles(self, label: str) -> ModelRoles | None:
        """Return the roles under a chosen model; None if none is chosen, or it is no longer set up."""
        if not label or self._overrides_choices or self._configured_models is None:
            return None
        try:
            return await self._configured_models.roles(label)
        except HelixError as error:
            log.warning("the model chosen for a session is not used: %s", error)
            return None

    async def apply_choice(self, session: Session, is_running: bool) -> None:
        """Apply the model that a session has chosen; a running subagent keeps the one it has."""
        roles = await self._chosen_roles(session.transcript.chosen_model)
        if (settings := self._sessions.get(session.id)) is not None:
            if roles is None:
                settings.follow_workspace()
            else:
                await settings.choose_models(roles)
        elif session.id in self._subagents and not is_running:
            subagent_settings, role = self._subagents[session.id]
            await subagent_settings.set_models(roles or self.shared.roles.for_subagent(role))

    async def open(self, session_id: str, transcript: Transcript) -> SessionRunSettings:
        """Return the settings of a top-level session that is opened."""
        own = RunSettings(self._services, self._policy, self.shared.roles, self.ratios)
        settings = SessionRunSettings(self.shared, own, lambda: transcript.session_policy)
        roles = await self._chosen_roles(transcript.chosen_model)
        if roles is not None:
            await settings.choose_models(roles)
        return self._sessions.setdefault(session_id, settings)  # it may have been opened meanwhile

    async def open_subagent(
        self, session_id: str, transcript: Transcript, services: SessionServices
    ) -> RunSettings:
        """Return the settings of a subagent's session that is opened."""
        role = transcript.model_role
        roles = await self._chosen_roles(transcript.chosen_model) or self.shared.roles.for_subagent(role)
        settings = RunSettings(
            services, lambda: transcript.session_policy or self._policy(), roles, self.ratios
        )
        await settings.set_models(roles)
        self._subagents[session_id] = settings, role
        return settings

    async def start_subagent(
        self,
        session_id: str,
        services: SessionServices,
        policy: ContextPolicy | None,
        roles: ModelRoles,
        role: ModelRole | None,
    ) -> RunSettings:
        """Return the settings of a new subagent; without a `role` its main model is the one of `roles`."""
        if role is not None:
            roles = roles.for_subagent(role)
        settings = RunSettings(services, lambda: policy or self._policy(), roles, self.ratios)
        await settings.set_models(roles)
        if role is not None:
            self._subagents[session_id] = settings, role
        return settings

    def close(self, session_id: str) -> None:
        """Drop the settings of a session that is closed."""
        self._sessions.pop(session_id, None)
        self._subagents.pop(session_id, None)

    def choice_of(self, session: Session, settings: RunSettingsSource) -> ModelChoice:
        """Return the choice of the model that goes on with a session."""
        configured = self._configured_models
        if configured is None:
            return ModelChoice(session, settings)
        return ModelChoice(session, settings, configured.is_configured, lambda: self._overrides_choices)

    def known_model(self, label: str) -> ModelInfo | None:
        """Return the model used where `label` is chosen, once resolved; empty: the workspace's."""
        return self._chosen_models.get(label) if label else self.shared.roles.main.info

    async def resolve_model(self, label: str) -> ModelInfo:
        """Return the model used where `label` is chosen; empty: the workspace's."""
        info = (await self._chosen_roles(label) or self.shared.roles).main.info
        if label:
            self._chosen_models[label] = info
        return info

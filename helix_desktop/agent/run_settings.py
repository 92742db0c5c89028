"""Run settings: the policy, prompt frame, models and tools that each session of a workspace works with."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from helix_desktop.agent.model_roles import (
    ConfiguredModels,
    DeferredToolsModel,
    ImageLoadingModel,
    ModelRoles,
)
from helix_desktop.agent.ports import Model, without_refused_tools
from helix_desktop.agent.session import ModelChoice, Session
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.trust import GatedModel
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import ModelRole, WindowLearned
from helix_desktop.domain.messages import ModelInfo, ToolSpec
from helix_desktop.domain.model_spec import LEAST_WINDOW, with_smaller_window

log = logging.getLogger(__name__)


class RunSettings:
    """The settings of a workspace's conversations, or of one subagent; called before each step.

    `policy` returns the current policy; `ratios` maps model labels to the provider's tokens per token of our
    count, as measured in earlier sessions.
    """

    def __init__(
        self,
        services: SessionServices,
        policy: Callable[[], ContextPolicy],
        models: Model | ModelRoles,
        ratios: Mapping[str, float],
    ) -> None:
        self.roles = models if isinstance(models, ModelRoles) else ModelRoles(models)
        """The models as passed in, without the trust check."""
        self._services = services
        self._policy = policy
        self._ratios = ratios
        self._frame: PromptFrame | None = None
        self._roles = self.roles
        self._scaled = ScaledPolicy()
        self._frame_lock = asyncio.Lock()

    @property
    def model(self) -> Model:
        return self.roles.main

    async def set_models(self, models: Model | ModelRoles) -> None:
        """Use other models from the next step on; must be called once before the first step.

        A single model becomes the main one; the other roles stay.
        """
        async with self._frame_lock:
            await self._set_models(models if isinstance(models, ModelRoles) else self.roles.with_main(models))

    async def refresh_tools(self) -> None:
        """Send the current tools from the next step on; do nothing if they are unchanged.

        A change voids the provider's prompt cache: the tools come first in the request.
        """
        async with self._frame_lock:
            tools = without_refused_tools(self._services.specs, self.roles.main)
            if self._frame is not None and self._frame.tools != tools:
                await self._set_models(self.roles)

    async def _set_models(self, roles: ModelRoles) -> None:
        system = self._services.prompts["system"]
        offered = self._services.specs
        tools = without_refused_tools(offered, roles.main)
        mcp_tools = [spec for spec in tools if spec.is_for_mcp]
        counts = await self._services.counter.count(
            [system, schemas_json(tools), *map(schema_json, mcp_tools)]
        )
        self.roles = roles
        self._frame = PromptFrame(
            roles.main.info,
            system,
            tools,
            counts[0],
            counts[1],
            mcp_tokens=sum(counts[2:]),
            deferred_tools=tuple(
                spec.name for spec in self._services.tools.specs if spec.is_mcp and spec not in offered
            ),
        )
        self._roles = roles.map_models(self._wrap_model)

    def _wrap_model(self, model: Model) -> Model:
        """Return the model with the checks, the images it may see, and deferred tools."""
        services = self._services
        gated = GatedModel(model, services.is_trusted, services.find_policy_error)
        return DeferredToolsModel(ImageLoadingModel(gated, services.store))

    @property
    def is_ready(self) -> bool:
        return self._frame is not None

    def __call__(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        """Return policy, frame and models; the same objects until one changes, so measurements stay valid."""
        assert self._frame is not None  # set before the first conversation opens
        info = self.roles.main.info
        if info is not self._frame.info and info != self._frame.info:  # an error showed a smaller window
            self._frame = msgspec.structs.replace(self._frame, info=info)
        ratio = self._ratios.get(self._frame.info.label, 1.0)
        if ratio != self._frame.ratio:
            self._frame = msgspec.structs.replace(self._frame, ratio=ratio)
        return self._scaled(self._policy(), self._frame.info.window), self._frame, self._roles

    @property
    def unscaled_policy(self) -> ContextPolicy:
        return self._policy()


class ScaledPolicy:
    """A policy for a model's window: the same object until policy or window change."""

    def __init__(self) -> None:
        self._newest: tuple[ContextPolicy, int, ContextPolicy] | None = None

    def __call__(self, policy: ContextPolicy, window_size: int) -> ContextPolicy:
        if self._newest is None or self._newest[0] is not policy or self._newest[1] != window_size:
            self._newest = (policy, window_size, policy.scaled(window_size))
        return self._newest[2]


class SessionRunSettings:
    """The settings of one session: its workspace's, until a model or policy is chosen for it alone."""

    def __init__(self, shared: RunSettings, own: RunSettings, transcript: Transcript) -> None:
        """Start with the shared settings; `own` is used once `choose_models` has been called.

        The `transcript` has the policy that was chosen for the session alone, if one was, and the windows
        that its models' servers said in errors.
        """
        self._shared = shared
        self._own = own
        self._uses_own = False
        self._transcript = transcript
        self._scaled = ScaledPolicy()
        self._smaller_frame: tuple[PromptFrame, WindowLearned, PromptFrame] | None = None

    async def choose_models(self, roles: ModelRoles) -> None:
        await self._own.set_models(roles)
        self._uses_own = True

    def follow_workspace(self) -> None:
        self._uses_own = False

    async def refresh_tools(self) -> None:
        """Send changed tools to the session's own model; the workspace refreshes the shared settings."""
        if self._uses_own:
            await self._own.refresh_tools()

    @property
    def roles(self) -> ModelRoles:
        return self._own.roles if self._uses_own else self._shared.roles

    def __call__(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        settings = self._own if self._uses_own else self._shared
        policy, shared_frame, roles = settings()
        frame = self._with_learned_window(shared_frame)
        session_policy = self._transcript.session_policy
        if session_policy is not None:
            policy = self._scaled(session_policy, frame.info.window)
        elif frame is not shared_frame:
            policy = self._scaled(settings.unscaled_policy, frame.info.window)
        return policy, frame, roles

    def _with_learned_window(self, frame: PromptFrame) -> PromptFrame:
        """Return the frame with a window that only this session knows of.

        One below `LEAST_WINDOW`, or one that a server's counts showed. It counts as long as the window is
        set that was believed then.
        """
        learned = self._transcript.learned_windows.get(frame.info.label)
        if learned is None or learned.believed != frame.info.window:
            return frame
        if learned.window >= LEAST_WINDOW and not learned.from_counts:
            return frame
        former = self._smaller_frame
        if former is not None and former[0] is frame and former[1] is learned:
            return former[2]
        info = with_smaller_window(frame.info, learned.window)
        smaller = msgspec.structs.replace(frame, info=info)
        self._smaller_frame = (frame, learned, smaller)
        return smaller


def schema_json(tool: ToolSpec) -> str:
    """Return a tool about as a request holds it, for counting."""
    return json.dumps(msgspec.to_builtins(tool))


def schemas_json(tools: Sequence[ToolSpec]) -> str:
    return json.dumps([msgspec.to_builtins(spec) for spec in tools])


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
        self._services = services
        self._policy = policy
        self._configured_models = configured_models
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
        own = RunSettings(self._services, self._policy, self.shared.roles, self.ratios)
        settings = SessionRunSettings(self.shared, own, transcript)
        roles = await self._chosen_roles(transcript.chosen_model)
        if roles is not None:
            await settings.choose_models(roles)
        return self._sessions.setdefault(session_id, settings)  # it may have been opened meanwhile

    async def open_subagent(
        self, session_id: str, transcript: Transcript, services: SessionServices
    ) -> RunSettings:
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
        if role is not None:
            roles = roles.for_subagent(role)
        settings = RunSettings(services, lambda: policy or self._policy(), roles, self.ratios)
        await settings.set_models(roles)
        if role is not None:
            self._subagents[session_id] = settings, role
        return settings

    def close(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._subagents.pop(session_id, None)

    def choice_of(self, session: Session) -> ModelChoice:
        configured = self._configured_models
        find_policy_error = self._services.find_policy_error
        if configured is None:
            return ModelChoice(session, find_policy_error=find_policy_error)
        return ModelChoice(
            session,
            configured.is_configured,
            lambda: self._overrides_choices,
            find_policy_error=find_policy_error,
        )

    def known_model(self, label: str) -> ModelInfo | None:
        """Return the model used where `label` is chosen, once resolved; empty: the workspace's."""
        return self._chosen_models.get(label) if label else self.shared.roles.main.info

    async def resolve_model(self, label: str) -> ModelInfo:
        """Return the model used where `label` is chosen; empty: the workspace's."""
        info = (await self._chosen_roles(label) or self.shared.roles).main.info
        if label:
            self._chosen_models[label] = info
        return info

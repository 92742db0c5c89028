"""Session services: what the conversations of one workspace share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from types import MappingProxyType

from helix_desktop.agent.model_roles import RunSettingsSource, SlowModels
from helix_desktop.agent.ports import (
    Approver,
    AutoRunStore,
    FileHistory,
    FileReader,
    FileVersionChecker,
    InstructionSource,
    LineSearch,
    Store,
    TokenCounter,
    Tools,
    WorkspacePermissions,
)
from helix_desktop.agent.session import Session
from helix_desktop.agent.subagents import SubagentTools
from helix_desktop.agent.tool_calls.approvals import InteractiveApprover
from helix_desktop.agent.tool_calls.toolset import SessionTools
from helix_desktop.agent.trust import FindPolicyError, IsTrusted, TrustGatedTools
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.deferred_tools import request_tools
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.system.clock import ClockMs, WaitSeconds
from helix_desktop.system.task_scope import TaskScope


class SessionServices:
    """The services that the conversations of one workspace share.

    `prompts` holds the prompts by name, without their version lines; `versions` holds the version that events
    record for each. `is_trusted` returns True if the user trusts the workspace's folder,
    `find_policy_error` what is wrong with the file of its policy. `delegate_spec` is
    the spec of the tool that starts subagents; without it there are none. Without a `file_checker` only what
    the agent's own calls change is known, without a `file_reader` no file can be attached by its path,
    without `instructions` no session is told of its workspace, without a `file_history` no change of a file
    can be undone, without a `line_search` nothing is recalled by a pattern, without `auto_run`
    nothing that a call changed is taken back. Without `slow_models` of the app
    the workspace remembers its own. `wants_titles` returns True if the fast model names new sessions.
    `create_session_tools` returns the tools that know the session that
    calls them. A turn awaits the listeners of `before_request` before each step.
    """

    def __init__(
        self,
        store: Store,
        tools: Tools,
        counter: TokenCounter,
        permissions: WorkspacePermissions,
        clock: ClockMs,
        prompts: Mapping[str, str],
        approver: Approver | None = None,
        is_trusted: IsTrusted = lambda: True,
        delegate_spec: ToolSpec | None = None,
        file_checker: FileVersionChecker | None = None,
        create_session_tools: Callable[[Session], Tools] | None = None,
        file_reader: FileReader | None = None,
        instructions: InstructionSource | None = None,
        file_history: FileHistory | None = None,
        line_search: LineSearch | None = None,
        slow_models: SlowModels | None = None,
        auto_run: AutoRunStore | None = None,
        wait_s: WaitSeconds = asyncio.sleep,
        wants_titles: Callable[[], bool] = lambda: False,
        find_policy_error: FindPolicyError = lambda: None,
    ) -> None:
        self.store = store
        self.counter = counter
        self.clock = clock
        self.wait_s = wait_s
        self.tools: Tools = TrustGatedTools(tools, is_trusted)
        self.is_trusted = is_trusted
        self.find_policy_error = find_policy_error
        self.delegate_spec = delegate_spec
        self.file_checker = file_checker
        self.file_reader = file_reader
        self.instructions = instructions
        self.file_history = file_history
        self.line_search = line_search
        self.auto_run = auto_run
        self.wants_titles = wants_titles
        self.slow_models = slow_models or SlowModels(clock)
        self.before_request = Listeners[[], Awaitable[None]]()
        self._create_session_tools = create_session_tools
        self.permissions = permissions
        self.prompts, self.versions = split_versions(prompts)
        self.interactive_approver = InteractiveApprover()
        self.approver = approver or self.interactive_approver
        self.is_unattended = approver is not None
        """True if no user is there to answer: then the budget decides what background work may read."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return request_tools((*self.tools.specs, *([self.delegate_spec] if self.delegate_spec else [])))

    def create_session(
        self,
        session_id: str,
        log: list[RecordedEvent],
        transcript: Transcript,
        settings: RunSettingsSource,
        ratios: Mapping[str, float] = MappingProxyType({}),
    ) -> Session:
        return Session(
            session_id,
            self.store,
            self.counter,
            self.clock,
            TaskScope(),
            log,
            transcript,
            settings,
            ratios,
            self.prompts,
            self.versions,
            wait_s=self.wait_s,
        )

    def tools_of(self, session: Session) -> Tools:
        if self._create_session_tools is None:
            return self.tools
        session_tools = TrustGatedTools(self._create_session_tools(session), self.is_trusted)
        return SessionTools(self.tools, session_tools)

    def for_subagents(self) -> SessionServices:
        """Return a copy without the delegate tool, whose system prompt includes the prompt `subagent`."""
        services = copy(self)
        services.tools = SubagentTools(self.tools)
        services.delegate_spec = None
        system_prompts = [self.prompts[name] for name in ("system", "subagent") if name in self.prompts]
        services.prompts = {**self.prompts, "system": "\n\n".join(system_prompts)}
        return services


_VERSION = re.compile(r"\A\s*<!-- version (\w[\w.]*) -->[ \t]*\n?")


def split_version(name: str, text: str) -> tuple[str, str]:
    """Return a prompt without its first line `<!-- version 2 -->`, and its name for events: `handover 2`.

    A prompt without such a line has its plain name.
    """
    match = _VERSION.match(text)
    if match is None:
        return text.strip(), name
    return text[match.end() :].strip(), f"{name} {match[1]}"


def split_versions(prompts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return prompts by name without their version lines, and their names for events."""
    parts = {name: split_version(name, text) for name, text in prompts.items()}
    return {name: text for name, (text, _) in parts.items()}, {
        name: versioned_name for name, (_, versioned_name) in parts.items()
    }

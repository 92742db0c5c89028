"""Puts a conversation together: every part of it is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helix_desktop.agent.budget import BudgetedSettings, SessionBudget
from helix_desktop.agent.changes.recorder import ChangeRecorder
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.instructions import SessionInstructions
from helix_desktop.agent.intake.extractor import Extractor
from helix_desktop.agent.intake.output_forms import OutputForms
from helix_desktop.agent.intake.output_gate import IntakeGate
from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.session_updates import QuestionAsked
from helix_desktop.agent.session_window import SessionWindow
from helix_desktop.agent.spend_approvals import SpendApprovals
from helix_desktop.agent.subagents.delegate_tool import DelegatingTools
from helix_desktop.agent.subagents.runner import SubagentFactory, SubagentRunner
from helix_desktop.agent.tool_calls.approvals import ApprovalService, SessionPermissions
from helix_desktop.agent.tool_calls.auto_run_decisions import AutoRunDecisions
from helix_desktop.agent.tool_calls.file_version_tracker import FileVersionTracker
from helix_desktop.agent.tool_calls.runner import ToolRunner
from helix_desktop.agent.turn_engine import TurnEngine
from helix_desktop.agent.window.manager import ContextManager
from helix_desktop.domain.cost import Spending
from helix_desktop.system.task_scope import TaskScope


def create_conversation(
    session: Session,
    scope: TaskScope,
    services: SessionServices,
    settings: RunSettingsSource,
    *,
    model_choice: ModelChoice | None = None,
    permissions: SessionPermissions | None = None,
    subagent_factory: SubagentFactory | None = None,
    is_subagent: bool = False,
    parent_budget: Callable[[], SessionBudget | None] = lambda: None,
    subagent_spending: Mapping[str, Spending] | None = None,
) -> Conversation:
    """Return the conversation of a session that works with `settings`.

    Without a `subagent_factory` it cannot start subagents; `subagent_spending` is what others spent. One
    that works under another's `permissions` `is_subagent`; `parent_budget` returns what pays for it.
    """
    permissions = permissions or SessionPermissions(session.transcript)
    budget = SessionBudget(session, settings, parent_budget, subagent_spending)
    session.has_budget = lambda transcript: not budget.is_exhausted_in(transcript)
    model_choice = model_choice or ModelChoice(session, settings)
    runtime = _create_runtime(session, scope, services, BudgetedSettings(settings, budget), model_choice)
    subagents = SubagentRunner(session, scope, subagent_factory)
    extractor = Extractor(services.counter, services.prompts["extract"], runtime.settings)
    file_versions = FileVersionTracker(runtime, services.file_checker)
    changes = ChangeRecorder(runtime, services.file_history, services.store)
    runner = _create_tool_runner(runtime, services, permissions, subagents, extractor, file_versions, changes)
    spend_approvals = SpendApprovals(runtime, budget, services.is_unattended)
    is_unattended = is_subagent or services.is_unattended
    context_manager = ContextManager(
        runtime, spend_approvals, services.is_trusted, stays_open=not is_unattended
    )
    forms = OutputForms(runtime, services.store, context_manager.rewriter, extractor)
    instructions = SessionInstructions(runtime, services.instructions)
    engine = TurnEngine(
        runtime,
        runner,
        context_manager,
        budget,
        permissions,
        file_versions,
        changes,
        instructions,
        is_unattended=is_unattended,
    )
    return Conversation(
        runtime,
        services,
        engine,
        context_manager,
        SessionWindow(runtime, context_manager.rewriter, forms),
        running_calls=runner.running_calls,
        changes=changes,
        subagents=subagents,
        budget=budget,
        spend_approvals=spend_approvals,
        instructions=instructions,
        permissions=permissions,
        is_subagent=is_subagent,
    )


def _create_runtime(
    session: Session,
    scope: TaskScope,
    services: SessionServices,
    settings: RunSettingsSource,
    model_choice: ModelChoice,
) -> SessionRuntime:
    return SessionRuntime(
        session=session,
        settings=settings,
        counter=services.counter,
        clock=services.clock,
        scope=scope,
        prompts=services.prompts,
        prompt_versions=services.versions,
        model_choice=model_choice,
        wait_s=services.wait_s,
    )


def _create_tool_runner(
    runtime: SessionRuntime,
    services: SessionServices,
    permissions: SessionPermissions,
    subagents: SubagentRunner,
    extractor: Extractor,
    file_versions: FileVersionTracker,
    changes: ChangeRecorder,
) -> ToolRunner:
    tools = services.tools_of(runtime.session)
    if services.delegate_spec is not None:
        tools = DelegatingTools(tools, services.delegate_spec, subagents)
    approvals = ApprovalService(
        services.permissions,
        services.approver,
        permissions,
        services.interactive_approver.reevaluate,
        is_demo=lambda: runtime.frame.info.demo,
    )
    gate = IntakeGate(runtime, extractor, services.slow_models)
    session = runtime.session
    auto_run = AutoRunDecisions(
        approvals,
        services.auto_run,
        lambda question: session.publish(QuestionAsked(question)),
        session.id,
        runtime.scope,
        is_unattended=services.is_unattended,
    )
    return ToolRunner(runtime, tools, approvals, gate, file_versions, changes, auto_run)

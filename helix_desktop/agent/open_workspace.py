"""An open workspace: its store, its sessions, how full they are, its models, and its clean-up."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from types import UnionType
from typing import TypeVar

from msgspec.structs import replace

from helix_desktop.agent.branches import SessionBranches, continuation
from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.content_access import ContentAccess
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ConfiguredModels, ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import Model, Store
from helix_desktop.agent.run_settings import SessionModels
from helix_desktop.agent.session import EventRecorded, ExternalChange, RequestChanged, Session, ToolsRefused
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.subagents import SubagentFactory
from helix_desktop.agent.tool_calls.approvals import SessionPermissions
from helix_desktop.agent.trust import require_policy
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import (
    REFERENCE_WINDOW,
    ContextPolicy,
    managed_window,
    policy_from_event,
)
from helix_desktop.context.window.used_tokens import count_window, is_outdated, used_tokens
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.errors import SettingsDamaged, StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import (
    NEW_TITLE,
    EffortChosen,
    ModelChosen,
    ModelRole,
    SessionStarted,
)
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.listeners import OnProgress, TypedListeners, no_progress, types_of
from helix_desktop.domain.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.retention import DAY_MS, TRASH_DAYS, CleanupResult, RetentionRule
from helix_desktop.domain.store import (
    ListPlace,
    MessageCounts,
    SessionSummary,
    SessionVersions,
    WindowCount,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

_MAX_COUNTED_EVENTS = 20_000
"""Of a log that is read for the list alone: a longer one takes seconds and hundreds of megabytes."""


def spending_of_session(session: SessionSummary) -> Spending:
    """Return what a listed session spent, its subagents not among it; of provider caches nothing.

    Where it is not counted yet, all of it had no price if it cost nothing.
    """
    unpriced = session.unpriced
    is_demo = session.model.startswith("demo/")
    if unpriced is None:
        unpriced = 0 if session.cost or is_demo else session.spent
    demo = session.spent if is_demo else 0
    return Spending(session.spent, session.cost, session.estimated, unpriced=unpriced, demo=demo)


def subagent_sessions(listed: Iterable[SessionSummary]) -> dict[str, list[SessionSummary]]:
    sessions: dict[str, list[SessionSummary]] = {}
    for summary in listed:
        if summary.parent:
            sessions.setdefault(summary.parent, []).append(summary)
    return sessions


def total_spending(session: SessionSummary, subagents: Mapping[str, Sequence[SessionSummary]]) -> Spending:
    paid = (session, *subagents.get(session.id, ()))
    return sum(map(spending_of_session, paid), Spending())


class SessionUsage:
    """How full the windows of one workspace's sessions are, open or not, as the gauge counts it."""

    def __init__(
        self,
        store: Store,
        models: SessionModels,
        policy: Callable[[], ContextPolicy],
        find_open: Callable[[str], Conversation | None],
    ) -> None:
        self._store = store
        self._models = models
        self._policy = policy
        self._find_open = find_open
        self._uncountable: set[str] = set()  # sessions whose logs cannot be read
        self._counted: dict[str, SessionSummary] = {}  # what was counted here, as nothing has stored it

    def of(self, summary: SessionSummary) -> float | None:
        """Return the share of the window that a listed session's next request takes.

        None until `recount` has counted it, and for a subagent's session that is not open: it has a
        model and a policy of its own.
        """
        conversation = self._find_open(summary.id)
        if conversation is not None:
            return conversation.window.measure()[1].share
        counted = self._counted.get(summary.id)
        if counted is not None and counted.events == summary.events:
            summary = counted
        if summary.count is None or summary.counts is None or summary.unpriced is None:
            return None
        if summary.parent or not self._models.shared.is_ready:
            return None
        info = self._models.known_model(summary.count.chosen)
        policy = policy_from_event(summary.count.policy) or self._policy()
        if info is None or is_outdated(summary.count, policy, info.window):
            return None
        _, frame, _ = self._models.shared()
        ratio = self._models.ratios.get(info.label, 1.0)
        used = used_tokens(summary.count, replace(frame, info=info, ratio=ratio))
        return used / managed_window(policy, info.window)

    async def recount(self, session_ids: Collection[str]) -> bool:
        """Count those of these sessions whose usage is not known from their logs. Return True if any was.

        These are imported sessions, and those whose handover quotes more or less under another policy or
        model. Nothing is stored: to look at a list changes no session of it.
        """
        is_any_known = False
        for summary in await self._store.sessions():
            if summary.id not in session_ids or not self.needs_count(summary):
                continue
            await self._resolve_model_of(summary)
            if self.of(summary) is not None:
                is_any_known = True
                continue
            recounted = await self._recount(summary)
            if recounted is not None:
                self._counted[summary.id] = recounted
                is_any_known = True
        return is_any_known

    def needs_count(self, summary: SessionSummary) -> bool:
        """Return True if a session's usage is not known and its log is short enough to be read for it."""
        if summary.parent or summary.id in self._uncountable or summary.events > _MAX_COUNTED_EVENTS:
            return False
        return self._models.shared.is_ready and self.of(summary) is None

    async def _resolve_model_of(self, summary: SessionSummary) -> None:
        if summary.count is not None and self._models.known_model(summary.count.chosen) is None:
            await self._models.resolve_model(summary.count.chosen)

    async def _recount(self, summary: SessionSummary) -> SessionSummary | None:
        """Return a session's summary with what its log holds; None if the log can't be read."""
        try:
            log_of_session = await self._store.events(summary.id)
        except StoreError as error:
            self._give_up(summary, error)
            return None
        # A long log is read, counted and freed in threads: each takes longer than a frame.
        transcripts = [await asyncio.to_thread(Transcript, log_of_session)]
        del log_of_session
        info = await self._models.resolve_model(transcripts[0].chosen_model)
        frame = replace(self._models.shared()[1], info=info)
        policy = transcripts[0].session_policy or self._policy()

        def count_whole_log() -> tuple[WindowCount, MessageCounts, int | None]:
            state = transcripts.pop()
            count = count_window(state, policy, info.window)
            return count, state.messages.counts(), state.spending.unpriced

        count, counts, unpriced = await asyncio.to_thread(count_whole_log)
        return replace(
            summary,
            count=count,
            used=used_tokens(count, frame),
            window=managed_window(policy, info.window),
            messages=counts.messages,
            calls=counts.calls,
            unpriced=unpriced,
        )

    def _give_up(self, summary: SessionSummary, error: StoreError) -> None:
        log.info("the session %s could not be counted again: %s", summary.id, error)
        self._uncountable.add(summary.id)


class OpenWorkspace:
    """An open workspace. Its conversations run whether or not a view shows them.

    `services` are what its sessions share, `contents` what its store holds, `models` what its sessions work
    with, `usage` how full they are, `changes` what changed of its files, `branches` makes branches of its
    sessions.
    `is_read_only` is True if the folder is missing, or nothing can be saved: its sessions can only be read.
    """

    def __init__(
        self,
        workspace_id: str,
        services: SessionServices,
        policy: ContextPolicy,
        models: Model | ModelRoles,
        is_read_only: bool = False,
        configured_models: ConfiguredModels | None = None,
        ratios: dict[str, float] | None = None,
        policy_error: SettingsDamaged | None = None,
    ) -> None:
        """Without `configured_models` every session follows the workspace's models; `ratios` as there.

        `policy_error` is what is wrong with the file of the policy, for which `policy` stands in.
        """
        self.id = workspace_id
        self.is_read_only = is_read_only
        self._policy = policy
        self.policy_error = policy_error
        """While it is not None everything can be read, and nothing is sent or compacted."""
        self.store = services.store
        self.contents = ContentAccess(
            services.store, services.counter, services.file_reader, self._intake_limits, services.line_search
        )
        self.is_trusted = services.is_trusted  # returns True if tools may run here and requests may be sent
        self.models = SessionModels(services, lambda: self.policy, models, configured_models, ratios)
        self.usage = SessionUsage(self.store, self.models, lambda: self.policy, self.find_open)
        self.changes = WorkspaceChanges(
            services.file_history,
            self.store,
            self._find_session,
            self._open_for_changes,
            services.is_trusted,
            is_read_only,
        )
        self.branches = SessionBranches(self.store, services.clock, self._find_session, self._open_log_as)
        self.services = services
        self._open: dict[str, Conversation] = {}
        self._subagents: dict[str, Conversation] = {}
        self._changed_elsewhere: set[str] = set()  # sessions in which another process stores something
        self._seen_interrupted: set[str] = set()  # sessions whose interrupted turn the user has seen
        self._versions = SessionVersions(())
        # Of versions that are not open, with their subagents.
        self._version_spending: dict[str, Spending] = {}
        self._listeners = TypedListeners()
        self._forwarded: list[type] = []  # the types that somebody wants of every session

    def clock(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self.services.clock()

    @property
    def policy(self) -> ContextPolicy:
        """The context policy. Another one is used from the next step on, and ends its error."""
        return self._policy

    @policy.setter
    def policy(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self.policy_error = None
        self._publish_request_changed()

    def require_policy(self) -> None:
        """Raise SettingsDamaged while what is in the policy's file can't be used."""
        require_policy(lambda: self.policy_error)

    @property
    def model(self) -> Model:
        return self.models.shared.model

    async def set_models(self, models: Model | ModelRoles) -> None:
        """Use other models from the next step on; running subagents keep theirs.

        A single model becomes the main one and the other roles stay; it answers in every session, even where
        another one was chosen.
        """
        await self.models.set_shared(models)
        for conversation in (*self._open.values(), *self._subagents.values()):
            await self.models.apply_choice(conversation.session, conversation.is_running)
        self._publish_request_changed()

    async def choose_model(self, session_id: str, label: str) -> None:
        """Use the model PROVIDER/NAME in one open session from now on; empty: the workspace's default.

        Raises HelixError if it is not set up, StoreError.
        """
        conversation = self._open[session_id]
        await self.models.require_configured(label)  # raises before anything is recorded
        accepted = "" if label else self.model.info.label
        await conversation.session.record(ModelChosen(label, accepted))
        await self.models.apply_choice(conversation.session, conversation.is_running)
        conversation.model_choice.accept()
        self._publish_request_changed()

    async def choose_effort(self, session_id: str, effort: Effort) -> None:
        """Let the model of one open session think so much from now on; empty: as the workspace says.

        Raises StoreError.
        """
        await self._open[session_id].session.record(EffortChosen(effort))
        self._publish_request_changed()

    async def refresh_tools(self) -> None:
        """Send changed tools to the model from the next step on; subagents keep those they started with."""
        await self.models.refresh_tools()
        self._publish_request_changed()

    def _publish_request_changed(self) -> None:
        for conversation in self.conversations:
            conversation.session.publish(RequestChanged())

    async def sessions(self, parent: str = "") -> list[SessionSummary]:
        """Return the top-level sessions, or the subagents of `parent`, last used first."""
        return [summary for summary in await self.store.sessions() if summary.parent == parent]

    async def create_session(self, title: str = NEW_TITLE) -> Conversation:
        conversation = await self.open_session(uuid.uuid4().hex)
        await conversation.session.record(SessionStarted(title))
        return conversation

    async def continue_session(
        self, session_id: str, handover_seq: int = 0, handover: HandoverMade | None = None
    ) -> Conversation:
        """Create a session that begins with a handover of another one, and return its conversation.

        `handover_seq` is the handover's event there; 0: the handover as it would be now: `handover` where a
        model wrote it, else made without one. Raises InvalidInput if there is none, StoreError;
        SettingsDamaged while the policy is not known.
        """
        self.require_policy()
        if not self.models.shared.is_ready:
            await self.set_models(self.models.shared.roles)
        policy, frame, _ = self.models.shared()
        source = self.find_open(session_id)
        if source is not None:
            await source.session.record_shown()
            transcript = source.session.transcript.fork()
        else:
            transcript = await asyncio.to_thread(Transcript, await self.store.events(session_id))
        titles = {summary.title for summary in await self.sessions()}
        window_size = managed_window(policy, frame.info.window)
        counter = self.services.counter
        events, contents = await continuation(
            transcript, session_id, handover_seq, policy, window_size, counter, titles, handover
        )
        conversation = await self.open_session(uuid.uuid4().hex)
        await conversation.session.record(*events, contents=contents)
        return conversation

    async def open_session(self, session_id: str) -> Conversation:
        """Return a session's conversation, opened once. Nothing is stored for that.

        A turn that a crash cut off is shown as interrupted, with what came of it: see `Session.shown`.
        """
        conversation = self.find_open(session_id)
        if conversation is not None:
            self._open[session_id] = conversation
            return conversation
        log = await self.store.events(session_id)
        return await self._open_log_as(session_id, log, await asyncio.to_thread(Transcript, log))

    async def _open_log_as(
        self, session_id: str, log: list[RecordedEvent], transcript: Transcript
    ) -> Conversation:
        if not self.models.shared.is_ready:
            await self.set_models(self.models.shared.roles)
        listed = await self.store.sessions()
        if session_id in self._open:
            return self._open[session_id]
        for summary in listed:
            for label, ratio in summary.ratios.items():
                self.models.ratios.setdefault(label, ratio)  # the newest session comes first
        self._read_versions(listed, session_id)
        conversation = await self._create_conversation(session_id, log, transcript, listed)
        if session_id in self._open:  # opened by another task meanwhile
            return self._open[session_id]
        self._open[session_id] = conversation
        self._follow(conversation.session)
        own_summary = _find_summary(listed, session_id)
        if own_summary is not None and not own_summary.interrupted:
            conversation.session.seen_interruption = transcript.interrupted_seq
        await conversation.show_interrupted()
        if session_id in self._seen_interrupted:
            conversation.session.seen_interruption = transcript.interrupted_seq
        self._count_spending(conversation.session)
        conversation.changes.catch_up_in_background()
        return conversation

    def note_seen(self, session_id: str) -> None:
        """Note that the user looks at an open session: the list no longer marks its interrupted turn.

        Nothing is stored: at the next start it is marked again, until the user acts in the session.
        """
        session = self._open[session_id].session
        session.seen_interruption = session.transcript.interrupted_seq
        if session.seen_interruption:
            self._seen_interrupted.add(session_id)

    async def _create_conversation(
        self, session_id: str, log: list[RecordedEvent], transcript: Transcript, listed: list[SessionSummary]
    ) -> Conversation:
        permissions = SessionPermissions(transcript)
        services = self.services
        factory = None
        settings: RunSettingsSource
        if transcript.parent:
            services = services.for_subagents()
            settings = await self.models.open_subagent(session_id, transcript, services)
        else:
            settings = own = await self.models.open(session_id, transcript)
            factory = SubagentFactory(
                lambda policy, model, role: self._create_subagent(
                    policy, model, role, permissions, own.roles
                ),
                self._release_subagent,
                lambda: (
                    (transcript.session_policy or self._policy).for_subagents() or transcript.session_policy
                ),
            )
        own_summary = _find_summary(listed, session_id)
        ratios = own_summary.ratios if own_summary is not None else {}
        session = services.create_session(session_id, log, transcript, settings, ratios)
        session.model_choice = self.models.choice_of(session)
        return Conversation(
            session,
            services,
            permissions=permissions,
            subagent_factory=factory,
            parent_budget=lambda: self._parent_budget(transcript.parent),
            subagent_spending={
                summary.id: spending_of_session(summary) for summary in listed if summary.parent == session_id
            },
            other_versions=lambda: self._spent_by_others(session_id),
        )

    def _read_versions(self, listed: list[SessionSummary], session_id: str) -> None:
        """Take in which sessions are versions of one, and what those of a session spent that are not open."""
        self._versions = SessionVersions(listed)
        own = _find_summary(listed, session_id)
        versions = self._versions.of(own) if own is not None else ()
        subagents = subagent_sessions(listed) if len(versions) > 1 else {}
        self._version_spending |= {version.id: total_spending(version, subagents) for version in versions}

    def _spent_by_others(self, session_id: str) -> list[Spending]:
        return [
            here.budget.own_spent
            if (here := self._open.get(version)) is not None
            else self._version_spending.get(version, Spending())
            for version in self._versions.ids_of(session_id)
            if version != session_id
        ]

    def _find_session(self, session_id: str) -> Session | None:
        conversation = self.find_open(session_id)
        return conversation.session if conversation is not None else None

    async def _open_for_changes(self, session_id: str) -> Session:
        return (await self.open_session(session_id)).session

    def _intake_limits(self, session_id: str) -> tuple[ContextPolicy, int]:
        """Return the policy and the window, in tokens, that what the user attaches in a session enters."""
        conversation = self.find_open(session_id)
        if conversation is None:
            return self.policy, REFERENCE_WINDOW
        return conversation.window.policy, conversation.model.window

    def _parent_budget(self, parent: str) -> SessionBudget | None:
        """Return the budget of a subagent's parent session; None while that is not open."""
        return self._open[parent].budget if parent in self._open else None

    def _follow(self, session: Session) -> None:
        session.on(EventRecorded, lambda _: self._count_spending(session))
        session.on(AssistantSpoke, lambda spoke: self._take_ratio(session, spoke))
        session.on(ToolsRefused, lambda _: session.scope.start(self.refresh_tools(), f"count {session.id}"))
        for kind in self._forwarded:
            self._forward(session, kind)

    def _forward(self, session: Session, kind: type) -> None:
        def forward(update: object) -> None:
            if session.id in self._open:  # else it is a subagent, whose parent reports
                self._listeners.notify(update, about=(session.id,))

        session.on(kind, forward)

    def _count_spending(self, session: Session) -> None:
        parent_budget = self._parent_budget(session.transcript.parent)
        if parent_budget is not None:
            parent_budget.subagent_spending[session.id] = session.transcript.spending

    def _take_ratio(self, session: Session, spoke: AssistantSpoke) -> None:
        if spoke.model in session.ratios:
            self.models.ratios[spoke.model] = session.ratios[spoke.model]

    async def _create_subagent(
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
        services = self.services.for_subagents()
        session_id = uuid.uuid4().hex
        settings = await self.models.start_subagent(
            session_id,
            services,
            policy,
            roles if model is None else roles.with_main(model),
            role if model is None else None,
        )
        session = services.create_session(session_id, [], Transcript(), settings)
        session.model_choice = self.models.choice_of(session)
        self._follow(session)
        conversation = self._subagents[session_id] = Conversation(
            session,
            services,
            permissions=permissions,
            is_subagent=True,
            parent_budget=lambda: self._parent_budget(session.transcript.parent),
        )
        return conversation

    async def _release_subagent(self, session_id: str) -> None:
        """Release a subagent that has ended, unless its session was opened."""
        if session_id not in self._open:
            await self._subagents[session_id].close()
            self.models.close(session_id)
        del self._subagents[session_id]

    async def move_in_list(
        self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None
    ) -> ListPlace:
        """Pin or archive a session with its versions, or take either back (None: leave it).

        Return where it was listed. A session that is pinned leaves the archive. Raises InvalidInput as
        `Conversation.set_place` does, StoreError.
        """
        listed = await self.store.sessions()
        versions = SessionVersions(listed)
        own = _find_summary(listed, session_id)
        previous = versions.place_of(own) if own is not None else ListPlace()
        if archived is None:
            archived = previous.archived and not pinned
        place = ListPlace(previous.pinned if pinned is None else pinned, archived)
        conversations = [await self.open_session(version) for version in versions.ids_of(session_id)]
        for conversation in sorted(conversations, key=lambda each: not each.asks):  # one that refuses first
            await conversation.set_place(place)
        return previous

    async def set_budget(self, session_id: str, limit: Budget) -> None:
        """Set what a session may spend with all its versions. Raises StoreError."""
        for version in SessionVersions(await self.store.sessions()).ids_of(session_id):
            await (await self.open_session(version)).budget.set_limit(limit)

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session and its versions a title. Raises StoreError."""
        for version in SessionVersions(await self.store.sessions()).ids_of(session_id):
            await (await self.open_session(version)).rename(title)

    async def close_session(self, session_id: str) -> None:
        """Stop what runs in a session and release it: `open_session` then reads it from the store again."""
        conversation = self._open.get(session_id)
        if conversation is not None:
            await conversation.close()
            await conversation.session.hide_shown()
            self._version_spending[session_id] = conversation.budget.own_spent
            self._open.pop(session_id, None)
            self.models.close(session_id)

    def on(self, kind: type[T] | UnionType, handler: Callable[[str, T], object]) -> Callable[[], None]:
        """Call `handler` with the updates and events of a type, or of a union, of every open session.

        It gets the session's id, too; of subagents it gets their parents' reports. Call the result to
        unsubscribe.
        """
        sessions = {**self._open, **self._subagents}
        for each in types_of(kind):
            if each not in self._forwarded:
                self._forwarded.append(each)
                for conversation in sessions.values():
                    self._forward(conversation.session, each)
        return self._listeners.on(kind, handler)

    def find_open(self, session_id: str) -> Conversation | None:
        """Return the conversation of an open session or a running subagent; None if it is neither."""
        return self._open.get(session_id) or self._subagents.get(session_id)

    def is_interrupted(self, summary: SessionSummary) -> bool:
        """Return True if the app ended during a listed session's newest turn, and nobody has seen that yet.

        A turn that runs here or in another process is none.
        """
        here = self.find_open(summary.id)
        if here is not None:
            state = here.session.transcript
            return not here.is_running and state.interrupted_seq > here.session.seen_interruption
        known = self._changed_elsewhere | self._seen_interrupted
        return summary.interrupted and not summary.parent and summary.id not in known

    def publish_external_change(self, session_id: str) -> None:
        """Notify listeners that another process stored something in a session (empty: in any)."""
        self._changed_elsewhere.add(session_id)
        self._listeners.notify(ExternalChange(), about=(session_id,))

    def catch_up_changes(self, session_id: str) -> None:
        """Record reverts that another process made for a session that is open here, in the background."""
        conversation = self.find_open(session_id)
        if conversation is not None:
            conversation.changes.catch_up_in_background()

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        return tuple(self._open.values())

    async def close(self) -> None:
        """Stop every turn, then close the store."""
        for conversation in (*self._open.values(), *self._subagents.values()):
            await conversation.close()
        await self.store.close()


def _find_summary(listed: list[SessionSummary], session_id: str) -> SessionSummary | None:
    return next((summary for summary in listed if summary.id == session_id), None)


async def run_housekeeping(workspace: OpenWorkspace, rule: RetentionRule) -> CleanupResult:
    """Delete what was in the trash for 30 days, then trash what the workspace's rule selects.

    Return what was trashed: nothing if the rule has no quota and no age. Raises StoreError.
    """
    retention = workspace.store.retention
    await retention.empty_trash(workspace.clock() - TRASH_DAYS * DAY_MS)
    if not (rule.quota or rule.unused_ms):
        return CleanupResult()
    plan = await retention.plan(rule)
    return await retention.collect([entry.digest for entry in plan.to_trash])


async def redact(
    workspace: OpenWorkspace, request: RedactionRequest, on_progress: OnProgress = no_progress
) -> RedactionMatches:
    """Close every conversation of a workspace, then remove the requested secret from its store.

    Nothing runs meanwhile, and nothing in memory keeps the secret. Views must open their conversation
    again. Raises InvalidInput, StoreWriteFailed.
    """
    Redaction(request, 0)  # raises for an invalid request before any turn is stopped
    for conversation in workspace.conversations:
        await workspace.close_session(conversation.session.id)
    return await workspace.store.redaction.redact(request, on_progress)


async def delete_session(
    workspace: OpenWorkspace, session_id: str, *, with_versions: bool = True
) -> tuple[str, ...]:
    """Close a session, its other versions and their subagents', and move them to the trash.

    Return the trashed ids.
    """
    listed = await workspace.store.sessions()
    deleted = SessionVersions(listed).ids_of(session_id) if with_versions else (session_id,)
    for summary in listed:
        if summary.id in deleted or summary.parent in deleted:
            await workspace.close_session(summary.id)
    return tuple(
        chain.from_iterable([await workspace.store.retention.trash_session(version) for version in deleted])
    )

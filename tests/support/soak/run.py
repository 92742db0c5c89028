"""A soak run: many turns in the product's own composition against llmock, checked for leaks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import (
    CallStarted,
    ErrorRaised,
    EventRecorded,
    ResponseDelta,
    Session,
    Update,
)
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.agent.turn_engine import TurnEngine
from helix_desktop.config.paths import DataDir
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.services.app_services import AppServices
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.llmock import LlMock
from tests.support.peer_rig import RecordingModel
from tests.support.soak.plan import PlannedTurn, background_reply, plan_turns, write_project_files
from tests.support.soak.resource_monitor import ResourceMonitor, ResourceSample, count_live_objects

WINDOW, RESERVE = 10_000, 800  # tokens: small, so that it is rewritten often
_PROFILES = ("balanced", "classic", "lean", "plain")
"""How a session's window is managed, in turn: what one profile folds another hands over."""

_MAX_PROBLEMS = 20
_STOP_TIMEOUT_S = 5.0

SampleCallback = Callable[[ResourceSample], None]


@dataclass
class SoakReport:
    """The results of a run, and its problems."""

    turn_kinds: Counter[str] = field(default_factory=Counter)
    turn_ends: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    requests: int = 0
    attempts: int = 0
    faults: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    live_objects: dict[str, int] = field(default_factory=dict)
    verify_result: str = ""

    def record_update(self, session_id: str, update: Update) -> None:
        if isinstance(update, EventRecorded):
            self.events[type(update.recorded.event).__name__] += 1
        if isinstance(update, ErrorRaised):
            self.add_problem(f"trouble in {session_id[:8]}: {update.what} {update.why}")

    def add_problem(self, problem: str) -> None:
        """Record a problem; not all of them if there are too many."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


@dataclass
class SoakRun:
    """One run in the empty folder `folder`: a project, and a data directory next to it."""

    folder: Path
    server: LlMock
    turn_count: int
    turns_per_session: int = 100
    sample_every: int = 20
    seed: int = 1
    report: SoakReport = field(default_factory=SoakReport)
    monitor: ResourceMonitor = field(init=False)

    def __post_init__(self) -> None:
        """Watch this run's own store."""
        self.monitor = ResourceMonitor(self.folder, frozenset({self.server.pid}))

    async def run(self, on_sample: SampleCallback = lambda _: None) -> None:
        """Run all turns, look every so many, verify the store at the end. Problems are in the tally."""
        plan = plan_turns(self.turn_count, self.seed)
        with self.monitor.count_iterators():
            async with self._open_workspace() as (workspace, model):
                workspace.on(Update, self.report.record_update)
                for at in range(0, self.turn_count, self.turns_per_session):
                    await self._run_session(
                        workspace, model, at, plan[at : at + self.turns_per_session], on_sample
                    )
                self.report.requests = model.request_count
                self.report.live_objects = count_live_objects(Session, Conversation, TurnEngine, Transcript)
            await asyncio.sleep(0)
            self._check_released()
        self.report.verify_result = await asyncio.to_thread(self._verify_store)

    @asynccontextmanager
    async def _open_workspace(self) -> AsyncIterator[tuple[OpenWorkspace, RecordingModel]]:
        root = self.folder / "project"
        root.mkdir()
        write_project_files(root)
        data = DataDir.locate(self.folder / "data", os.environ)
        data.ensure()
        http = HttpClient(Timeouts(read_s=0.6))
        services = AppServices(
            data, os.environ, FixedApprover("once"), demo_pause_s=0.0, use_existing_owner=True
        )
        try:
            workspace = await services.open_workspace(services.registry.add(root, trusted=True).id)
            model = self._model(http)
            await workspace.set_models(model)
            yield workspace, model
        finally:
            await services.close()
            await http.aclose()

    def _model(self, http: HttpClient) -> RecordingModel:
        info = ModelInfo("llmock", "gpt-5", WINDOW, RESERVE)
        # Shorter waits than in use: two thousand turns meet a thousand faults.
        paced = RetryPolicy(patience_s=1.0, first_wait_s=0.1)
        model = RecordingModel(
            connect_model(
                "openai-chat", info, f"{self.server.address}/v1", "k", http=http, retry_policy=paced
            )
        )
        model.is_recording = False
        return model

    async def _run_session(
        self,
        workspace: OpenWorkspace,
        model: RecordingModel,
        first_turn: int,
        plan: list[PlannedTurn],
        on_sample: SampleCallback,
    ) -> None:
        """Run one session, reopened from the store in its middle, and close it at its end."""
        workspace.policy = PROFILES[_PROFILES[first_turn // self.turns_per_session % len(_PROFILES)]]
        conversation = await workspace.create_session(f"From turn {first_turn}, {workspace.policy.profile}")
        for number, turn in enumerate(plan, 1):
            if number == len(plan) // 2:
                conversation = await self._reopen(workspace, conversation)
            await self._run_turn(workspace, conversation, turn)
            if number == len(plan):
                await self._reopen(workspace, conversation)
                await workspace.close_session(conversation.session.id)
            if (first_turn + number) % self.sample_every == 0 or number == len(plan):
                self._check_requests(model)
                on_sample(self.monitor.take_sample(first_turn + number))

    async def _run_turn(
        self, workspace: OpenWorkspace, conversation: Conversation, turn: PlannedTurn
    ) -> None:
        self.server.clear_pending_behaviors()
        self.server.expect(*turn.behaviors, background_reply())
        self.report.turn_kinds[turn.kind] += 1
        if turn.kind == "stop":
            await self._run_and_stop(workspace, conversation, turn.text)
        else:
            await conversation.run(turn.text)
        await conversation.wait_for_background_work()
        ended = next(
            entry.event for entry in reversed(conversation.session.log) if isinstance(entry.event, TurnEnded)
        )
        self.report.turn_ends[f"{turn.kind}: {ended.how}"] += 1
        if ended.how == "failed" and turn.kind not in ("refusal", "outage"):
            self.report.add_problem(f"{turn.text[:12]} ({turn.kind}) failed: {ended.what} {ended.why}")
        transcript = conversation.session.transcript
        if transcript.turn_open or transcript.open_calls:
            self.report.add_problem(f"{turn.text[:12]} left something open")

    async def _run_and_stop(self, workspace: OpenWorkspace, conversation: Conversation, text: str) -> None:
        """Begin a turn and stop it as soon as something of it is seen."""
        started = asyncio.Event()

        def on_update(_: str, update: Update) -> None:
            if isinstance(update, ResponseDelta | CallStarted):
                started.set()

        unsubscribe = workspace.on(Update, on_update)
        try:
            await conversation.send(text)
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await started.wait()
        except TimeoutError:
            self.report.add_problem(f"{text[:12]} showed nothing to stop")
        finally:
            unsubscribe()
        await conversation.stop()

    async def _reopen(self, workspace: OpenWorkspace, conversation: Conversation) -> Conversation:
        """Reopen the session from the store and check that it is unchanged."""
        session_id = conversation.session.id
        items_before = conversation.window.items()
        log = conversation.session.log
        await workspace.close_session(session_id)
        again = await workspace.open_session(session_id)
        if again.session.log != log:
            self.report.add_problem(f"the log of {session_id[:8]} is not what was stored")
        if again.window.items() != items_before:
            self.report.add_problem(f"the window of {session_id[:8]} is not what it was")
        return again

    def _check_requests(self, model: RecordingModel) -> None:
        """Check the server's verdicts since the last time, and our own linters'."""
        verdict = self.server.verdict()
        self.report.attempts += verdict["attempts"]
        self.report.faults += verdict["faults_injected"]
        for finding in verdict["findings"]:
            self.report.findings[finding["code"]] += 1
            self.report.add_problem(f"llmock: {finding['code']}: {finding['title']}")
        for problem in model.problems:
            self.report.add_problem(problem)
        model.problems.clear()
        self.server.reset()

    def _check_released(self) -> None:
        """After the end nothing of the product runs any more."""
        last = self.monitor.take_sample(self.turn_count)
        self.monitor.samples.pop()
        for name, left, limit in (
            ("tasks", last.tasks, 1),
            ("processes", last.children, 0),
            ("iterators", last.iterators, 0),
        ):
            if left > limit:
                self.report.add_problem(f"{left - limit} {name} left at the end")

    def _verify_store(self) -> str:
        """Run the program's `cache verify`, as a user would."""
        verify = ("cache", "verify", "--json", "--workspace", str(self.folder / "project"))
        environ = os.environ | {"HELIX_DATA_DIR": str(self.folder / "data"), "PYTHONPATH": str(_ROOT)}
        command = [sys.executable, "-m", "helix_desktop", *verify]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        if done.returncode:
            self.report.add_problem(f"cache verify: {done.stdout[-300:]} {done.stderr[-300:]}")
            return "failed"
        report: dict[str, Any] = json.loads(done.stdout)
        return f"{report['verified']:,} contents verified, {len(report['damaged'])} damaged"


_ROOT = Path(__file__).resolve().parents[3]

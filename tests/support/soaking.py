"""A soak run: many turns in the product's own composition against llmock, watched for what is left behind."""

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
from helix_desktop.agent.engine import TurnEngine
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_updates import CallStarted, ErrorRaised, EventRecorded, ResponseDelta, Update
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.session import TurnEnded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.model_factory import create_model
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.services.app_services import AppServices
from tests.support.llmock import LlMock
from tests.support.peer_rig import Overheard
from tests.support.soak_plan import Turn, aside, fill, turns
from tests.support.soak_watch import Sample, Watch, alive

WINDOW, RESERVE = 10_000, 800  # tokens: small, so that it is rewritten often
_PROFILES = ("balanced", "classic", "lean", "plain")
"""How a session's window is managed, in turn: what one profile folds another hands over."""

_MOST_PROBLEMS = 20
_STOP_PATIENCE_S = 5.0

Hear = Callable[[Sample], None]


@dataclass
class Tally:
    """What happened in a run, and what should not have."""

    fates: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    requests: int = 0
    attempts: int = 0
    faults: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    left: dict[str, int] = field(default_factory=dict)
    verified: str = ""

    def hear(self, session: str, update: Update) -> None:
        """Count what a session tells."""
        if isinstance(update, EventRecorded):
            self.events[type(update.recorded.event).__name__] += 1
        if isinstance(update, ErrorRaised):
            self.complain(f"trouble in {session[:8]}: {update.what} {update.why}")

    def complain(self, problem: str) -> None:
        """Note what should not have happened; not all, when there is no end of it."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)


@dataclass
class Soak:
    """One run over `folder`, which is empty: a project, and a data directory beside it."""

    folder: Path
    server: LlMock
    count: int
    per_session: int = 100
    every: int = 20
    seed: int = 1
    tally: Tally = field(default_factory=Tally)
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        """Watch this run's own store."""
        self.watch = Watch(self.folder, frozenset({self.server.pid}))

    async def run(self, hear: Hear = lambda _: None) -> None:
        """Run all turns, look every so many, verify the store at the end. Problems are in the tally."""
        plan = turns(self.count, self.seed)
        with self.watch.counting():
            async with self._at_work() as (room, model):
                room.listen(self.tally.hear)
                for at in range(0, self.count, self.per_session):
                    await self._session(room, model, at, plan[at : at + self.per_session], hear)
                self.tally.requests = model.asked
                self.tally.left = alive(Session, Conversation, TurnEngine, Transcript)
            await asyncio.sleep(0)
            self._emptied()
        self.tally.verified = await asyncio.to_thread(self._verified)

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[tuple[OpenWorkspace, Overheard]]:
        root = self.folder / "project"
        root.mkdir()
        fill(root)
        data = DataDir.locate(self.folder / "data", os.environ)
        data.ensure()
        http = HttpClient(Timeouts(read_s=0.6))
        desk = AppServices(data, os.environ, FixedApprover("once"), demo_pause_s=0.0, use_existing_owner=True)
        try:
            room = await desk.open_workspace(desk.registry.add(root, trusted=True).id)
            model = self._model(http)
            await room.set_models(model)
            yield room, model
        finally:
            await desk.close()
            await http.aclose()

    def _model(self, http: HttpClient) -> Overheard:
        info = ModelInfo("llmock", "gpt-5", WINDOW, RESERVE)
        # Shorter waits than a person's: two thousand turns meet a thousand faults.
        paced = RetryPolicy(patience_s=1.0, first_wait_s=0.1)
        model = Overheard(
            create_model("openai-chat", info, f"{self.server.address}/v1", "k", http=http, retry_policy=paced)
        )
        model.keep = False
        return model

    async def _session(
        self, room: OpenWorkspace, model: Overheard, at: int, plan: list[Turn], hear: Hear
    ) -> None:
        """One session, read anew from the store in its middle, and let go of at its end."""
        room.policy = PROFILES[_PROFILES[at // self.per_session % len(_PROFILES)]]
        talk = await room.create_session(f"From turn {at}, {room.policy.profile}")
        for number, turn in enumerate(plan, 1):
            if number == len(plan) // 2:
                talk = await self._reopened(room, talk)
            await self._turn(room, talk, turn)
            if number == len(plan):
                await self._reopened(room, talk)
                await room.close_session(talk.session.id)
            if (at + number) % self.every == 0 or number == len(plan):
                self._judged(model)
                hear(self.watch.look(at + number))

    async def _turn(self, room: OpenWorkspace, talk: Conversation, turn: Turn) -> None:
        self.server.relent()
        self.server.expect(*turn.behaviours, aside())
        self.tally.fates[turn.fate] += 1
        if turn.fate == "stop":
            await self._stopped(room, talk, turn.text)
        else:
            await talk.run(turn.text)
        await talk.wait_for_background_work()
        ended = next(one.event for one in reversed(talk.session.log) if isinstance(one.event, TurnEnded))
        self.tally.ends[f"{turn.fate}: {ended.how}"] += 1
        if ended.how == "failed" and turn.fate not in ("refusal", "outage"):
            self.tally.complain(f"{turn.text[:12]} ({turn.fate}) failed: {ended.what} {ended.why}")
        known = talk.session.transcript
        if known.turn_open or known.open_calls:
            self.tally.complain(f"{turn.text[:12]} left something open")

    async def _stopped(self, room: OpenWorkspace, talk: Conversation, text: str) -> None:
        """Begin a turn and stop it as soon as something of it is seen."""
        seen = asyncio.Event()

        def hear(_: str, update: Update) -> None:
            if isinstance(update, ResponseDelta | CallStarted):
                seen.set()

        leave = room.listen(hear)
        try:
            await talk.send(text)
            async with asyncio.timeout(_STOP_PATIENCE_S):
                await seen.wait()
        except TimeoutError:
            self.tally.complain(f"{text[:12]} showed nothing to stop")
        finally:
            leave()
        await talk.stop()

    async def _reopened(self, room: OpenWorkspace, talk: Conversation) -> Conversation:
        """The same session, read from the store: it is what it was."""
        session = talk.session.id
        former = talk.rows()
        log = talk.session.log
        await room.close_session(session)
        again = await room.open_session(session)
        if again.session.log != log:
            self.tally.complain(f"the log of {session[:8]} is not what was stored")
        if again.rows() != former:
            self.tally.complain(f"the window of {session[:8]} is not what it was")
        return again

    def _judged(self, model: Overheard) -> None:
        """What the server thinks of us since the last time, and what our own linters found."""
        verdict = self.server.verdict()
        self.tally.attempts += verdict["attempts"]
        self.tally.faults += verdict["faults_injected"]
        for finding in verdict["findings"]:
            self.tally.findings[finding["code"]] += 1
            self.tally.complain(f"llmock: {finding['code']}: {finding['title']}")
        for problem in model.faulty:
            self.tally.complain(problem)
        model.faulty.clear()
        self.server.forget()

    def _emptied(self) -> None:
        """After the end nothing of the product runs any more."""
        last = self.watch.look(self.count)
        self.watch.samples.pop()
        for name, left, usual in (
            ("tasks", last.tasks, 1),
            ("processes", last.children, 0),
            ("iterators", last.iterators, 0),
        ):
            if left > usual:
                self.tally.complain(f"{left - usual} {name} left at the end")

    def _verified(self) -> str:
        """`cache verify` of the program, as a person would call it."""
        verify = ("cache", "verify", "--json", "--workspace", str(self.folder / "project"))
        environ = os.environ | {"HELIX_DATA_DIR": str(self.folder / "data"), "PYTHONPATH": str(_ROOT)}
        command = [sys.executable, "-m", "helix_desktop", *verify]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        if done.returncode:
            self.tally.complain(f"cache verify: {done.stdout[-300:]} {done.stderr[-300:]}")
            return "failed"
        found: dict[str, Any] = json.loads(done.stdout)
        return f"{found['verified']:,} contents verified, {len(found['damaged'])} damaged"


_ROOT = Path(__file__).resolve().parents[2]

"""A soak run: many turns in the product's own composition against llmock, checked for leaks."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.services.app_services import AppServices
from helix_desktop.store.database import ReadView
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.llmock import Behavior, LlMock
from tests.support.peer_rig import RecordingModel

TurnKind = Literal["plain", "fault", "outage", "refusal", "stop", "subagents"]

TURN_KIND_WEIGHTS: tuple[tuple[TurnKind, int], ...] = (
    ("plain", 52),
    ("fault", 33),
    ("subagents", 7),
    ("stop", 5),
    ("refusal", 2),
    ("outage", 1),
)
"""What becomes of a turn, and how often in a hundred."""

_WORDS = (
    "the", "parser", "reads", "each", "line", "and", "finds", "its", "place", "before", "another", "comes",
)  # fmt: skip
_FILES = {"small.txt": 12, "middle.txt": 220, "large.txt": 2_500, "src/main.py": 60, "src/deep/notes.md": 30}
_RETRYABLE_STATUSES = (429, 500, 502, 503, 529, 408)
_STREAM_FAULTS = ("disconnect", "truncate", "malformed")
"""Ways to break a stream; within its first four pieces, for even the shortest answer is not over then."""


@dataclass(frozen=True)
class PlannedTurn:
    """One turn: the user's message and the server's replies."""

    text: str
    kind: TurnKind
    behaviors: tuple[Behavior, ...]


def write_project_files(root: Path) -> None:
    """Put files of all sizes into the project's folder."""
    for name, lines in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{number}: {' '.join(_WORDS[number % 9 :])} of {name}\n" for number in range(lines))
        path.write_text(text, encoding="utf-8")


def background_reply() -> Behavior:
    """Return the reply to requests without tools: valid for a handover and for observations."""
    facts = "\n".join(f"- The soak run went on as planned with {name}; nothing was lost." for name in _FILES)
    text = "\n".join(f"## {title}\n{facts}" for title in TITLES)
    return {"type": "reply", "text": text, "times": None, "match": {"tools": False}}


def plan_turns(count: int, seed: int) -> list[PlannedTurn]:
    """Return `count` turns; the same seed returns the same."""
    chance = random.Random(seed)
    kinds, weights = zip(*TURN_KIND_WEIGHTS, strict=True)
    return [_plan_turn(number, chance.choices(kinds, weights)[0], chance) for number in range(count)]


def _plan_turn(number: int, kind: TurnKind, rng: random.Random) -> PlannedTurn:
    words = " ".join(rng.choices(_WORDS, k=rng.randint(5, 60)))
    steps = [_step(number, rng) for _ in range(rng.randint(0, 3))]
    if kind == "subagents":
        steps.insert(
            0, _reply("I share the work.", [_delegate_call(number, i) for i in range(rng.randint(1, 3))])
        )
    reply = _reply(" ".join(rng.choices(_WORDS, k=rng.randint(12, 120))), [])
    faults = {"fault": _faults, "outage": _outage, "refusal": _refusal}.get(kind, _no_faults)(rng)
    return PlannedTurn(f"Turn {number}: {words}.", kind, (*faults, *steps, reply))


def _no_faults(_: random.Random) -> list[Behavior]:
    return []


def _faults(rng: random.Random) -> list[Behavior]:
    status = rng.choice(_RETRYABLE_STATUSES)
    late = round(rng.uniform(0.02, 0.2), 3)
    kinds: list[Callable[[], Behavior]] = [
        lambda: {"type": "fail", "status": status, "retry_after": late, "times": rng.randint(1, 2)},
        lambda: {
            "type": "stream_fault",
            "kind": rng.choice(_STREAM_FAULTS),
            "after_chunks": rng.randint(0, 3),
        },
        lambda: {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 0.9},
        lambda: {"type": "tool_fault", "kind": rng.choice(["malformed_arguments", "unknown_tool"])},
        lambda: {"type": "slow_first_token", "seconds": late},
    ]
    # One or two of each kind: together they stay below the retry limit.
    first, second = rng.choices(range(len(kinds)), (8, 12, 1, 4, 2), k=2)
    return [kinds[kind]() for kind in sorted({first, second})]


def _outage(rng: random.Random) -> list[Behavior]:
    return [{"type": "fail", "status": rng.choice([429, 503]), "retry_after": 0.02, "times": 4}]


def _refusal(rng: random.Random) -> list[Behavior]:
    return [{"type": "fail", "status": rng.choice([400, 401, 403, 404, 422])}]


def _step(number: int, rng: random.Random) -> Behavior:
    calls = [rng.choice(_CALL_FACTORIES)(number, rng) for _ in range(rng.randint(1, 3))]
    return _reply("Let me look." if rng.random() < 0.6 else "", calls)


def _reply(text: str, calls: list[dict[str, Any]]) -> Behavior:
    match = {"match": {"tools": True}}  # background requests come without tools
    return {"type": "reply", "text": text, "tool_calls": calls, **match}


def _delegate_call(number: int, index: int) -> dict[str, Any]:
    task = f"Task {number}.{index}: look at small.txt and say what it is about."
    return {"name": "delegate", "arguments": {"task": task, "title": f"Task {number}.{index}"}}


_CallFactory = Callable[[int, random.Random], dict[str, Any]]


def _call_factory(name: str, **arguments: Any) -> _CallFactory:
    return lambda number, chance: {
        "name": name,
        "arguments": {
            key: value(number, chance) if callable(value) else value for key, value in arguments.items()
        },
    }


def _file_path(_: int, rng: random.Random) -> str:
    return rng.choice([*_FILES, "src/missing.py", "../outside.txt"])


def _file_text(number: int, rng: random.Random) -> str:
    return f"# turn {number}\n" + "".join(f"value_{i} = {i}\n" for i in range(rng.randint(2, 120)))


_CALL_FACTORIES: tuple[_CallFactory, ...] = (
    *[_call_factory("read_file", path=_file_path)] * 6,
    *[_call_factory("list_directory", path=".", depth=3)] * 2,
    *[_call_factory("search_text", pattern="parser", path=".")] * 2,
    *[_call_factory("write_file", path=lambda number, _: f"out/file_{number % 40}.py", content=_file_text)]
    * 2,
    _call_factory("edit_file", path="small.txt", old_text="line", new_text="line", replace_all=True),
    _call_factory("edit_file", path="small.txt", old_text="not in there", new_text="at all"),
    _call_factory(
        "run_command", command=lambda number, _: f"printf 'turn %s\\n' {number}; ls -la src | head -20"
    ),
    _call_factory("run_command", command="seq 1 4000"),
    _call_factory("run_command", command="exit 3"),
    _call_factory("search_cached_content", query="parser line"),
    _call_factory("recall_cached_content", hash="0" * 64),
)


_SCAN_METHOD = "scan"  # of a view: every iterator of the store is created here


@dataclass(frozen=True)
class ResourceSample:
    """A sample, taken with nothing running. Sizes in KiB.

    `anon` is memory without a file; `leveldb_log` is the part of it that LevelDB has not written into a
    table yet, up to 16 MiB: the maximum that its log ever contained, for the memory is reused.
    """

    turn: int
    rss: int
    anon: int
    leveldb_log: int
    tasks: int
    threads: int
    children: int
    files: int
    iterators: int


@dataclass
class ResourceMonitor:
    """Samples this process repeatedly; `ignored_children` are children that do not belong to the product.

    `folder` contains the stores' logs, at any depth.
    """

    folder: Path
    ignored_children: frozenset[int] = frozenset()
    samples: list[ResourceSample] = field(default_factory=list)
    iterators_opened: int = 0
    iterators_closed: int = 0
    _max_leveldb_log: int = 0

    def take_sample(self, turn: int) -> ResourceSample:
        gc.collect()
        logs = sum(log.stat().st_size for log in self.folder.rglob("db/*.log"))
        self._max_leveldb_log = max(self._max_leveldb_log, logs // 1024)
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        sample = ResourceSample(
            turn=turn,
            rss=int(status["VmRSS"].split()[0]),
            anon=int(status["RssAnon"].split()[0]),
            leveldb_log=self._max_leveldb_log,
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            children=len(_child_pids() - self.ignored_children),
            files=len(os.listdir("/proc/self/fd")),
            iterators=self.iterators_opened - self.iterators_closed,
        )
        self.samples.append(sample)
        return sample

    @contextmanager
    def count_iterators(self) -> Iterator[None]:
        """Count the iterators that the store opens and closes."""
        scan = ReadView.scan
        watch = self

        def counted(view: ReadView, *args: Any, **more: Any) -> Any:
            watch.iterators_opened += 1
            try:
                yield from scan(view, *args, **more)
            finally:
                watch.iterators_closed += 1

        setattr(ReadView, _SCAN_METHOD, counted)
        try:
            yield
        finally:
            setattr(ReadView, _SCAN_METHOD, scan)


def _child_pids() -> set[int]:
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        pids |= {int(pid) for pid in (task / "children").read_text().split()}
    return pids


def memory_slope(samples: Sequence[ResourceSample]) -> float:
    """Return the KiB that one turn adds permanently, by least squares: memory without LevelDB's buffers."""
    if len(samples) < 2:
        return 0.0
    sizes = [sample.anon - sample.leveldb_log for sample in samples]
    middle_x = sum(sample.turn for sample in samples) / len(samples)
    middle_y = sum(sizes) / len(sizes)
    spread = sum((sample.turn - middle_x) ** 2 for sample in samples)
    risen = zip(samples, sizes, strict=True)
    return sum((sample.turn - middle_x) * (size - middle_y) for sample, size in risen) / spread


def count_live_objects(*types: type) -> dict[str, int]:
    """How many objects of these types live."""
    gc.collect()
    counts = {kind.__name__: 0 for kind in types}
    for obj in gc.get_objects():
        if type(obj) in types:
            counts[type(obj).__name__] += 1
    return counts


WINDOW = 10_000  # tokens: small, so that it is rewritten often
RESERVE = 800  # tokens
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


_ROOT = Path(__file__).resolve().parents[2]

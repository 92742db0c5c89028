"""The full agent loop with real parts: LevelDB, tools on a real folder, counted tokens, a client over HTTP.

Only the model is a script behind a real local server, and it may read nothing but its requests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import TurnChanged, Update
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import load_prompts
from helix_desktop.context.intake.output_forms import EXTRACT_OPENING as EXTRACT
from helix_desktop.context.intake.output_forms import FORMS_OPENING as QUESTION
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade, Redone, SweepMade, Undone
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.file_history.changes import FileCoverageSettings
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.providers.streaming import StreamedModel
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.tools.cache.recall import RegexLineSearch
from helix_desktop.tools.files.attach import JailedFileReader
from helix_desktop.tools.files.file_versions import JailedFileVersionChecker
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.tools.workspace_tools import (
    ToolSetup,
    create_session_tools,
    create_workspace_tools,
    open_jail,
)
from tests.support.agent_rig import MemoryRules
from tests.support.conversation_rig import ConversationRig
from tests.support.model_servers.chat_server import ChatServer, ReceivedRequest, Reply, Script
from tests.support.model_servers.connect import connect_model

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
WORKSPACE = "7b0c1a52-5f0e-4c8e-9f30-2f4c8d1e6a11"
WINDOW = 14_000  # tokens: small, so that handovers come soon
RESERVE = 1_000  # tokens
SUMMARY_OPENING = "[Write a handover]"
OBSERVATION_OPENINGS = ("[Write observations]", "[Refine observations]")
SUMMARY_TITLE = "[Conversation History Summary]"
_REWRITES = (SweepMade, FoldMade, ObservationsPlaced, HandoverMade, Undone, Redone)
# Nothing else frees space: outputs stay until a handover.
HANDOVERS_ONLY = msgspec.structs.replace(
    PROFILES["balanced"],
    least_saving=10_000,
    fold_after_steps=0,
    observe_at=0.0,
    observe_place_at=0.0,
)

Messages = Sequence[dict[str, Any]]


def is_summary_request(request: dict[str, Any]) -> bool:
    return str(request["messages"][-1]["content"]).startswith(SUMMARY_OPENING)


def is_observation_request(request: dict[str, Any]) -> bool:
    return str(request["messages"][-1]["content"]).startswith(OBSERVATION_OPENINGS)


def is_intake_request(request: dict[str, Any]) -> bool:
    """Whether a request is about large outputs: a question that leaves no trace, or an extract."""
    last = request["messages"][-1]
    return last["role"] == "user" and str(last["content"]).startswith((QUESTION, EXTRACT))


@dataclass
class LoggedRequest:
    """A chat request as the server got it, and how long the log was when it was made."""

    received: ReceivedRequest
    log_length: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.received.json["messages"]
        return messages

    @property
    def stable_prefix(self) -> bytes:
        """Its bytes up to the end of the last message."""
        return self.received.body[: self.received.body.rindex(b'],"stream":')]


@dataclass
class LoopRig(ConversationRig):
    """A running workspace, its server, and all its HTTP traffic."""

    server: ChatServer
    workspace: OpenWorkspace
    store: LevelDbStore
    root: Path
    retry_waits: list[float] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    chat_requests: list[LoggedRequest] = field(default_factory=list)
    summary_requests: list[LoggedRequest] = field(default_factory=list)
    observation_requests: list[LoggedRequest] = field(default_factory=list)
    intake_requests: list[LoggedRequest] = field(default_factory=list)
    request_log_length: int = 0  # how long the log was when the newest chat request was made

    async def wait_until_idle_or(self, event: asyncio.Event) -> None:
        idle = asyncio.Event()
        unsubscribe = self.workspace.on(TurnChanged, lambda *_: idle.set())
        try:
            while self.conversation.is_running or self.conversation.session.transcript.queued_messages:
                idle.clear()
                ends = [asyncio.create_task(waiter.wait()) for waiter in (idle, event)]  # noqa: TID251 - both are awaited
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ends:
                    end.cancel()
                if event.is_set():
                    return
                await asyncio.sleep(0)  # the turn's own end comes right after its update
        finally:
            unsubscribe()

    async def wait_for_update(self, kind: type[Update]) -> None:
        came = asyncio.Event()
        unsubscribe = self.workspace.on(kind, lambda *_: came.set())
        try:
            await came.wait()
        finally:
            unsubscribe()

    def prefix_violations(self) -> list[str]:
        """Return requests that do not start with the previous one's bytes although nothing was rewritten."""
        violations = []
        log = self.conversation.session.log
        for number, (earlier, later) in enumerate(itertools.pairwise(self.chat_requests), 2):
            rewritten = any(
                isinstance(entry.event, _REWRITES) for entry in log[earlier.log_length : later.log_length]
            )
            if not rewritten and not later.received.body.startswith(earlier.stable_prefix):
                violations.append(f"request {number}")
        return violations

    async def assert_consistent(self) -> None:
        """Assert valid requests, a log that agrees with the store, no open call, and unchanged outputs."""
        for sent in (
            *(*self.chat_requests, *self.summary_requests),
            *(*self.observation_requests, *self.intake_requests),
        ):
            assert lint_wire(sent.messages) == []
        assert self.prefix_violations() == []
        session = self.conversation.session
        known = len(session.log)  # what runs beside the turn may record more while the store is read
        stored = await self.store.events(session.id)
        assert len(stored) >= known
        assert stored == session.log[: len(stored)]
        assert not session.transcript.turn_open
        assert not session.transcript.open_calls
        for answer in self.events(ToolAnswered):
            data = await self.store.get(answer.digest)
            if answer.whole:
                assert data.decode("utf-8", "replace") == answer.text


@asynccontextmanager
async def loop_rig(
    folder: Path,
    script: Script,
    policy: ContextPolicy | None = None,
    key: str = "",
    window: int = WINDOW,
    has_file_history: bool = False,
    clock: ClockMs | None = None,
    is_attended: bool = False,
) -> AsyncIterator[LoopRig]:
    """A rig over `folder`, its conversation begun; closed with everything at the end of the block.

    The model has a window of so many tokens. A file history covers what stands in the project before. Without
    a `clock`, each reading of the time is a second later. Every call is approved, as in `run`; where it
    `is_attended` a user would be asked, as in the window.
    """
    clock = clock or partial(next, itertools.count(1_750_000_000_000, 1_000))
    rigs: list[LoopRig] = []

    def listened(request: dict[str, Any]) -> Any:
        rig = rigs[0]
        sent = LoggedRequest(rig.server.requests[-1], rig.request_log_length)
        if is_intake_request(request):
            rig.intake_requests.append(sent)
        elif is_summary_request(request):
            rig.summary_requests.append(sent)
        elif is_observation_request(request):
            rig.observation_requests.append(sent)
        else:
            rig.chat_requests.append(sent)
        return script(request)

    root = folder / "project"
    root.mkdir(exist_ok=True)
    http = HttpClient()
    history = await _start_history(root, folder / "history") if has_file_history else None
    async with ChatServer(listened) as server:
        store = await LevelDbStore.open(folder / "store", WORKSPACE)
        rig = LoopRig(
            server,
            _create_workspace(root, store, history, is_attended, policy or PROFILES["balanced"], clock),
            store,
            root,
        )
        rigs.append(rig)
        rig.workspace.on(Update, lambda _, update: rig.updates.append(update))
        await rig.workspace.set_models(create_http_model(rig, server.base_url, http, key, window))
        await rig.begin()
        try:
            yield rig
        finally:
            await rig.workspace.close()
            if history is not None:
                await history.close()
            await http.aclose()


async def _start_history(root: Path, folder: Path) -> WorkspaceFileHistory:
    history = WorkspaceFileHistory(root, folder / "file-history.db", FileCoverageSettings, wall_clock_ms)
    copied = asyncio.Event()
    history.listen(lambda: copied.set() if history.coverage.is_complete else None)
    await history.start()
    if not history.coverage.is_complete:
        await copied.wait()
    return history


class LogLengthRecorder:
    """A model that notes in the rig where the log stood: by its arrival a rewrite may have come after it."""

    def __init__(self, model: StreamedModel, rig: LoopRig) -> None:
        self._model = model
        self._rig = rig

    @property
    def info(self) -> ModelInfo:
        """The model's limits as they are known now."""
        return self._model.info

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        if not request.messages[-1].text.startswith((SUMMARY_OPENING, *OBSERVATION_OPENINGS)):
            self._rig.request_log_length = len(self._rig.conversation.session.log)
        return self._model.stream(request)


def create_http_model(
    rig: LoopRig, base_url: str, http: HttpClient, key: str = "", window: int = WINDOW, name: str = "small"
) -> LogLengthRecorder:
    """Return a client that does not really wait between its attempts: the rig records the sleeps."""

    async def record_wait(seconds: float, _skip: asyncio.Event) -> None:
        rig.retry_waits.append(seconds)
        await asyncio.sleep(0)

    info = ModelInfo("local", name, window, RESERVE)
    retries = RetryPolicy(pause=record_wait, jitter=lambda: 0.0)
    return LogLengthRecorder(
        connect_model("openai-chat", info, base_url, key, http=http, retry_policy=retries), rig
    )


@cache
def _counter() -> TiktokenCounter:
    """Return one counter for all tests of a run: reading the vocabulary takes half a second."""
    return TiktokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")


def _create_workspace(
    root: Path,
    store: LevelDbStore,
    history: WorkspaceFileHistory | None,
    is_attended: bool,
    policy: ContextPolicy,
    clock: ClockMs,
) -> OpenWorkspace:
    counter = _counter()
    tools = create_workspace_tools(root, store, ToolSetup(RESOURCES / "prompts" / "tools", counter.count))
    descriptions = RESOURCES / "prompts" / "tools"
    parts = SessionServices(
        *(store, tools, counter, MemoryRules(), clock, load_prompts()),
        approver=None if is_attended else FixedApprover("once"),
        file_checker=JailedFileVersionChecker(open_jail(root)),
        file_reader=JailedFileReader(open_jail(root)),
        file_history=history,
        line_search=RegexLineSearch(Ripgrep(find_ripgrep(), {})),
        create_session_tools=lambda session: create_session_tools(
            store, descriptions, counter.count, session
        ),
    )
    return OpenWorkspace(
        "w",
        parts,
        policy,
        connect_model("openai-chat", ModelInfo("none", "yet"), "http://127.0.0.1:9", http=HttpClient()),
    )


def lint_wire(messages: Messages) -> list[str]:
    """Return what a strict server would refuse in the messages of a request; empty if it is valid."""
    problems: list[str] = []
    roles = [message["role"] for message in messages]
    if roles[:2] != ["system", "user"] or "system" in roles[1:] or roles[-1] == "assistant":
        problems.append(f"roles: {roles[:3]} … {roles[-1]}")
    call_ids: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if not call_ids or message["tool_call_id"] != call_ids.pop(0):
                problems.append(f"{number}: answers no open call, or not in order")
        elif call_ids:
            problems.append(f"{number}: comes before the answers to {call_ids}")
        if message["role"] == "assistant":
            call_ids = [call["id"] for call in message.get("tool_calls", ())]
            problems += [
                f"{number}: arguments"
                for call in message.get("tool_calls", ())
                if not _has_object_arguments(call)
            ]
        if not str(message.get("content") or "").strip() and not message.get("tool_calls"):
            problems.append(f"{number}: empty")
    return [*problems, *(f"unanswered {call}" for call in call_ids)]


def _has_object_arguments(call: dict[str, Any]) -> bool:
    return isinstance(json.loads(call["function"]["arguments"]), dict)


def script_replies(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> Script:
    """Return a script that sends each reply once, in order; the last one repeatedly."""
    left = list(replies)

    def script(request: dict[str, Any]) -> Reply:
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply(request) if callable(reply) else reply

    return script

"""Commits that fail among others: log and transcript are what is stored, and nothing of them is published."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.session import EventRecorded, Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import HoldSet, OpeningGiven, SessionRenamed, StandingText
from helix_desktop.domain.store import Commit, SessionSummary
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import AgentRig
from tests.support.histories import SessionSimulator
from tests.support.rewrite_histories import histories_with_rewrites
from tests.support.scripted_model import ScriptedModel, text_reply
from tests.support.session_simulator import create_session

_Refusal = Callable[[], BaseException]
_REFUSALS: tuple[_Refusal, ...] = (
    lambda: StoreWriteFailed(verbatim("The disk is full."), verbatim("Nothing was stored.")),
    lambda: OSError("The disk is gone."),
    asyncio.CancelledError,
)
_PARTS = ("messages", "rewrites", "window", "staleness", "reverted_files")


class RefusingStore(MemoryStore):
    """A store of one session that fails with a `refusal`, if there is one, after `read` saw the session."""

    def __init__(self) -> None:
        super().__init__()
        self.refusal: _Refusal | None = None
        self.read: Callable[[], object] = lambda: None
        self.log: list[RecordedEvent] = []
        self.summary: SessionSummary | None = None

    async def commit(self, commit: Commit) -> None:
        await asyncio.sleep(0)
        self.read()
        if self.refusal is not None:
            raise self.refusal()
        self.log += commit.events
        self.summary = commit.summary


def _state(transcript: Transcript) -> dict[str, Any]:
    """Return all that a transcript knows; the window as its entries, not what it has counted of them."""
    parts = {name: vars(getattr(transcript, name)) for name in ("messages", "rewrites")}
    own = {name: value for name, value in vars(transcript).items() if name not in _PARTS}
    shown = (transcript.window.entries(), transcript.window.covers, transcript.window.tokens)
    files = (transcript.superseded, transcript.staleness.in_work, transcript.reverted_files.by_path)
    return own | parts | {"window": shown, "files": files}


def _open(store: RefusingStore) -> tuple[Session, list[RecordedEvent]]:
    session = create_session("s", store, lambda: 1, TaskScope(), [])
    published = list[RecordedEvent]()
    session.on(EventRecorded, lambda update: published.append(update.recorded))
    return session, published


async def _check(simulator: SessionSimulator, refusals: list[_Refusal | None]) -> None:
    store = RefusingStore()
    calm_store = RefusingStore()
    session, published = _open(store)
    calm, _ = _open(calm_store)
    transcript = session.transcript
    log = session.log
    rewriter = WindowRewriter(session)
    store.read = rewriter.measure
    for recorded, refusal in zip(simulator.log, cycle([None, *refusals]), strict=False):
        await calm.record(recorded.event)
        if refusal is not None:
            store.refusal = refusal
            with pytest.raises(type(refusal())):
                await session.record(UserSpoke("It is never stored.", 5), *[recorded.event] * (len(log) % 2))
            assert log == store.log, "nothing of it is in the log"
        store.refusal = None
        await session.record(recorded.event)
        assert session.transcript is transcript
        assert session.log is log
        assert log == published == store.log
        window = project(Transcript(log), session.policy, session.frame)
        assert rewriter.measure()[0] == window, "the next request has nothing of what was refused"
    assert _state(transcript) == _state(Transcript(log)) == _state(calm.transcript)
    assert store.summary == calm_store.summary


@pytest.mark.expect_errors("record s failed")
@given(
    histories_with_rewrites(),
    st.lists(st.sampled_from((None, *_REFUSALS)), min_size=2),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_log_and_transcript_are_what_is_stored(
    simulator: SessionSimulator, refusals: list[_Refusal | None]
) -> None:
    asyncio.run(_check(simulator, refusals))


@pytest.mark.expect_errors("record s failed")
async def test_a_planned_opening_stays_planned_when_it_is_refused() -> None:
    store = RefusingStore()
    session, _ = _open(store)
    texts = (StandingText("project", "Be brief.", 3, "AGENTS.md"),)
    session.transcript.plan_opening(texts)
    store.refusal = _REFUSALS[0]
    with pytest.raises(StoreWriteFailed):
        await session.record(OpeningGiven(texts))
    assert (session.transcript.opening_seq, session.transcript.opening) == (0, texts)


async def test_no_request_is_sent_with_what_is_being_stored() -> None:
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done.")))
    session = (await rig.begin()).session
    rig.store.gated_event_types = (HoldSet,)
    session.on(UserSpoke, lambda _: session.scope.start(session.record(HoldSet(True)), "hold"))
    await rig.conversation.send("Look.")
    await rig.store.gate_reached.wait()
    assert session.transcript.on_hold
    for _ in range(100):
        await asyncio.sleep(0)
    assert rig.model.requests == []
    rig.store.gate.set()
    await rig.wait_until_idle()
    assert len(rig.model.requests) == 1


async def test_a_branch_waits_for_what_is_being_stored() -> None:
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done.")))
    session = (await rig.begin()).session
    await rig.conversation.run("Look.")
    rig.store.gated_event_types = (SessionRenamed,)
    session.scope.start(session.record(SessionRenamed("Renamed")), "rename")
    await rig.store.gate_reached.wait()
    opening = session.scope.start(rig.workspace.branches.open(session.id), "branch")
    await asyncio.sleep(0)
    rig.store.gate.set()
    branch = (await opening).session
    assert branch.log[: len(session.log)] == session.log
    assert branch.transcript.last_seq == len(branch.log)
    assert isinstance(session.log[-1].event, SessionRenamed)

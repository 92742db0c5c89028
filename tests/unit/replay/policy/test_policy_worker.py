"""The worker of policy replays: what is called off ends, a dead process is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from multiprocessing import Pipe, active_children
from pathlib import Path

from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.replay.policy.policy_replay import (
    AddEvents,
    OpenSession,
    PolicyReplay,
    ReplayDone,
    StartReplay,
    decode_reply,
    encode,
)
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.policy.worker_process import ReplayServer
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.replay.token_counters import LineTokenCounter
from helix_desktop.system.task_scope import TaskScope
from tests.support.compaction_rig import ready_conversation
from tests.support.policy_replay import replay_policy

USER_TEXT = TextContext("Agent")  # what a live log holds until it is read back
MODEL = ModelInfo("test", "small", 12_000, reserve=0)
FACTS = SessionFacts(MODEL, 100)
OTHER_FACTS = SessionFacts(MODEL, 900)
CHANGED = {name: replace(PROFILES[name], ledger_tokens=500) for name in ("lean", "classic")}
"""Profiles with a change of the user's: they are not replayed ahead."""


def log_of(turns: int) -> list[RecordedEvent]:
    """A session of plain messages."""
    events: list[Event] = [SessionStarted("A session")]
    for number in range(turns):
        events += [UserSpoke(f"Question {number}", 50), AssistantSpoke("An answer.", "test/small", 150)]
    events.append(TurnEnded("failed", USER_TEXT("The model stopped."), USER_TEXT("It was overloaded.")))
    return [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events, 1)]


async def pictures(worker: PolicyReplayWorker, policy: ContextPolicy) -> list[PolicyReplay]:
    return [picture async for picture in worker.replay(policy)]


async def test_the_exact_replay_follows_a_first_picture_and_a_dead_process_is_replaced() -> None:
    log = log_of(30)
    worker = PolicyReplayWorker()
    try:
        await worker.load(log, FACTS)
        found = await pictures(worker, CHANGED["classic"])
        *growing, whole = [picture.is_exact for picture in found]  # the longer it takes, the more of them
        assert whole
        assert growing
        assert not any(growing)
        assert found[-1] == await asyncio.to_thread(replay_policy, log, CHANGED["classic"], MODEL, 100)
        assert (await worker.effect(PROFILES["balanced"], "handover_at")).billed == 0
        process = worker._link.process
        assert process is not None
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM)
        longer = log_of(40)
        await worker.load([*log, *longer[len(log) :]], FACTS)
        (*_, exact) = await pictures(worker, PROFILES["lean"])
        assert len(exact.points) == 40
        assert worker._link.process not in (None, process)
        assert await worker.replay_in_background(PROFILES["lean"]) == exact
    finally:
        await worker.close()
    assert not worker.is_running
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_replay_that_was_called_off_ends_at_once_and_says_nothing_to_the_next_one() -> None:
    log = log_of(1_000)
    worker = PolicyReplayWorker()
    scope = TaskScope()
    try:
        await worker.load(log, FACTS)
        for called_off in (pictures(worker, CHANGED["lean"]), worker.replay_in_background(CHANGED["lean"])):
            task = scope.start(called_off, "lean")
            await asyncio.sleep(0.2)
            task.cancel()
            found = await pictures(worker, PROFILES["off"])
            assert all(picture.handover_at == found[-1].handover_at for picture in found)
            assert found[-1] == await asyncio.to_thread(replay_policy, log, PROFILES["off"], MODEL, 100)
    finally:
        await worker.close()


def test_a_message_ends_the_replay_that_runs() -> None:
    window, end = Pipe()
    with window, end:
        server = ReplayServer(end)
        waiting = StartReplay(CHANGED["classic"], number=2)
        requests = (
            OpenSession(FACTS),
            AddEvents(log_of(300)),
            StartReplay(CHANGED["lean"], number=1),
            waiting,
        )
        for request in requests:
            window.send_bytes(encode(request))
        for _ in requests:
            server.receive()
        reply = decode_reply(window.recv_bytes())
        assert isinstance(reply, ReplayDone)
        assert (reply.number, reply.replay.is_exact) == (2, True)
        assert not window.poll()


async def test_a_first_picture_needs_no_process_and_is_that_of_the_process() -> None:
    """Also of a session that went on, and of another one after it."""
    worker = PolicyReplayWorker()
    log = log_of(40)
    try:
        for part, facts in ((log[:40], FACTS), (log, FACTS), (log_of(7), FACTS), (log_of(7), OTHER_FACTS)):
            session = SessionReplay(facts, LineTokenCounter.bundled())
            session.add(part)
            for policy in (PROFILES["lean"], CHANGED["classic"]):
                assert await worker.first_picture(part, facts, policy) == session.approximate(policy)
        assert not worker.is_running
    finally:
        await worker.close()


async def test_a_session_whose_loading_was_called_off_is_replayed_once_and_whole() -> None:
    """As when the user goes on while a long one is sent: no part is missing, none comes twice."""
    log = log_of(600)
    worker = PolicyReplayWorker()
    scope = TaskScope()
    try:
        for is_sending in (False, True, False):
            loading = scope.start(worker.load(log, FACTS), "load")
            await asyncio.sleep(0)
            while is_sending and not worker._link.sent:  # noqa: ASYNC110 - in the midst of the next part
                await asyncio.sleep(0)
            loading.cancel()
        await worker.load(log, FACTS)
        (*_, exact) = await pictures(worker, PROFILES["off"])
        assert [point.seq for point in exact.points] == [
            recorded.seq - 1 for recorded in log if isinstance(recorded.event, AssistantSpoke)
        ]
    finally:
        await worker.close()


async def test_the_process_ends_when_nobody_asks() -> None:
    """Not while it is to stay ready: the next replay would wait for a new one to read the session."""
    worker = PolicyReplayWorker(idle_s=0.0)
    await worker.stay_ready(is_on=False)
    await worker.load(log_of(1), FACTS)
    await worker.stay_ready(is_on=True)
    for _ in range(5):
        await asyncio.sleep(0)  # a timer would end it
    assert worker.is_running
    await worker.stay_ready(is_on=False)
    async with asyncio.timeout(300):
        while worker.is_running:  # noqa: ASYNC110 - a timer ends it
            await asyncio.sleep(0.005)
    await worker.close()


async def test_a_process_that_a_canceled_request_starts_ends_too() -> None:
    worker = PolicyReplayWorker(idle_s=0.0)
    scope = TaskScope()
    scope.start(worker.load(log_of(1), FACTS), "load")
    await asyncio.sleep(0)  # it is begun, and the process not there yet
    await scope.close()
    async with asyncio.timeout(300):
        await asyncio.wrap_future(worker._thread.submit(lambda: None))  # the thread is done with it
        while worker.is_running:  # noqa: ASYNC110 - a timer ends it
            await asyncio.sleep(0.005)
    await worker.close()


async def test_a_process_that_died_as_its_request_was_called_off_is_not_replaced() -> None:
    worker = PolicyReplayWorker()
    stop = threading.Event()
    try:
        await worker.load(log_of(300), FACTS)
        replies = worker._link.ask(StartReplay(CHANGED["lean"], is_growing=True), stop)
        await asyncio.to_thread(next, replies)
        process = worker._link.process
        assert process is not None
        process.kill()
        await asyncio.to_thread(process.join)
        stop.set()
        assert await asyncio.to_thread(list, replies) == []
        assert worker._link.process in (None, process)
    finally:
        await worker.close()


async def test_a_replay_that_closing_stops_does_not_say_that_a_process_ended() -> None:
    """The window closes the worker while the effect of a number is asked for."""
    worker = PolicyReplayWorker()
    await worker.load(log_of(1_000), FACTS)
    estimates = asyncio.gather(
        worker.replay_in_background(CHANGED["lean"]),
        worker.effect(CHANGED["lean"], "ledger_tokens"),
        return_exceptions=True,
    )
    await asyncio.sleep(0)
    await worker.close()
    errors = await estimates
    assert [str(error) for error in errors if isinstance(error, HelixError)] == [
        "The policy can't be replayed. The replay was stopped before it was done."
    ] * 2


async def test_a_process_whose_end_was_called_off_is_ended_by_the_next_call(tmp_path: Path) -> None:
    """A session leaves the screen while its replay starts, then the window closes and cancels its tasks."""
    rig = await ready_conversation()
    scope = TaskScope()
    replays = SessionReplays(PolicyReplayWorker)
    await replays.open(rig.conversation, tmp_path)
    scope.start(replays.load(), "load")
    await asyncio.sleep(0)
    scope.start(replays.close(), "leave the session")
    await asyncio.sleep(0)
    await scope.close()
    await replays.close()
    assert not active_children()


def test_the_profiles_are_replayed_ahead() -> None:
    """Their pictures are exact at once; another policy that was changed has its first picture before."""
    window, end = Pipe()
    with window, end:
        server = ReplayServer(end)
        for request in (OpenSession(FACTS), AddEvents(log_of(30))):
            window.send_bytes(encode(request))
            server.receive()
        server.prepare()
        for number, policy in enumerate((*PROFILES.values(), CHANGED["lean"])):
            window.send_bytes(encode(StartReplay(policy, is_growing=True, number=number)))
            server.receive()
            reply = decode_reply(window.recv_bytes())
            assert isinstance(reply, ReplayDone)
            assert reply.replay.is_exact == (policy != CHANGED["lean"])
            if policy == PROFILES["classic"]:
                assert reply.replay == replay_policy(log_of(30), policy, MODEL, 100)

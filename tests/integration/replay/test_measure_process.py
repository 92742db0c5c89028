"""A session measured in a process of its own: the same figures, its progress, and what a cancel leaves."""

from __future__ import annotations

import asyncio
from multiprocessing import active_children

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import DigestUnknown, HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.measure import measure_messages
from helix_desktop.replay.measure_process import measure_session
from helix_desktop.replay.recording import messages_of_log
from helix_desktop.system.task_scope import TaskScope

BALANCED, DIGEST = PROFILES["balanced"], "a" * 64
OUTPUT = "".join(f"{line}: the whole output\n" for line in range(900))


def _log(steps: int = 1) -> list[RecordedEvent]:
    events: list[Event] = [UserSpoke("Read src/app.py. Never change it.", 9)]
    for number in range(steps):
        call = ToolCall(f"c{number}", "read_file", '{"path": "src/app.py"}')
        events += [
            AssistantSpoke("", "m", 5, (call,)),
            ToolAnswered(call.id, call.name, "0: the whole output", DIGEST, 20_000, 5, 5),
        ]
    events.append(AssistantSpoke("Read.", "m", 5))
    return [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events, 1)]


async def _read(digest: str) -> bytes:
    assert digest == DIGEST
    return OUTPUT.encode()


async def test_the_figures_are_those_of_the_command_line() -> None:
    log, progress = _log(), list[tuple[int, int]]()
    figures = await measure_session("s", log, _read, BALANCED, 128_000, lambda *done: progress.append(done))
    messages, compactions = messages_of_log(log, {DIGEST: OUTPUT.encode()})
    here = await asyncio.to_thread(measure_messages, "s", messages, BALANCED, 128_000, compactions)
    assert figures == here
    assert figures.unmanaged.peak_window > 4_000
    assert progress == [(number, 4) for number in range(4)]
    assert not active_children()


async def test_an_output_that_is_gone_counts_as_it_was_shown() -> None:
    async def gone(digest: str) -> bytes:
        raise DigestUnknown(verbatim(f"No {digest}."))

    figures = await measure_session("s", _log(), gone, BALANCED, 128_000)
    assert figures.unmanaged.peak_window < 100


async def test_a_process_that_dies_is_an_error() -> None:
    def kill(*_: int) -> None:
        for process in active_children():
            process.kill()

    with pytest.raises(HelixError) as raised:
        await measure_session("s", _log(400), _read, BALANCED, 128_000, kill)
    assert str(raised.value.what) == "This session can't be replayed."
    assert not active_children()


async def test_a_cancel_ends_the_process() -> None:
    begun = asyncio.Event()
    scope = TaskScope()
    work = measure_session("s", _log(400), _read, BALANCED, 128_000, lambda *_: begun.set())
    measuring = scope.start(work, "measure")
    await begun.wait()
    await scope.close()
    assert measuring.cancelled()
    assert not active_children()

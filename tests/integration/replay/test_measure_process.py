"""A session measured in a process of its own: the same figures, its progress, and what a cancel leaves."""

from __future__ import annotations

import asyncio
from multiprocessing import active_children

import pytest
from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import DigestUnknown, HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ModelInfo, ToolCall, Usage
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.measure import as_model_counts, measure_messages, measure_session
from helix_desktop.replay.recording import SessionFacts, messages_of_log, recording_facts
from helix_desktop.system.task_scope import TaskScope

BALANCED = PROFILES["balanced"]
DIGEST = "a" * 64
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
    if digest != DIGEST:
        raise DigestUnknown(verbatim(f"No {digest}."))
    return OUTPUT.encode()


async def test_the_figures_are_those_of_the_command_line() -> None:
    """An output that is gone counts as it was shown."""
    log = _log(2)
    progress = list[tuple[int, int]]()
    log[-2] = replace(log[-2], event=replace(log[-2].event, digest="b" * 64))
    figures = await measure_session(
        "s", log, _read, BALANCED, recording_facts(128_000), lambda *done: progress.append(done)
    )
    messages, compactions = messages_of_log(log, {DIGEST: OUTPUT.encode()})
    assert messages[-2]["content"] == "0: the whole output"
    here = await asyncio.to_thread(
        measure_messages, "s", messages, BALANCED, recording_facts(128_000), compactions
    )
    assert figures == here
    assert figures.unmanaged.peak_window > 4_000
    assert progress == [(number, 6) for number in range(6)]
    assert not active_children()


def test_a_recall_counts_as_what_it_brought_back() -> None:
    call = ToolCall("c", "recall_cached_content", f'{{"hash": "{DIGEST}", "lines": "1-2"}}')
    part = ToolAnswered(call.id, call.name, "0: the whole output", DIGEST, 20, 5, 5, recalled=DIGEST)
    events: list[Event] = [UserSpoke("Look.", 1), AssistantSpoke("", "m", 5, (call,)), part]
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]
    messages, _ = messages_of_log(log, {DIGEST: OUTPUT.encode()})
    assert messages[-1]["content"] == "0: the whole output"


def test_each_request_counts_what_is_always_sent_and_never_exceeds_the_window() -> None:
    """By the first request on, with and without management; decisions know of it, too."""
    messages, _ = messages_of_log(_log(12), {DIGEST: OUTPUT.encode()})
    always = 3_000
    window = 24_000
    facts = SessionFacts(ModelInfo("lab", "m", window, reserve=1_000), always)
    own, plain = (measure_messages("s", messages, BALANCED, of) for of in (facts, recording_facts(window)))
    assert own.managed_sizes[0] == own.unmanaged_sizes[0] == plain.managed_sizes[0] + always
    assert own.unmanaged_sizes == tuple(size + always for size in plain.unmanaged_sizes)
    assert own.unmanaged.peak_window > window > own.managed.peak_window
    assert own.unmanaged.input_tokens == plain.unmanaged.input_tokens + always * len(own.unmanaged_sizes)


def test_a_request_that_was_sent_counts_as_reported() -> None:
    """What another one has more counts at the usual ratio; without Helix no request has less than before."""
    log = _log(3)
    messages, _ = messages_of_log(log, {DIGEST: OUTPUT.encode()})
    figures = measure_messages("s", messages, PROFILES["off"], recording_facts(1_000_000))
    sizes = figures.unmanaged_sizes
    inputs = (40, 5_000, 15_000, 14_000)
    spoken = [recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke)]
    answers = [
        replace(answer, usage=Usage(tokens, 1), estimate=size)
        for answer, tokens, size in zip(spoken, inputs, sizes, strict=True)
    ]
    counted = as_model_counts(figures, answers, 1.2)
    assert counted.managed_sizes == inputs
    assert counted.unmanaged_sizes == (40, 5_000, 15_000, 15_000)
    assert counted.managed.peak_window == 15_000
    assert counted.managed.input_tokens == sum(inputs)

    larger = replace(figures, unmanaged_sizes=tuple(size + 1_000 for size in sizes))
    assert as_model_counts(larger, answers, 1.2).unmanaged_sizes[1] == 5_000 + 1_200
    unreported = [replace(answer, usage=None) for answer in answers]
    assert as_model_counts(figures, unreported, 1.2).managed_sizes == tuple(
        round(size * 1.2) for size in sizes
    )


async def test_a_process_that_dies_is_an_error() -> None:
    def kill(*_: int) -> None:
        for process in active_children():
            process.kill()

    with pytest.raises(HelixError) as raised:
        await measure_session("s", _log(400), _read, BALANCED, recording_facts(128_000), kill)
    assert str(raised.value.what) == "This session can't be replayed."
    assert not active_children()


async def test_a_cancel_ends_the_process() -> None:
    begun = asyncio.Event()
    scope = TaskScope()
    work = measure_session("s", _log(400), _read, BALANCED, recording_facts(128_000), lambda *_: begun.set())
    measuring = scope.start(work, "measure")
    await begun.wait()
    await scope.close()
    assert measuring.cancelled()
    assert not active_children()

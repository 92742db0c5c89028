"""Reader threads: answers and errors reach their caller, a canceled read is not answered."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from helix_desktop.store.threads import LoopBridge, ReaderThreads


async def test_answers_and_errors_reach_their_caller() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    own_thread = threading.get_ident()
    assert await readers.submit_async(delivery, threading.get_ident) != own_thread

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await readers.submit_async(delivery, refuse)
    assert await asyncio.gather(
        *(readers.submit_async(delivery, partial(int, n)) for n in range(50))
    ) == list(range(50))
    readers.close()


async def test_a_read_canceled_before_it_starts_is_not_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    may_continue = threading.Event()
    answered: list[int] = []
    blocking = [readers.submit_async(delivery, lambda: may_continue.wait(30)) for _ in range(2)]
    canceled = readers.submit_async(delivery, lambda: answered.append(1))
    canceled.cancel()
    may_continue.set()
    await asyncio.gather(*blocking)
    readers.close()
    assert answered == []


async def test_reads_submitted_before_the_end_are_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    reads = [readers.submit_async(delivery, partial(int, n)) for n in range(20)]
    await asyncio.to_thread(readers.close)
    assert await asyncio.gather(*reads) == list(range(20))


async def test_a_canceled_caller_does_not_block_the_others_results() -> None:
    delivery = LoopBridge(asyncio.get_running_loop())
    canceled, waits, fails = delivery.create_future(), delivery.create_future(), delivery.create_future()
    canceled.cancel()
    delivery.deliver([(canceled, 1, None), (waits, 2, None), (fails, None, ValueError("no"))])
    assert await waits == 2
    with pytest.raises(ValueError, match="no"):
        await fails


def test_a_closed_loop_gets_no_result() -> None:
    loop = asyncio.new_event_loop()
    delivery = LoopBridge(loop)
    future = delivery.create_future()
    loop.close()
    delivery.deliver([(future, 1, None)])
    assert not future.done()

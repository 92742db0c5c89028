"""Readers and the way back: answers and errors reach who asked, a question withdrawn is not answered."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from helix_desktop.store.threads.loop_bridge import LoopBridge
from helix_desktop.store.threads.reader_threads import ReaderThreads


async def test_answers_and_errors_reach_who_asked() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    here = threading.get_ident()
    assert await readers.submit_async(delivery, threading.get_ident) != here

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await readers.submit_async(delivery, refuse)
    assert await asyncio.gather(
        *(readers.submit_async(delivery, partial(int, n)) for n in range(50))
    ) == list(range(50))
    readers.close()


async def test_a_question_withdrawn_before_its_turn_is_not_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    go_on = threading.Event()
    answered: list[int] = []
    holding = [readers.submit_async(delivery, lambda: go_on.wait(30)) for _ in range(2)]
    withdrawn = readers.submit_async(delivery, lambda: answered.append(1))
    withdrawn.cancel()
    go_on.set()
    await asyncio.gather(*holding)
    readers.close()
    assert answered == []


async def test_what_was_asked_before_the_end_is_answered() -> None:
    delivery, readers = LoopBridge(asyncio.get_running_loop()), ReaderThreads("test-read")
    asked = [readers.submit_async(delivery, partial(int, n)) for n in range(20)]
    await asyncio.to_thread(readers.close)
    assert await asyncio.gather(*asked) == list(range(20))


async def test_one_who_gave_up_does_not_keep_the_others_from_their_results() -> None:
    delivery = LoopBridge(asyncio.get_running_loop())
    gone, waits, fails = delivery.create_future(), delivery.create_future(), delivery.create_future()
    gone.cancel()
    delivery.deliver([(gone, 1, None), (waits, 2, None), (fails, None, ValueError("no"))])
    assert await waits == 2
    with pytest.raises(ValueError, match="no"):
        await fails


def test_a_loop_that_is_closed_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    delivery = LoopBridge(loop)
    place = delivery.create_future()
    loop.close()
    delivery.deliver([(place, 1, None)])
    assert not place.done()

"""Readers and the way back: answers and errors reach who asked, a question withdrawn is not answered."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from helix_desktop.store.delivery import Delivery
from helix_desktop.store.readers import Readers


async def test_answers_and_errors_reach_who_asked() -> None:
    delivery, readers = Delivery(asyncio.get_running_loop()), Readers("test-read")
    here = threading.get_ident()
    assert await readers.ask(delivery, threading.get_ident) != here

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await readers.ask(delivery, refuse)
    assert await asyncio.gather(*(readers.ask(delivery, partial(int, n)) for n in range(50))) == list(
        range(50)
    )
    readers.end()


async def test_a_question_withdrawn_before_its_turn_is_not_answered() -> None:
    delivery, readers = Delivery(asyncio.get_running_loop()), Readers("test-read")
    go_on = threading.Event()
    answered: list[int] = []
    holding = [readers.ask(delivery, lambda: go_on.wait(30)) for _ in range(2)]
    withdrawn = readers.ask(delivery, lambda: answered.append(1))
    withdrawn.cancel()
    go_on.set()
    await asyncio.gather(*holding)
    readers.end()
    assert answered == []


async def test_what_was_asked_before_the_end_is_answered() -> None:
    delivery, readers = Delivery(asyncio.get_running_loop()), Readers("test-read")
    asked = [readers.ask(delivery, partial(int, n)) for n in range(20)]
    await asyncio.to_thread(readers.end)
    assert await asyncio.gather(*asked) == list(range(20))


async def test_one_who_gave_up_does_not_keep_the_others_from_their_results() -> None:
    delivery = Delivery(asyncio.get_running_loop())
    gone, waits, fails = delivery.place(), delivery.place(), delivery.place()
    gone.cancel()
    delivery.bring([(gone, 1, None), (waits, 2, None), (fails, None, ValueError("no"))])
    assert await waits == 2
    with pytest.raises(ValueError, match="no"):
        await fails


def test_a_loop_that_is_closed_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    delivery = Delivery(loop)
    place = delivery.place()
    loop.close()
    delivery.bring([(place, 1, None)])
    assert not place.done()

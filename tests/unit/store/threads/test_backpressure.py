"""The backlog: callers wait for space in order, and get an error when the store closes."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.store.threads import Backpressure

MB = 1024 * 1024


class WaitingCallers:
    """Coroutines that hold a place until released; `inside` lists who got in."""

    def __init__(self) -> None:
        self.backlog = Backpressure()
        self.inside: list[int] = []
        self.go = [asyncio.Event() for _ in range(400)]

    async def hold(self, number: int, size: int) -> None:
        async with self.backlog.slot(size):
            self.inside.append(number)
            await self.go[number].wait()


async def settled() -> None:
    """Run everything that can go on: no clock and no thread is involved."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_bytes_are_bounded_and_a_single_write_always_fits() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        for number, size in enumerate([100 * MB, 1, 60 * MB, 10 * MB]):
            group.create_task(callers.hold(number, size))
        await settled()
        assert callers.inside == [0]
        callers.go[0].set()
        await settled()
        assert callers.inside == [0, 1, 2]
        callers.go[2].set()
        await settled()
        assert callers.inside == [0, 1, 2, 3]
        callers.go[1].set()
        callers.go[3].set()


async def test_the_number_of_writes_is_bounded_and_order_is_kept() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(callers.hold(number, 1))
        await settled()
        assert callers.inside == list(range(256))
        for number in range(300):
            callers.go[number].set()
    assert callers.inside == list(range(300))


async def test_waiters_get_an_error_when_the_store_closes() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        group.create_task(callers.hold(0, 100 * MB))
        await settled()

        async def late() -> None:
            with pytest.raises(StoreClosed):
                await callers.hold(1, 1)

        group.create_task(late())
        group.create_task(late())
        await settled()
        callers.backlog.close()
        await settled()
        callers.go[0].set()
    assert callers.inside == [0]


async def test_a_canceled_waiter_takes_no_space() -> None:
    callers = WaitingCallers()
    async with asyncio.TaskGroup() as group:
        group.create_task(callers.hold(0, 64 * MB))
        waiting = group.create_task(callers.hold(1, MB))
        await settled()
        waiting.cancel()
        group.create_task(callers.hold(2, MB))
        await settled()
        assert callers.inside == [0]
        callers.go[0].set()
        await settled()
        assert callers.inside == [0, 2]
        callers.go[2].set()

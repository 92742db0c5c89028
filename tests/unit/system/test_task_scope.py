"""The owner of tasks: closing ends them all, and no failure is lost."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.system.task_scope import TaskScope


async def test_closing_ends_what_waits_and_what_that_begins_on_its_way_out() -> None:
    scope = TaskScope()
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
            if name == "first":
                scope.start(wait("late"), "late")

    scope.start(wait("first"), "first")
    scope.start(wait("second"), "second")
    await asyncio.sleep(0)
    await scope.close()
    assert set(ended) - {"late"} == {"first", "second"}  # a task that never began ends without a word


@pytest.mark.timeout(10)
async def test_closing_right_behind_an_end_that_the_scope_has_not_heard_of() -> None:
    """Since Python 3.12 gathering what is done does not yield: closing once went round for ever."""
    scope = TaskScope()

    async def quick() -> None:
        return

    scope.start(quick(), "quick")
    await asyncio.sleep(0)  # its last step and our next one are in the same round of the loop
    await scope.close()


async def test_closing_twice_and_closing_nothing() -> None:
    scope = TaskScope()
    await scope.close()
    await scope.close()


@pytest.mark.expect_errors("task broken failed")
async def test_a_failure_is_told() -> None:
    told: list[BaseException] = []
    scope = TaskScope(told.append)

    async def broken() -> None:
        raise ValueError("no")

    scope.start(broken(), "broken")
    await asyncio.sleep(0.01)
    assert [str(one) for one in told] == ["no"]
    await scope.close()


async def test_what_comes_after_the_end_is_never_begun() -> None:
    scope, begun = TaskScope(), list[str]()

    async def late() -> None:
        begun.append("late")

    await scope.close()
    await scope.start(late(), "goes on")
    assert begun.pop() == "late"
    await scope.close(for_good=True)
    task = scope.start(late(), "late")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun == []
    await scope.close()

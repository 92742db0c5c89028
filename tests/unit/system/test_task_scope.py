"""The owner of tasks ends them all and loses no failure."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.system.task_scope import TaskScope


async def test_closing_ends_waiting_tasks_and_those_they_start_while_ending() -> None:
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
    assert set(ended) - {"late"} == {"first", "second"}  # a task that never started ends silently


async def test_closing_right_after_an_end_the_scope_has_not_processed() -> None:
    """Since Python 3.12 gathering finished tasks does not yield: closing once looped forever."""
    scope = TaskScope()

    async def quick() -> None:
        return

    scope.start(quick(), "quick")
    await asyncio.sleep(0)  # its last step and our next one are in the same round of the loop
    await scope.close()


@pytest.mark.expect_errors("task broken failed")
async def test_a_failure_is_reported() -> None:
    reported = asyncio.get_running_loop().create_future()
    scope = TaskScope(reported.set_result)

    async def broken() -> None:
        raise ValueError("no")

    scope.start(broken(), "broken")
    assert str(await reported) == "no"
    await scope.close()


async def test_tasks_after_the_end_are_never_started() -> None:
    scope = TaskScope()
    started = list[str]()

    async def late() -> None:
        started.append("late")

    await scope.close()
    await scope.start(late(), "goes on")
    assert started.pop() == "late"
    await scope.close(for_good=True)
    task = scope.start(late(), "late")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started == []
    await scope.close()

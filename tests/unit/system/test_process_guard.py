"""A process group ends with its guard."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from helix_desktop.system.process_group import ProcessGroup

posix = pytest.mark.skipif(os.name != "posix", reason="on Windows a job object is the guard")


@posix
async def test_closing_the_guard_kills_the_group() -> None:
    group = ProcessGroup("inherited")
    process = await asyncio.create_subprocess_exec(*group.argv(("sleep", "300")), **group.start_options)
    group.close()  # not attached, so nothing but the watcher can end it
    async with asyncio.timeout(300):
        assert await process.wait() == -signal.SIGKILL


@posix
async def test_a_guarded_program_has_an_empty_input_and_its_variable() -> None:
    group = ProcessGroup("stdin")
    argv = group.argv(("/bin/sh", "-c", 'cat; echo "$TAG"'), "TAG=of a test")
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdout=asyncio.subprocess.PIPE, **group.start_options
        )
        async with asyncio.timeout(300):
            output, _ = await process.communicate()
    finally:
        group.close()
    assert (process.returncode, output) == (0, b"of a test\n")

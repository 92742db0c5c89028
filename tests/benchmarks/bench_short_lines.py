"""A command that prints 30 MB of short lines, in a turn of `run`: the complete process, to its answer."""

from __future__ import annotations

import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path

from tests.support.cli_rig import Cli
from tests.support.loop_rig import is_intake_request
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    Script,
    StreamedReply,
    text_reply,
)

SIZE_MB = 30
COMMANDS = {
    "one letter": "yes",
    "numbers": "seq 1 99999999",
    "a log": "seq 1 99999999 | sed 's/.*/line & of a log: value x/'",
}

Figure = tuple[str, float, str]


def main() -> list[Figure]:
    """Measure on this machine."""
    start_cpu, start_s = asyncio.run(_turn(": no output"))
    figures: list[Figure] = [("a run without output", start_s, f"s, {start_cpu:.1f} s of CPU")]
    for name, command in COMMANDS.items():
        cpu, passed_s = asyncio.run(_turn(f"{command} | head -c {SIZE_MB}000000"))
        unit = f"s more (at most 10), {cpu - start_cpu:.1f} s of CPU more"
        figures.append((f"{SIZE_MB} MB of lines: {name}", passed_s - start_s, unit))
    return figures


async def _turn(command: str) -> tuple[float, float]:
    """Run a command in a turn; return the seconds of processor time, and those that passed."""
    with tempfile.TemporaryDirectory() as folder:
        cli = Cli.create(Path(folder))
        async with ChatServer(_script(command)) as server:
            before, started = _children_cpu_s(), time.perf_counter()
            process = await cli.start(
                *("run", "--workspace", "ws", "--trust", "--yes", "--message", "Go."),
                *("--model", "local/small", "--base-url", server.base_url, "--window", "128000"),
            )
            printed, errors = await process.communicate()
            passed = time.perf_counter() - started
        assert process.returncode == 0, errors.decode()
        assert printed.decode().endswith("Read.\n"), printed
        return _children_cpu_s() - before, passed


def _script(command: str) -> Script:
    """A model that runs a command, takes the preview, and answers."""

    def reply(request: dict[str, object]) -> Reply:
        if is_intake_request(request):
            return text_reply("keep the preview")
        if '"role": "tool"' in json.dumps(request["messages"]):
            return text_reply("Read.")
        return StreamedReply(Call("run_command", json.dumps({"command": command}), id="c1"))

    return reply


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

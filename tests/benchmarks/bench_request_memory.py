"""What one process needs for each of 1,500 requests of a session: memory, and of that the log itself."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.services.app_services import AppServices
from tests.support.model_servers.chat_server import Call, ChatServer, StreamedReply, text_reply

REQUESTS, WARM_UP = 1_500, 100
STEPS_PER_TURN = 10
MAX_KB = 8  # beside the log

Figure = tuple[str, float, str]


def main() -> list[Figure]:
    """Measure on this machine."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    count = 0

    def script(request: dict[str, Any]) -> StreamedReply:
        nonlocal count
        count += 1
        if count % STEPS_PER_TURN:
            return StreamedReply(Call("read_file", json.dumps({"path": "a.txt"}), id=f"c{count}"))
        return text_reply("Done.")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = folder / "project"
        project.mkdir()
        (project / "a.txt").write_text("a line of text\n" * 30)
        data = DataDir(folder / "data")
        data.ensure()
        services = AppServices(data, os.environ, FixedApprover("once"))
        async with ChatServer(script) as server:
            record = services.registry.add(project, trusted=True)
            workspace = await services.open_workspace(record.id)
            await workspace.set_models(await services.models.adhoc("local/small", server.base_url, 128_000))
            conversation = await workspace.create_session()
            log = conversation.session.log
            points, types = [(0, _resident_kb(), 0)], Counter[str]()
            while count < REQUESTS:
                await conversation.run("Go on")
                server.requests.clear()  # what the server keeps is no memory of the app
                if len(points) == 1 and count >= WARM_UP:
                    gc.collect()
                    points.append((count, _resident_kb(), _deep_size(log)))
                    types = _types()
            gc.collect()
            points.append((count, _resident_kb(), _deep_size(log)))
            grown = (_types() - types).most_common(6)
        await services.close()
    (_, start_kb, _), (warm, warm_kb, warm_log), (end, end_kb, end_log) = points
    requests = end - warm
    of_log = (end_log - warm_log) / 1024 / requests
    each = (end_kb - warm_kb) / requests
    names = ", ".join(f"{number / requests:.1f} {name}" for name, number in grown)
    return [
        (f"memory of the first {warm} requests", (warm_kb - start_kb) / warm, "KB each, with what starts"),
        (f"memory of {requests} more", each, "KB each"),
        ("of that the log itself", of_log, "KB each"),
        ("beside the log", each - of_log, f"KB each (at most {MAX_KB}); new objects each: {names}"),
    ]


def _resident_kb() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def _types() -> Counter[str]:
    return Counter(type(value).__name__ for value in gc.get_objects())


def _deep_size(value: object) -> int:
    """Return the bytes of an object with all that it holds, each once."""
    seen: set[int] = set()
    waiting, size = [value], 0
    while waiting:
        present = waiting.pop()
        if id(present) in seen or isinstance(present, type):
            continue
        seen.add(id(present))
        size += sys.getsizeof(present)
        match present:
            case dict():
                waiting += [*present.keys(), *present.values()]
            case list() | tuple() | set() | frozenset():
                waiting += present
            case msgspec.Struct():
                waiting += [getattr(present, field) for field in present.__struct_fields__]
    return size

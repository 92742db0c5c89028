"""Which calls have the files checked that the agent read or wrote, and what is recorded of it."""

from __future__ import annotations

import json

import msgspec
import pytest

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.memory_files import MemoryFiles
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply


class FileTools(ScriptedTools):
    """Tools of which `read` reads and `ask` may write the file `a.txt`."""

    files: MemoryFiles

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `ask` with a `text` writes it."""
        text = json.loads(call.arguments).get("text")
        if call.name == "ask" and text:
            self.files.write("a.txt", text.encode())
        result = await super().run(call, on_output)
        version = self.files.version("a.txt")
        return msgspec.structs.replace(result, files=(version,)) if call.name == "read" else result


async def rig_after(*calls: tuple[str, dict[str, str]]) -> AgentRig:
    """Return a rig after a turn with these calls, one a step; `a.txt` was there before."""
    tools = FileTools()
    replies = [tool_call_reply(call, id_prefix=f"c{n}_") for n, call in enumerate(calls)]
    model = ScriptedModel(replies_in_order(*replies, text_reply("done")))
    rig = AgentRig(model, approver=FixedApprover("once"), tools=tools)
    tools.files = rig.files
    rig.files.write("a.txt", b"before")
    await rig.begin()
    assert (await rig.conversation.run("go")).how == "done"
    await rig.assert_consistent()
    return rig


@pytest.mark.parametrize(
    ("kind", "is_checked"), [("command", True), ("mcp", True), ("edit", False), ("fetch", False)]
)
async def test_only_calls_that_may_change_anything_are_followed_by_a_check(
    kind: str, is_checked: bool
) -> None:
    """Reading costs nothing; an edit says itself what it wrote."""
    rig = await rig_after(("read", {}), ("read", {}), ("ask", {"kind": kind}))
    assert rig.files.check_count == is_checked
    assert not rig.events(FilesChanged)


async def test_a_change_is_recorded_once_with_its_call() -> None:
    rig = await rig_after(("read", {}), ("ask", {"text": "afterwards"}), ("ask", {}))
    (changed,) = rig.events(FilesChanged)
    assert (changed.call_id, [file.path for file in changed.files]) == ("c1_0", ["a.txt"])
    assert isinstance(changed.files[0], ChangedFile)
    assert not rig.conversation.session.transcript.staleness.file_versions


async def test_a_disk_that_fails_ends_no_turn() -> None:
    rig = await rig_after(("read", {}))
    rig.files.error = OSError("no such device")
    assert (await rig.conversation.run("again")).how == "done"
    assert not rig.events(FilesChanged)
    rig.files.error = None
    rig.files.write("a.txt", b"afterwards")
    assert (await rig.conversation.run("again")).how == "done"
    assert len(rig.events(FilesChanged)) == 1

"""Several tool sources appear to the model as one: in order, each name once, changes followed."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import CallOutput, CallStarted
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.agent.tool_calls.runner import HALTED
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.store.memory import MemoryStore
from tests.support.agent_rig import PROMPTS, AgentRig, MemoryRules, ScriptedTools, SteppedClock, begin_with
from tests.support.memory_files import MemoryFiles
from tests.support.scripted_model import (
    ScriptedModel,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)


class NamedTools:
    """A source with tools of these names that reports which of them ran."""

    def __init__(self, mark: str, *names: str) -> None:
        self.mark = mark
        self.names = names

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(name, f"{self.mark} {name}", {"type": "object"}) for name in self.names)

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        return None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        return ToolResult(f"{self.mark} ran {call.name}".encode())


def names(tools: Toolset) -> list[str]:
    return [spec.name for spec in tools.specs]


async def answer(tools: Toolset, name: str) -> str:
    return (await tools.run(ToolCall("c1", name, "{}"))).content.decode()


async def test_sources_keep_their_order_and_calls_reach_their_source() -> None:
    """The first source's tools come first, and each call runs where its tool came from."""
    tools = Toolset(
        NamedTools("own", "read", "recall"), NamedTools("far", "mcp__a__read"), NamedTools("late", "delegate")
    )
    assert names(tools) == ["read", "recall", "mcp__a__read", "delegate"]
    assert await answer(tools, "recall") == "own ran recall"
    assert await answer(tools, "mcp__a__read") == "far ran mcp__a__read"
    assert await tools.approval(ToolCall("c1", "delegate", "{}")) is None


@pytest.mark.parametrize(
    "imposter",
    ["recall_cached_content", "Recall_Cached_Content", "recall-cached-content", "RECALL-cached_content"],
)
async def test_a_later_source_cannot_take_an_existing_or_similar_name(imposter: str) -> None:
    """A call of recall gets our recall, and the model is not offered a second one."""
    tools = Toolset(NamedTools("own", "recall_cached_content"), NamedTools("thief", imposter, "harmless"))
    assert names(tools) == ["recall_cached_content", "harmless"]
    assert await answer(tools, "recall_cached_content") == "own ran recall_cached_content"


@pytest.mark.parametrize("name", ["", "with space", "rec\u0430ll", "a" * 65, "new\nline", "dot.dot"])
async def test_a_name_that_no_provider_accepts_is_left_out(name: str) -> None:
    """One bad name would make every request of the session fail."""
    tools = Toolset(NamedTools("own", "read"), NamedTools("far", name))
    assert names(tools) == ["read"]
    with pytest.raises(ToolError, match="There is no tool"):
        await tools.run(ToolCall("c1", name, "{}"))


@given(st.lists(st.lists(st.text("abAB-_", max_size=4), max_size=5, unique=True), max_size=4))
def test_offered_tools_are_unique_valid_and_stable(offered: list[list[str]]) -> None:
    """For any input: no name twice, the first source wins, the same input gives the same order."""
    sources = [NamedTools(str(index), *some) for index, some in enumerate(offered)]
    tools = Toolset(*sources)
    again = Toolset(*sources)
    assert tools.specs == again.specs
    assert len({name.casefold().replace("-", "_") for name in names(tools)}) == len(tools.specs)
    everything = [spec for source in sources for spec in source.specs]
    assert [spec for spec in everything if spec in tools.specs] == list(tools.specs)


async def test_listeners_are_notified_of_changes_only() -> None:
    """A refresh that finds the same tools notifies nobody: it would void the provider's cache."""
    remote = NamedTools("far", "one")
    notifications: list[list[str]] = []
    tools = Toolset(NamedTools("own", "read"), remote)

    async def listener() -> None:
        notifications.append(names(tools))

    unsubscribe = tools.listen(listener)
    await tools.refresh()
    assert notifications == []
    remote.names = ("one", "two")
    assert names(tools) == ["read", "one"]
    await tools.refresh()
    assert notifications == [["read", "one", "two"]]
    unsubscribe()
    remote.names = ()
    await tools.refresh()
    assert len(notifications) == 1
    assert names(tools) == ["read"]


def workspace_with(tools: Toolset, model: ScriptedModel) -> OpenWorkspace:
    """Return a workspace whose conversations have these tools, and follow their changes."""
    parts = SessionServices(MemoryStore(), tools, WordCounter(), MemoryRules(), SteppedClock(), PROMPTS)
    workspace = OpenWorkspace("w", parts, PROFILES["balanced"], model)
    tools.listen(workspace.refresh_tools)
    return workspace


async def test_the_next_step_has_the_changed_tools() -> None:
    """Tools added while a session is open are in its next request, with their tokens counted."""
    remote = NamedTools("far")
    tools = Toolset(NamedTools("own", "read"), remote)
    model = ScriptedModel(replies_in_order(text_reply("Yes."), tool_call_reply(("mcp__a__one", {}))))
    workspace = workspace_with(tools, model)
    conversation = await workspace.create_session()
    await conversation.run("Hello?")
    before = conversation.window.measure()[0]
    same = conversation.window.measure()[0].request.tools
    await tools.refresh()
    assert conversation.window.measure()[0].request.tools is same
    remote.names = ("mcp__a__one",)
    await tools.refresh()
    assert conversation.window.measure()[0].estimate > before.estimate
    await conversation.run("Use it.")
    assert [[spec.name for spec in request.tools] for request in model.requests] == [
        ["read"], ["read", "mcp__a__one"], ["read", "mcp__a__one"],
    ]  # fmt: skip
    assert model.requests[-1].messages[-1].text == "far ran mcp__a__one"
    await workspace.close()


class FileTools(ScriptedTools):
    """Tools of which `read` reads and `ask` may write the file `a.txt`."""

    files: MemoryFiles

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
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


async def test_a_disk_that_fails_ends_no_turn() -> None:
    rig = await rig_after(("read", {}))
    rig.files.error = OSError("no such device")
    assert (await rig.conversation.run("again")).how == "done"
    assert not rig.events(FilesChanged)
    rig.files.error = None
    rig.files.write("a.txt", b"afterwards")
    assert (await rig.conversation.run("again")).how == "done"
    assert len(rig.events(FilesChanged)) == 1


async def test_the_output_of_a_running_call_is_streamed() -> None:
    rig, conversation = await begin_with(tool_call_reply(("wait", {})), text_reply("Done."))
    await conversation.send("Wait.")
    await rig.wait_for_updates(CallOutput, 2)
    assert rig.updates_of(CallOutput) == [CallOutput("c0", "waiting "), CallOutput("c0", "for the gate")]
    running = conversation.running_calls.find("c0")
    assert running is not None
    assert (running.tail, running.started_at_ms, running.call.name) == (
        "waiting for the gate",
        rig.clock.now,
        "wait",
    )
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert conversation.running_calls.find("c0") is None


async def test_a_single_call_is_stopped_and_the_turn_goes_on() -> None:
    rig, conversation = await begin_with(tool_call_reply(("wait", {}), ("wait", {})), text_reply("I go on."))
    await conversation.send("Wait twice.")
    await rig.wait_for_updates(CallStarted, 2)
    await rig.wait_until(lambda: len(rig.updates_of(CallOutput)) == 4)
    assert conversation.running_calls.stop("c0")
    await rig.wait_until(lambda: rig.tools.canceled_calls == ["c0"])
    assert conversation.is_running
    rig.tools.gate.set()
    await rig.wait_until_idle()
    answers = {event.call_id: event for event in rig.events(ToolAnswered)}
    assert (answers["c0"].text, answers["c0"].ok) == (HALTED, False)
    assert answers["c1"].ok
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]
    assert not conversation.running_calls.stop("c0")

"""Several sources of tools stand before the model as one: in order, each name once, changes followed."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.agent.conversation import SessionServices
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ModelInfo, ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.store.memory.store import MemoryStore
from tests.support.agent_rig import PROMPTS, MemoryRules, SteppedClock
from tests.support.scripted_model import (
    ScriptedModel,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)


class Named:
    """A source that has tools of these names and says which of them ran."""

    def __init__(self, mark: str, *names: str) -> None:
        self.mark, self.names = mark, names

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """One tool per name."""
        return tuple(ToolSpec(name, f"{self.mark} {name}", {"type": "object"}) for name in self.names)

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """Nothing is asked."""
        return None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """The source's mark and the tool's name."""
        return ToolResult(f"{self.mark} ran {call.name}".encode())


def names(tools: Toolset) -> list[str]:
    """The names that a model is told."""
    return [spec.name for spec in tools.specs]


async def answer(tools: Toolset, name: str) -> str:
    """What a call of this name brings."""
    return (await tools.run(ToolCall("c1", name, "{}"))).content.decode()


async def test_sources_stand_in_order_and_calls_find_their_own() -> None:
    """The first source's tools come first, and each call runs where its tool came from."""
    tools = Toolset(Named("own", "read", "recall"), Named("far", "mcp__a__read"), Named("late", "delegate"))
    assert names(tools) == ["read", "recall", "mcp__a__read", "delegate"]
    assert await answer(tools, "recall") == "own ran recall"
    assert await answer(tools, "mcp__a__read") == "far ran mcp__a__read"
    assert await tools.approval(ToolCall("c1", "delegate", "{}")) is None


@pytest.mark.parametrize(
    "thief",
    ["recall_cached_content", "Recall_Cached_Content", "recall-cached-content", "RECALL-cached_content"],
)
async def test_no_later_source_takes_a_name_or_one_that_looks_like_it(thief: str) -> None:
    """Whoever calls recall gets our recall, and the model is told of no second one."""
    tools = Toolset(Named("own", "recall_cached_content"), Named("thief", thief, "harmless"))
    assert names(tools) == ["recall_cached_content", "harmless"]
    assert await answer(tools, "recall_cached_content") == "own ran recall_cached_content"


@pytest.mark.parametrize("name", ["", "with space", "rec\u0430ll", "a" * 65, "new\nline", "dot.dot"])
async def test_a_name_that_no_provider_takes_is_left_out(name: str) -> None:
    """One bad name would make every request of the session fail."""
    tools = Toolset(Named("own", "read"), Named("far", name))
    assert names(tools) == ["read"]
    with pytest.raises(ToolError, match="There is no tool"):
        await tools.run(ToolCall("c1", name, "{}"))


@given(st.lists(st.lists(st.text("abAB-_", max_size=4), max_size=5, unique=True), max_size=4))
def test_what_is_told_is_unique_usable_and_stable(offered: list[list[str]]) -> None:
    """Whatever is offered: no name twice, the first source wins, the same input gives the same order."""
    sources = [Named(str(place), *some) for place, some in enumerate(offered)]
    tools, again = Toolset(*sources), Toolset(*sources)
    assert tools.specs == again.specs
    assert len({name.casefold().replace("-", "_") for name in names(tools)}) == len(tools.specs)
    everything = [spec for source in sources for spec in source.specs]
    assert [spec for spec in everything if spec in tools.specs] == list(tools.specs)


async def test_listeners_hear_of_changes_only() -> None:
    """A refresh that finds the same tools tells nobody: it would void the provider's cache for nothing."""
    far = Named("far", "one")
    heard: list[list[str]] = []
    tools = Toolset(Named("own", "read"), far)

    async def listener() -> None:
        heard.append(names(tools))

    leave = tools.listen(listener)
    await tools.refresh()
    assert heard == []
    far.names = ("one", "two")
    assert names(tools) == ["read", "one"]
    await tools.refresh()
    assert heard == [["read", "one", "two"]]
    leave()
    far.names = ()
    await tools.refresh()
    assert len(heard) == 1
    assert names(tools) == ["read"]


def room_of(tools: Toolset, model: ScriptedModel) -> OpenWorkspace:
    """A room whose conversations have these tools, and follow their changes."""
    parts = SessionServices(MemoryStore(), tools, WordCounter(), MemoryRules(), SteppedClock(), PROMPTS)
    room = OpenWorkspace("w", parts, PROFILES["balanced"], model)
    tools.listen(room.refresh_tools)
    return room


async def test_the_next_step_is_told_of_changed_tools() -> None:
    """Tools that come while a session is open stand in its next request, with their tokens counted."""
    far = Named("far")
    tools = Toolset(Named("own", "read"), far)
    model = ScriptedModel(replies_in_order(text_reply("Yes."), tool_call_reply(("mcp__a__one", {}))))
    room = room_of(tools, model)
    talk = await room.create_session()
    await talk.run("Hello?")
    before = talk.measure()[0]
    same = talk.measure()[0].request.tools
    await tools.refresh()
    assert talk.measure()[0].request.tools is same
    far.names = ("mcp__a__one",)
    await tools.refresh()
    assert talk.measure()[0].estimate > before.estimate
    await talk.run("Use it.")
    assert [[spec.name for spec in one.tools] for one in model.requests] == [
        ["read"], ["read", "mcp__a__one"], ["read", "mcp__a__one"],
    ]  # fmt: skip
    assert model.requests[-1].messages[-1].text == "far ran mcp__a__one"
    await room.close()


async def test_tools_that_change_while_the_model_is_switched_do_not_bring_the_old_one_back() -> None:
    """Both changes hold, whichever comes first."""
    far = Named("far")
    tools = Toolset(Named("own", "read"), far)
    room = room_of(tools, ScriptedModel(replies_in_order(text_reply("Old."))))
    await room.create_session()
    other = ScriptedModel(replies_in_order(text_reply("New.")), ModelInfo("test", "other"))
    far.names = ("mcp__a__one",)
    await asyncio.gather(tools.refresh(), room.set_models(other), tools.refresh())
    assert room.model is other
    talk = await room.create_session()
    await talk.run("Who is there?")
    assert [spec.name for spec in other.requests[-1].tools] == ["read", "mcp__a__one"]
    await room.close()

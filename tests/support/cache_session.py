"""A session whose log and contents lie in a store in memory, and which calls the tools of the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.index_entry import index_text
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.tools import ToolResult
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import create_cache_tools
from tests.support.tool_rig import DESCRIPTIONS_DIR, estimate_tokens, make_call

AT = 1_763_735_520_000  # 2025-11-21 14:32 UTC, in milliseconds since 1970
SESSION = "5" * 32


@dataclass
class SessionRig:
    """A session whose log and contents lie in a store in memory; it calls the tools."""

    store: MemoryStore
    transcript: Transcript
    id: str = SESSION

    @classmethod
    async def create(cls, title: str = "Tides") -> Self:
        transcript = Transcript()
        rig = cls(MemoryStore(lambda: AT + transcript.last_seq * 60_000), transcript)
        await rig.add(SessionStarted(title))
        return rig

    async def add(self, *events: Event, contents: tuple[Content, ...] = ()) -> int:
        """Record events a minute after the last one; return the seq of the last."""
        recorded = []
        for event in events:
            seq = self.transcript.last_seq + 1
            recorded.append(RecordedEvent(seq, AT + seq * 60_000, event))
            self.transcript.apply(recorded[-1])
        await self.store.commit(Commit(self.id, recorded, contents))
        return self.transcript.last_seq

    async def say(self, text: str) -> int:
        """Record a message of the user."""
        return await self.add(UserSpoke(text, 5))

    async def use_tool(
        self,
        target: str,
        output: bytes,
        tool: str = "read_file",
        words: str = "",
        arguments: str = "",
        ok: bool = True,
    ) -> int:
        """Record a call and its output; return the output's seq."""
        call = ToolCall(f"c{self.transcript.last_seq}", tool, arguments or f'{{"path": "{target}"}}')
        digest = digest_of(output)
        text = output.decode(errors="replace")
        answer = ToolAnswered(call.id, tool, text, digest, len(output), 9, 9, target, ok=ok)
        await self.add(AssistantSpoke(words, "m", 5, (call,)))
        return await self.add(answer, contents=(Content(digest, output, tool, target),))

    async def make_index(self, first: int, last: int, *previous: str) -> str:
        """Store an index of some events and earlier indexes; return its digest."""
        text, _ = index_text(self.transcript.messages.between(first - 1, last), previous)
        content = Content(digest_of(text.encode()), text.encode(), "fold", f"e{first}-e{last}", kind="index")
        await self.store.commit(Commit(self.id, contents=(content,)))
        return content.digest

    def tools(self, is_caller: bool = True) -> ToolRegistry:
        return create_cache_tools(self.store, DESCRIPTIONS_DIR, estimate_tokens, self if is_caller else None)

    async def recall(self, handle: str, is_caller: bool = True, **arguments: Any) -> str:
        result = await self.recall_result(handle, is_caller, **arguments)
        return result.model_text or result.content.decode()

    async def recall_result(self, handle: str, is_caller: bool = True, **arguments: Any) -> ToolResult:
        return await self.tools(is_caller).run(make_call("recall_cached_content", hash=handle, **arguments))

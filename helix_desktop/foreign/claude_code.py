"""Claude Code: one JSON record a line, a tree by `uuid` and `parentUuid`.

Known: the files of versions 1.0 to 2.1 in `projects/FOLDER/SESSION.jsonl`, with their subagents, which stand
in the same file (`isSidechain`) or, from 2.0 on, in `agent-ID.jsonl` beside it or in `SESSION/subagents/`.
An answer is written as one record for each block; they share the message's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import StopReason, ToolCall, Usage
from helix_desktop.foreign.items import (
    About,
    AnswerPart,
    AnyItem,
    CallUsage,
    Compacted,
    DataRecord,
    Output,
    Picture,
    Title,
    TurnOver,
    UserMessage,
    as_count,
    as_dict,
    as_text,
    blocks_of,
    encode,
    kind_name,
    picture,
    rest_of,
    time_ms,
    tool_call,
)

_STOPPED = "[Request interrupted by user"
_LOCAL = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
"""How texts begin that are outputs of commands which Claude Code ran itself, not the agent."""
_STOPS: dict[str, StopReason] = {"max_tokens": "length", "refusal": "refusal", "pause_turn": "paused"}
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_KNOWN = frozenset(
    (
        *("progress", "file-history-snapshot", "queue-operation", "attachment", "last-prompt", "system"),
        *("permission-mode", "agent-name", "agent-color", "agent-setting", "mode", "tag", "pr-link"),
        *(
            "worktree-state",
            "content-replacement",
            "started",
            "result",
            "speculation-accept",
            "bridge-session",
        ),
    )
)
_ENVELOPE = (
    *("type", "uuid", "parentUuid", "isSidechain", "timestamp", "sessionId", "cwd", "version", "message"),
    *("userType", "gitBranch", "slug", "agentId", "isCompactSummary", "isVisibleInTranscriptOnly"),
    *("sourceToolAssistantUUID", "logicalParentUuid", "isApiErrorMessage", "isMeta"),
)


class ClaudeCodeReader:
    """Reads the records of one file. `is_subagent`: the whole file is the conversation of a subagent."""

    agent: ForeignAgent = "claude-code"

    def __init__(self, *, is_subagent: bool = False) -> None:
        self._is_subagent = is_subagent
        self._is_described = False
        self._threads: dict[str, str] = {}  # of the records of subagents, by uuid
        self._boundary: Compacted | None = None  # whose summary has not come yet
        self._calls = 0

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        if not self._is_described and as_text(data.get("cwd")):
            self._is_described = True
            yield About(
                source=as_text(data.get("sessionId")),
                folder=as_text(data.get("cwd")),
                version=as_text(data.get("version")),
            )
        kind, message = as_text(data.get("type")), as_dict(data.get("message"))
        place = self._place(data)
        match kind:
            case "user" if message:
                yield from self._user(data, message, place)
            case "assistant" if message:
                yield from self._boundary_summary()
                yield from self._assistant(data, message, place)
            case "system" if data.get("subtype") == "compact_boundary":
                yield from self._boundary_summary()
                facts = as_dict(data.get("compactMetadata"))
                tokens, trigger = as_count(facts.get("preTokens")), as_text(facts.get("trigger"))
                self._boundary = Compacted(**place, tokens=tokens, trigger=trigger)
            case "attachment" if as_dict(data.get("attachment")).get("type") == "queued_command":
                prompt = as_dict(data.get("attachment")).get("prompt")
                text = "\n\n".join(as_text(block.get("text")) for block in blocks_of(prompt))
                yield UserMessage(**place, text=text, steered=True)
            case "summary" | "custom-title" | "ai-title" if title := as_text(data.get(_TITLES[kind])):
                yield Title(text=title)
            case _:
                detail = data.get("subtype") or as_dict(data.get("data")).get("type")
                detail = detail or as_dict(data.get("attachment")).get("type")
                yield DataRecord(**place, kind=kind_name(kind, detail), data=raw, is_known=kind in _KNOWN)

    def end(self) -> Iterator[AnyItem]:
        """Yield a compaction whose summary never came."""
        yield from self._boundary_summary()

    def _boundary_summary(self) -> Iterator[AnyItem]:
        if self._boundary is not None:
            yield self._boundary
            self._boundary = None

    def _place(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return time and place of a record in the tree, and the subagent's thread that it is in."""
        node, parent = as_text(data.get("uuid")), as_text(data.get("parentUuid"))
        parent = parent or as_text(data.get("logicalParentUuid"))
        thread = ""
        if data.get("isSidechain") is True and not self._is_subagent:
            thread = self._threads.get(parent) or as_text(data.get("agentId")) or node
            self._threads[node] = thread
        return {"at_ms": time_ms(data.get("timestamp")), "node": node, "parent": parent, "thread": thread}

    def _user(
        self, data: dict[str, Any], message: dict[str, Any], place: dict[str, Any]
    ) -> Iterator[AnyItem]:
        blocks = blocks_of(message.get("content"))
        texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
        text = "\n\n".join(filter(None, texts))
        if data.get("isCompactSummary") is True:
            before = self._boundary or Compacted(**place)
            self._boundary = None
            yield Compacted(**place, summary=text, tokens=before.tokens, trigger=before.trigger)
            return
        yield from self._boundary_summary()
        for block in blocks:
            if block.get("type") == "tool_result":
                yield from self._output(block, as_dict(data.get("toolUseResult")), place)
        rest = rest_of(data, *_ENVELOPE)
        pictures = []
        for block in blocks:
            if block.get("type") in ("text", "tool_result"):
                continue
            found = _picture(block)
            if found is not None:
                pictures.append(found)
            else:
                yield DataRecord(**place, kind=kind_name("user", block.get("type")), data=encode(block))
        if text and (data.get("isMeta") is True or text.startswith(_LOCAL)):
            yield DataRecord(**place, kind="user: added by Claude Code", data=encode({"text": text}))
        elif text.startswith(_STOPPED):
            yield TurnOver(**place, how="stopped")
            yield DataRecord(**place, kind="user: interrupted", data=encode({"text": text}))
        elif text or pictures:
            yield UserMessage(**place, text=text, pictures=tuple(pictures))
        for name, value in rest.items():
            yield DataRecord(
                **place, kind=kind_name("user", name), data=encode({"uuid": place["node"], name: value})
            )

    def _output(
        self, block: dict[str, Any], details: dict[str, Any], place: dict[str, Any]
    ) -> Iterator[AnyItem]:
        texts, pictures = [], []
        for part in blocks_of(block.get("content")):
            if part.get("type") == "text":
                texts.append(as_text(part.get("text")))
            elif (found := _picture(part)) is not None:
                pictures.append(found)
            else:
                yield DataRecord(**place, kind=kind_name("output", part.get("type")), data=encode(part))
        yield Output(
            **place,
            call_id=as_text(block.get("tool_use_id")),
            text="\n".join(texts),
            ok=block.get("is_error") is not True,
            pictures=tuple(pictures),
            subagent=as_text(details.get("agentId")),
        )

    def _assistant(
        self, data: dict[str, Any], message: dict[str, Any], place: dict[str, Any]
    ) -> Iterator[AnyItem]:
        blocks = blocks_of(message.get("content"))
        texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
        text = "\n\n".join(filter(None, texts))
        model = as_text(message.get("model"))
        if data.get("isApiErrorMessage") is True or model == "<synthetic>":
            yield TurnOver(**place, how="failed", why=text)
            yield DataRecord(**place, kind="assistant: error", data=encode({"text": text}))
            return
        group, reasoning, calls = as_text(message.get("id")), [], list[ToolCall]()
        for block in blocks:
            match block.get("type"):
                case "text":
                    pass
                case "thinking":
                    reasoning.append(as_text(block.get("thinking")))
                    if opaque := rest_of(block, "type", "thinking"):
                        rest = encode({"uuid": place["node"], **opaque})
                        yield DataRecord(**place, kind="thinking: signature", data=rest)
                case "tool_use":
                    self._calls += 1
                    fallback = f"call-{self._calls}"
                    calls.append(tool_call(block.get("id"), block.get("name"), block.get("input"), fallback))
                case other:
                    yield DataRecord(**place, kind=kind_name("assistant", other), data=encode(block))
        stop = _STOPS.get(as_text(message.get("stop_reason")), "calls" if calls else "end")
        yield AnswerPart(
            **place,
            group=group,
            model=model,
            text=text,
            reasoning="\n\n".join(filter(None, reasoning)),
            calls=tuple(calls),
            stop=stop,
        )
        usage = as_dict(message.get("usage"))
        if usage:
            yield CallUsage(**place, group=group, usage=anthropic_usage(usage))
        for name, value in rest_of(data, *_ENVELOPE, "requestId").items():
            yield DataRecord(
                **place, kind=kind_name("assistant", name), data=encode({"uuid": place["node"], name: value})
            )


def anthropic_usage(usage: dict[str, Any]) -> Usage:
    """Return tokens as Anthropic reports them: its input leaves out what its cache had or stored."""
    cached = as_count(usage.get("cache_read_input_tokens"))
    writes = as_count(usage.get("cache_creation_input_tokens"))
    hour = as_count(as_dict(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    return Usage(
        as_count(usage.get("input_tokens")) + cached + writes,
        as_count(usage.get("output_tokens")),
        cached,
        writes,
        min(hour, writes),
        reports_cache=True,
        reports_writes=True,
    )


def _picture(block: dict[str, Any]) -> Picture | None:
    if block.get("type") != "image":
        return None
    source = as_dict(block.get("source"))
    return picture(source.get("data") or source.get("url"))

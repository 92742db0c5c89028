"""Pi: one JSON record a line, below `sessions/` in its folder.

Known: versions 1 (a sequence) to 3 (a tree by `id` and `parentId`).
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
    as_cost,
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

_STOPS: dict[str, StopReason] = {"length": "length", "aborted": "stopped", "toolUse": "calls"}
_KNOWN = frozenset(
    (
        "model_change",
        "thinking_level_change",
        "label",
        "custom",
        "context_transform",
        "ephemeral",
        "session_info",
    )
)


class PiReader:
    agent: ForeignAgent = "pi"

    def __init__(self) -> None:
        self._answers = 0
        self._calls = 0

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        place: dict[str, Any] = {
            "at_ms": time_ms(data.get("timestamp")),
            "node": as_text(data.get("id")),
            "parent": as_text(data.get("parentId")),
        }
        match as_text(data.get("type")):
            case "session":
                version = data.get("version", 1)
                yield About(
                    source=as_text(data.get("id")),
                    folder=as_text(data.get("cwd")),
                    version=str(version) if isinstance(version, int | str) else "",
                    at_ms=time_ms(data.get("timestamp")),
                )
                yield DataRecord(kind="session", data=raw)
            case "message":
                yield from self._message(as_dict(data.get("message")), place, raw)
            case "compaction":
                summary, tokens = as_text(data.get("summary")), as_count(data.get("tokensBefore"))
                yield Compacted(**place, summary=summary, tokens=tokens)
                rest = rest_of(data, "type", "summary", "tokensBefore", "timestamp", "id", "parentId")
                if rest:
                    yield DataRecord(**place, kind="compaction", data=encode(rest))
            case "branch_summary":
                yield Compacted(**place, summary=as_text(data.get("summary")), trigger="branch")
            case "custom_message":
                yield UserMessage(
                    **place, text=_text(data.get("content")), pictures=_pictures(data.get("content"))
                )
            case "session_info" if name := as_text(data.get("name")):
                yield Title(text=name)
            case kind:
                yield DataRecord(
                    **place, kind=kind_name(kind, data.get("customType")), data=raw, is_known=kind in _KNOWN
                )

    def end(self) -> Iterator[AnyItem]:
        return iter(())

    def _message(self, message: dict[str, Any], place: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        content = message.get("content")
        match message.get("role"):
            case "user":
                yield UserMessage(**place, text=_text(content), pictures=_pictures(content))
            case "assistant":
                yield from self._answer(message, place)
            case "toolResult":
                yield Output(
                    **place,
                    call_id=as_text(message.get("toolCallId")),
                    text=_text(content, "\n"),
                    ok=message.get("isError") is not True,
                    pictures=_pictures(content),
                )
                if details := rest_of(as_dict(message.get("details"))):
                    yield DataRecord(**place, kind="toolResult: details", data=encode(details))
            case "bashExecution" if message.get("excludeFromContext") is not True:
                command, output = as_text(message.get("command")), as_text(message.get("output"))
                yield UserMessage(**place, text=f"$ {command}", pasted=((command, output),) if output else ())
                yield DataRecord(
                    **place,
                    kind="bashExecution",
                    data=encode(rest_of(message, "role", "command", "output", "timestamp")),
                )
            case "custom" | "hookMessage":
                yield UserMessage(**place, text=_text(content), pictures=_pictures(content))
            case "branchSummary" | "compactionSummary":
                yield Compacted(**place, summary=as_text(message.get("summary")))
            case role:
                yield DataRecord(
                    **place, kind=kind_name("message", role), data=raw, is_known=role == "bashExecution"
                )

    def _answer(self, message: dict[str, Any], place: dict[str, Any]) -> Iterator[AnyItem]:
        self._answers += 1
        group, texts, reasoning, calls = f"answer-{self._answers}", [], [], list[ToolCall]()
        for block in blocks_of(message.get("content")):
            match block.get("type"):
                case "text":
                    texts.append(as_text(block.get("text")))
                case "thinking":
                    reasoning.append(as_text(block.get("thinking")))
                    if opaque := rest_of(block, "type", "thinking"):
                        yield DataRecord(**place, kind="thinking: signature", data=encode(opaque))
                case "toolCall":
                    self._calls += 1
                    fallback = f"call-{self._calls}"
                    calls.append(
                        tool_call(block.get("id"), block.get("name"), block.get("arguments"), fallback)
                    )
                case other:
                    yield DataRecord(**place, kind=kind_name("assistant", other), data=encode(block))
        stop = as_text(message.get("stopReason"))
        provider, model = as_text(message.get("provider")), as_text(message.get("model"))
        yield AnswerPart(
            **place,
            group=group,
            model="/".join(filter(None, (provider, model))),
            text="\n\n".join(filter(None, texts)),
            reasoning="\n\n".join(filter(None, reasoning)),
            calls=tuple(calls),
            stop=_STOPS.get(stop, "end"),
        )
        usage = as_dict(message.get("usage"))
        if usage:
            cached, writes = as_count(usage.get("cacheRead")), as_count(usage.get("cacheWrite"))
            tokens = as_count(usage.get("input")) + cached + writes
            yield CallUsage(
                **place,
                group=group,
                usage=Usage(tokens, as_count(usage.get("output")), cached, writes, 0, True, True),
                cost=as_cost(as_dict(usage.get("cost")).get("total")),
            )
        error = as_text(message.get("errorMessage"))
        if stop == "aborted":
            yield TurnOver(**place, how="stopped")
        elif stop == "error":
            yield TurnOver(**place, how="failed", why=error)


def _text(content: object, separator: str = "\n\n") -> str:
    blocks = blocks_of(content)
    return separator.join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")


def _pictures(content: object) -> tuple[Picture, ...]:
    images = (block for block in blocks_of(content) if block.get("type") == "image")
    found = (picture(block.get("data")) for block in images)
    return tuple(one for one in found if one is not None)

"""JSON lines with one chat message each, as OpenAI's interface takes them, or one list `messages` a line.

Known: roles system, developer, user, assistant, tool and function; content as text or as parts; calls as
`{"id", "function": {"name", "arguments"}}`, as `{"id", "name", "arguments"}`, and the older `function_call`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.foreign.items import (
    AnswerPart,
    AnyItem,
    DataRecord,
    Output,
    Picture,
    UserMessage,
    as_dict,
    as_list,
    as_text,
    blocks_of,
    encode,
    kind_name,
    picture,
    rest_of,
    time_ms,
    tool_call,
)

_TAKEN = (
    "role",
    "content",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "name",
    "reasoning_content",
    "model",
)


class ChatMessagesReader:
    agent: ForeignAgent = "chat-messages"

    def __init__(self) -> None:
        self._answers = 0
        self._calls = 0
        self._function_call = ""  # the id given to the newest call of the older kind
        self._has_list = False

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        if "messages" not in data:
            yield from self._message(data, raw)
            return
        if self._has_list:
            yield DataRecord(kind="another conversation", data=raw)
            return
        self._has_list = True
        for message in as_list(data.get("messages")):
            yield from self._message(as_dict(message), encode(message))
        if rest := rest_of(data, "messages"):
            yield DataRecord(kind="fields of the conversation", data=encode(rest))

    def end(self) -> Iterator[AnyItem]:
        return iter(())

    def _message(self, message: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        at_ms = time_ms(message.get("timestamp") or message.get("created_at"))
        content = message.get("content")
        texts, pictures = [], list[Picture]()
        for block in blocks_of(content):
            image = block.get("image_url")
            url = as_dict(image).get("url") if isinstance(image, dict) else image
            if text := as_text(block.get("text")):
                texts.append(text)
            elif (found := picture(url)) is not None:
                pictures.append(found)
            elif block.get("type") != "text":
                yield DataRecord(
                    at_ms=at_ms, kind=kind_name(message.get("role"), block.get("type")), data=encode(block)
                )
        text = "\n\n".join(texts)
        match message.get("role"):
            case "user" if text or pictures:
                yield UserMessage(at_ms=at_ms, text=text, pictures=tuple(pictures))
            case "assistant":
                yield self._answer(message, text, at_ms)
            case "tool" | "function":
                call_id = as_text(message.get("tool_call_id")) or self._function_call
                yield Output(at_ms=at_ms, call_id=call_id, text=text, pictures=tuple(pictures))
            case role:
                is_known = role in ("system", "developer", "user")
                yield DataRecord(at_ms=at_ms, kind=kind_name(role), data=raw, is_known=is_known)
                return
        if rest := rest_of(message, *_TAKEN):
            yield DataRecord(at_ms=at_ms, kind=kind_name(message.get("role"), "fields"), data=encode(rest))

    def _answer(self, message: dict[str, Any], text: str, at_ms: int) -> AnswerPart:
        self._answers += 1
        calls: list[ToolCall] = []
        for call in map(as_dict, as_list(message.get("tool_calls"))):
            function = as_dict(call.get("function")) or call
            calls.append(self._call(call.get("id"), function))
        if function := as_dict(message.get("function_call")):
            calls.append(self._call("", function))
            self._function_call = calls[-1].id
        return AnswerPart(
            at_ms=at_ms,
            group=f"answer-{self._answers}",
            model=as_text(message.get("model")),
            text=text,
            reasoning=as_text(message.get("reasoning_content")),
            calls=tuple(calls),
            stop="calls" if calls else "end",
        )

    def _call(self, call_id: object, function: dict[str, Any]) -> ToolCall:
        self._calls += 1
        return tool_call(call_id, function.get("name"), function.get("arguments"), f"call-{self._calls}")

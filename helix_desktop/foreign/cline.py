"""Cline and Roo Code: `api_conversation_history.json` in the folder of a task, a list of messages.

Known: the blocks of Anthropic's interface that both write, with calls as blocks (Cline from 3.30, Roo Code
from 3.36) or, before, as XML in the answer's text, with the output in the next user message; the second
format of Roo Code, `{"version": 2, "messages": […]}`, with the parts of the AI SDK; and the sessions of
Cline's SDK, `sessions/ID/ID.messages.json`, with images in `blobs`. Messages that name no model have the one
that `task_metadata.json` names for their time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import ToolCall, Usage
from helix_desktop.foreign.claude_code import anthropic_usage
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
    UserMessage,
    as_cost,
    as_count,
    as_dict,
    as_list,
    as_text,
    blocks_of,
    decode_object,
    encode,
    kind_name,
    picture,
    rest_of,
    time_ms,
    tool_call,
)

_XML_TOOLS = (
    *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "insert_content"),
    *("search_files", "search_and_replace", "list_files", "list_code_definition_names", "browser_action"),
    *("use_mcp_tool", "access_mcp_resource", "ask_followup_question", "new_task", "switch_mode"),
    *("fetch_instructions", "codebase_search", "update_todo_list", "edit_file", "web_fetch", "new_rule"),
    *("plan_mode_respond", "load_mcp_documentation", "condense", "report_bug", "generate_image"),
)
_CALL = re.compile(rf"<({'|'.join(_XML_TOOLS)})>\s*(.*?)\s*</\1>", re.DOTALL)
_PARAMETER = re.compile(r"<([a-zA-Z_]{1,40})>\n?(.*?)\n?</\1>", re.DOTALL)
_RESULT = re.compile(r"\s*\[([a-z_]{2,40})\b[^\n]{0,2000}\] Result:\s*")
_WRAPPED = re.compile(r"\s*<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>\s*", re.DOTALL)
_DONE = re.compile(r"<attempt_completion>\s*<result>\s*(.*?)\s*</result>.*?</attempt_completion>", re.DOTALL)
_THOUGHTS = re.compile(r"<thinking>\s*(.*?)\s*</thinking>\s*", re.DOTALL)
_ADDED = re.compile(r"\s*<(environment_details|explicit_instructions|file_content|automatic_reminder)\b")
_FIELDS = ("role", "content", "ts", "type")
_BESIDE = ("ui-message", "context-history", "task-metadata", "history-item", "session-manifest", "history")
_FAILED = "[ERROR]"  # how Roo Code begins the output of a call that failed, in its second format


class ClineReader:
    """Reads the messages of one task. `agent` is `cline` or `roo-code`."""

    def __init__(self, agent: ForeignAgent = "cline") -> None:
        self.agent: ForeignAgent = agent
        self._answers = 0
        self._calls = 0
        self._open: ToolCall | None = None  # a call in XML that has no output yet
        self._requests = 0
        self._has_usage = False  # with the messages: then what the screen says of it is the same

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        at_ms = time_ms(data.get("ts"))
        role = data.get("role")
        if data.get("isSummary") is True or data.get("isTruncationMarker") is True:
            is_summary = data.get("isSummary") is True
            text = "\n\n".join(_texts(data.get("content")))
            yield Compacted(at_ms=at_ms, summary=text if is_summary else "")
            kind = "summary: marks" if is_summary else "truncation: marker"
            yield DataRecord(at_ms=at_ms, kind=kind, data=encode(rest_of(data, "content") if text else data))
            return
        if data.get("type") == "reasoning":
            blocks = filter(None, _texts(data.get("summary")) or [as_text(data.get("text"))])
            group = f"answer-{self._answers + 1}"
            yield AnswerPart(at_ms=at_ms, group=group, reasoning="\n\n".join(blocks))
            if opaque := rest_of(data, "type", "role", "content", "summary", "text", "ts"):
                yield DataRecord(at_ms=at_ms, kind="reasoning: encrypted", data=encode(opaque))
            return
        if data.get("type") == "task" and role is None:
            task = as_dict(data.get("entry"))
            yield About(
                source=as_text(task.get("id")),
                folder=as_text(task.get("folder")),
                version=as_text(task.get("version")),
            )
            if title := as_text(task.get("title")):
                yield Title(text=title)
            return
        if data.get("type") == "ui-message" and not self._has_usage:
            yield from self._request_usage(as_dict(data.get("entry")))
        match role:
            case "user":
                yield from self._user(data, at_ms)
            case "assistant":
                yield from self._assistant(data, at_ms)
            case "tool":
                yield from self._outputs(blocks_of(data.get("content")), at_ms)
            case _:
                is_known = data.get("type") in _BESIDE
                yield DataRecord(
                    at_ms=at_ms, kind=kind_name(role, data.get("type")), data=raw, is_known=is_known
                )
                return
        if rest := rest_of(data, *_FIELDS):
            yield DataRecord(at_ms=at_ms, kind=kind_name(role, "fields"), data=encode(rest))

    def end(self) -> Iterator[AnyItem]:
        return iter(())

    def _user(self, data: dict[str, Any], at_ms: int) -> Iterator[AnyItem]:
        blocks = blocks_of(data.get("content"))
        yield from self._outputs(
            [block for block in blocks if block.get("type") in ("tool_result", "tool-result")], at_ms
        )
        texts, output, pictures, pasted = [], list[str](), list[Picture](), list[tuple[str, str]]()
        is_output = False
        for block in blocks:
            kind, text = block.get("type"), as_text(block.get("text"))
            if kind in ("tool_result", "tool-result"):
                continue
            if kind == "image" and (found := _picture(block)) is not None:
                pictures.append(found)
            elif kind == "file" and (content := as_text(block.get("content"))):
                pasted.append((as_text(block.get("path")), content))
            elif kind != "text":
                yield DataRecord(at_ms=at_ms, kind=kind_name("user", kind), data=encode(block))
            elif _ADDED.match(text):
                yield DataRecord(at_ms=at_ms, kind="user: added by the agent", data=encode(block))
            elif self._open is not None and (result := _RESULT.match(text)):
                is_output = True
                if rest := text[result.end() :]:
                    output.append(rest)
            elif wrapped := _WRAPPED.fullmatch(text):
                texts.append(wrapped[2])
            elif is_output:
                output.append(text)
            elif text:
                texts.append(text)
        if self._open is not None and is_output:
            yield Output(at_ms=at_ms, call_id=self._open.id, text="\n".join(output), pictures=tuple(pictures))
            pictures = []
        self._open = None
        if texts or pictures or pasted:
            text = "\n\n".join(texts)
            yield UserMessage(at_ms=at_ms, text=text, pictures=tuple(pictures), pasted=tuple(pasted))

    def _outputs(self, blocks: list[dict[str, Any]], at_ms: int) -> Iterator[AnyItem]:
        for block in blocks:
            if block.get("type") not in ("tool_result", "tool-result"):
                yield DataRecord(at_ms=at_ms, kind=kind_name("tool", block.get("type")), data=encode(block))
                continue
            output = block.get("content", block.get("output"))
            if isinstance(output, dict):
                output = output.get("value", output)
            text, parts = "\n".join(_texts(output)), blocks_of(output)
            found = [_picture(part) for part in parts]
            if output and not text and not any(found):
                text, parts = encode(output).decode(), []  # a value of JSON
            for part, image in zip(parts, found, strict=False):
                if image is None and not _texts([part]) and part.get("type") != "text":
                    kind = kind_name("output", part.get("type"))
                    yield DataRecord(at_ms=at_ms, kind=kind, data=encode(part))
            is_failed = block.get("type") == "tool-result" and text.lstrip().startswith(_FAILED)
            yield Output(
                at_ms=at_ms,
                call_id=as_text(block.get("tool_use_id")) or as_text(block.get("toolCallId")),
                text=text,
                ok=block.get("is_error") is not True and not is_failed,
                pictures=tuple(one for one in found if one is not None),
            )

    def _assistant(self, data: dict[str, Any], at_ms: int) -> Iterator[AnyItem]:
        self._answers += 1
        group, texts, reasoning, calls = f"answer-{self._answers}", list[str](), list[str](), list[ToolCall]()
        for block in blocks_of(data.get("content")):
            match block.get("type"):
                case "text":
                    texts.append(as_text(block.get("text")))
                case "thinking" | "reasoning":
                    reasoning.append(as_text(block.get("thinking")) or as_text(block.get("text")))
                    if opaque := rest_of(block, "type", "thinking", "text"):
                        yield DataRecord(at_ms=at_ms, kind="thinking: signature", data=encode(opaque))
                case "tool_use" | "tool-call":
                    self._calls += 1
                    call_id, name = (
                        block.get("id", block.get("toolCallId")),
                        block.get("name", block.get("toolName")),
                    )
                    calls.append(tool_call(call_id, name, block.get("input"), f"call-{self._calls}"))
                case kind:
                    yield DataRecord(at_ms=at_ms, kind=kind_name("assistant", kind), data=encode(block))
        text = "\n\n".join(filter(None, texts))
        if not calls and "</" in text:
            written = text
            text, thoughts, call = self._parse_xml(text)
            reasoning += thoughts
            self._open = call
            calls += [call] if call is not None else []
            if text != written:
                yield DataRecord(
                    at_ms=at_ms, kind="assistant: calls as written", data=encode({"text": written})
                )
        info = as_dict(data.get("modelInfo"))
        names = (info.get("providerId", info.get("provider")), info.get("modelId", info.get("id")))
        model = "/".join(filter(None, map(as_text, names)))
        yield AnswerPart(
            at_ms=at_ms,
            group=group,
            model=model,
            text=text,
            reasoning="\n\n".join(filter(None, reasoning)),
            calls=tuple(calls),
            stop="calls" if calls else "end",
        )
        if usage := as_dict(data.get("usage")):
            self._has_usage = True
            yield CallUsage(at_ms=at_ms, group=group, usage=anthropic_usage(usage))
        elif metrics := as_dict(data.get("metrics")):
            self._has_usage = True
            tokens = as_dict(metrics.get("tokens")) or metrics
            cached = as_count(tokens.get("cacheReadTokens", tokens.get("cached")))
            writes = as_count(tokens.get("cacheWriteTokens"))
            total = as_count(tokens.get("inputTokens", tokens.get("prompt"))) + cached + writes
            output = as_count(tokens.get("outputTokens", tokens.get("completion")))
            call_usage = Usage(total, output, cached, writes, 0, True, True)
            yield CallUsage(at_ms=at_ms, group=group, usage=call_usage, cost=as_cost(metrics.get("cost")))

    def _request_usage(self, message: dict[str, Any]) -> Iterator[AnyItem]:
        """Yield what a model call took, as the screen of a task says it."""
        if message.get("say") not in ("api_req_started", "deleted_api_reqs"):
            return
        request = decode_object(as_text(message.get("text")).encode("utf-8", "replace")) or {}
        cached, writes = as_count(request.get("cacheReads")), as_count(request.get("cacheWrites"))
        tokens, answer = as_count(request.get("tokensIn")), as_count(request.get("tokensOut"))
        if request.get("apiProtocol") != "openai":  # OpenAI's count has what its cache had
            tokens += cached + writes
        if tokens or answer:
            self._requests += 1
            usage = Usage(tokens, answer, cached, writes, 0, True, True)
            yield CallUsage(group=f"request-{self._requests}", usage=usage, cost=as_cost(request.get("cost")))

    def _parse_xml(self, text: str) -> tuple[str, list[str], ToolCall | None]:
        """Return an answer's words, its thoughts, and the call in it: one in each answer."""
        thoughts = _THOUGHTS.findall(text)
        text = _THOUGHTS.sub("", text)
        if found := _CALL.search(text):
            parameters = dict(_PARAMETER.findall(found[2])) or {"input": found[2]}
            self._calls += 1
            call = tool_call(f"xml-{self._calls}", found[1], parameters, "")
            return (text[: found.start()] + text[found.end() :]).strip(), thoughts, call
        return _DONE.sub(lambda done: done[1], text).strip(), thoughts, None


def _texts(content: object) -> list[str]:
    """Return the texts of the blocks; those of the AI SDK can have them as `value`."""
    blocks = blocks_of(content)
    found = (as_text(block.get("text")) or as_text(block.get("value")) for block in blocks)
    return [text for text in found if text]


def _picture(block: dict[str, Any]) -> Picture | None:
    if block.get("type") not in ("image", "media"):
        return None
    return picture(as_dict(block.get("source")).get("data") or block.get("image") or block.get("data"))


def history_messages(value: object) -> list[Any]:
    return as_list(as_dict(value).get("messages")) if isinstance(value, dict) else as_list(value)

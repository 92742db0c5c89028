"""Readers of agents whose records are messages: Cline and Roo Code, opencode, and lists of chat messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import ToolCall, Usage
from helix_desktop.foreign.items import (
    AnswerPart,
    AnyItem,
    BlockReader,
    CallUsage,
    Compacted,
    DataRecord,
    Output,
    Picture,
    Reader,
    Title,
    TurnOver,
    UserMessage,
    about,
    as_cost,
    as_count,
    as_dict,
    as_list,
    as_text,
    blocks_of,
    decode_object,
    encode,
    kind_name,
    model_label,
    paragraphs,
    picture,
    placed,
    rest_of,
    rest_record,
    time_ms,
    tool_call,
)
from helix_desktop.foreign.record_readers import anthropic_usage

_XML_TOOLS = (
    *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "insert_content"),
    *("search_files", "search_and_replace", "list_files", "list_code_definition_names", "browser_action"),
    *("use_mcp_tool", "access_mcp_resource", "ask_followup_question", "new_task", "switch_mode"),
    *("fetch_instructions", "codebase_search", "update_todo_list", "edit_file", "web_fetch", "new_rule"),
    *("plan_mode_respond", "load_mcp_documentation", "condense", "report_bug", "generate_image"),
)
_CALL = re.compile(rf"<({'|'.join(_XML_TOOLS)})>\s*(.*?)\s*</\1>", re.DOTALL)
_PARAMETER = re.compile(r"<([a-zA-Z_]{1,40})>\n?(.*?)\n?</\1>", re.DOTALL)
_RESULT = re.compile(r"\s*\[([\w.-]{2,64})\b[^\n]{0,2000}\] Result:(?:[ \t]*\n|\s*$|[ \t]+)")
_NEXT_RESULT = re.compile(r"^\[([\w.-]{2,64}) for '([^'\n]{1,400})'\] Result:", re.MULTILINE)
_WRAPPED = re.compile(r"\s*<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>\s*", re.DOTALL)
_DONE = re.compile(r"<attempt_completion>\s*<result>\s*(.*?)\s*</result>.*?</attempt_completion>", re.DOTALL)
_THOUGHTS = re.compile(r"<thinking>\s*(.*?)\s*</thinking>\s*", re.DOTALL)
_ADDED = re.compile(r"\s*<(environment_details|explicit_instructions|file_content|automatic_reminder)\b")
_FIELDS = ("role", "content", "ts", "type")
_BESIDE = ("ui-message", "context-history", "task-metadata", "history-item", "session-manifest", "history")
_FAILED = "[ERROR]"  # how Roo Code begins the output of a call that failed, in its second format


class ClineReader(BlockReader):
    """Cline and Roo Code: `api_conversation_history.json` in the folder of a task, a list of messages.

    Known: the blocks of Anthropic's interface that both write, with calls as blocks (Cline from 3.30, Roo
    Code from 3.36) or, before, as XML in the answer's text, with the output in the next user message; the
    second format of Roo Code, `{"version": 2, "messages": […]}`, with the parts of the AI SDK; and the
    sessions of Cline's SDK, `sessions/ID/ID.messages.json`, with images in `blobs`. Messages that name no
    model have the one that `task_metadata.json` names for their time.

    It reads the messages of one task. `agent` is `cline` or `roo-code`.
    """

    def __init__(self, agent: ForeignAgent = "cline") -> None:
        self.agent: ForeignAgent = agent
        self._answers = 0
        self._open: list[ToolCall] = []  # calls of the newest answer that have no output yet
        self._requests = 0
        self._has_usage = False  # with the messages: then what the screen says of it is the same

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"at_ms": time_ms(data.get("ts"))}

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        role = data.get("role")
        if data.get("isSummary") is True or data.get("isTruncationMarker") is True:
            is_summary = data.get("isSummary") is True
            text = "\n\n".join(_texts(data.get("content")))
            yield Compacted(summary=text if is_summary else "")
            kind = "summary: marks" if is_summary else "truncation: marker"
            yield DataRecord(kind=kind, data=encode(rest_of(data, "content") if text else data))
            return
        if data.get("type") == "reasoning":
            reasoning = paragraphs(_texts(data.get("summary")) or [as_text(data.get("text"))])
            yield AnswerPart(group=f"answer-{self._answers + 1}", reasoning=reasoning)
            opaque = rest_of(data, "type", "role", "content", "summary", "text", "ts")
            yield from rest_record("reasoning: encrypted", opaque)
            return
        if data.get("type") == "task" and role is None:
            task = as_dict(data.get("entry"))
            yield about(task, "id", "folder", "version")
            if title := as_text(task.get("title")):
                yield Title(text=title)
            return
        if data.get("type") == "ui-message" and not self._has_usage:
            yield from self._request_usage(as_dict(data.get("entry")))
        match role:
            case "user":
                yield from self._user(data)
            case "assistant":
                yield from self._assistant(data)
            case "tool":
                yield from self._outputs(blocks_of(data.get("content")))
            case _:
                is_known = data.get("type") in _BESIDE
                yield DataRecord(kind=kind_name(role, data.get("type")), data=raw, is_known=is_known)
                return
        yield from rest_record(kind_name(role, "fields"), rest_of(data, *_FIELDS))

    def _user(self, data: dict[str, Any]) -> Iterator[AnyItem]:
        blocks = blocks_of(data.get("content"))
        yield from self._outputs(
            [block for block in blocks if block.get("type") in ("tool_result", "tool-result")]
        )
        texts = []
        pictures = list[Picture]()
        pasted = list[tuple[str, str]]()
        outputs: list[tuple[ToolCall, list[str], list[Picture]]] = []  # as texts, each with its pictures
        for block in blocks:
            kind = block.get("type")
            text = as_text(block.get("text"))
            if kind in ("tool_result", "tool-result"):
                continue
            if kind == "image" and (found := _picture(block)) is not None:
                pictures_here = outputs[-1][2] if outputs else pictures
                pictures_here.append(found)
            elif kind == "file" and (content := as_text(block.get("content"))):
                pasted.append((as_text(block.get("path")), content))
            elif kind != "text":
                yield DataRecord(kind=kind_name("user", kind), data=encode(block))
            elif _ADDED.match(text):
                yield DataRecord(kind="user: added by the agent", data=encode(block))
            elif (result := _RESULT.match(text)) and (call := self._answered_by(result[1])) is not None:
                first, *following = self._sections(text)
                rest = first[result.end() :]
                outputs.append((call, [rest] if rest else [], []))
                for section in following:
                    header = _RESULT.match(section)
                    next_call = self._answered_by(header[1]) if header is not None else None
                    if header is not None and next_call is not None:
                        outputs.append((next_call, [section[header.end() :]], []))
            elif wrapped := _WRAPPED.fullmatch(text):
                texts.append(wrapped[2])
            elif outputs:
                outputs[-1][1].append(text)
            elif text:
                texts.append(text)
        for call, parts, images in outputs:
            yield Output(call_id=call.id, text="\n".join(parts), pictures=tuple(images))
        self._open = []
        if texts or pictures or pasted:
            text = "\n\n".join(texts)
            yield UserMessage(text=text, pictures=tuple(pictures), pasted=tuple(pasted))

    def _answered_by(self, name: str) -> ToolCall | None:
        """Return the open call that an output under a tool's name is of, which is then closed."""
        of_name = [call for call in self._open if call.name == name]
        found = next(iter([*of_name, *self._open]), None)
        self._open = [call for call in self._open if call is not found]
        return found

    def _sections(self, text: str) -> list[str]:
        """Return a text in parts, each of which begins with a line that names the call it is the output of.

        Outputs hold such lines too, so one counts only if it names the target of an open call.
        """
        starts = [0]
        for found in _NEXT_RESULT.finditer(text):
            is_open = any(call.name == found[1] and found[2] in call.arguments for call in self._open)
            if found.start() and is_open:
                starts.append(found.start())
        ends = [*starts[1:], len(text) + 1]
        return [text[start : end - 1] for start, end in zip(starts, ends, strict=True)]

    def _outputs(self, blocks: list[dict[str, Any]]) -> Iterator[AnyItem]:
        for block in blocks:
            if block.get("type") not in ("tool_result", "tool-result"):
                yield DataRecord(kind=kind_name("tool", block.get("type")), data=encode(block))
                continue
            output = block.get("content", block.get("output"))
            if isinstance(output, dict):
                output = output.get("value", output)
            text = "\n".join(_texts(output))
            parts = blocks_of(output)
            found = [_picture(part) for part in parts]
            if output and not text and not any(found):
                text = encode(output).decode()  # a value of JSON
                parts = []
            for part, image in zip(parts, found, strict=False):
                if image is None and not _texts([part]) and part.get("type") != "text":
                    kind = kind_name("output", part.get("type"))
                    yield DataRecord(kind=kind, data=encode(part))
            call_id = as_text(block.get("tool_use_id")) or as_text(block.get("toolCallId"))
            self._open = [call for call in self._open if call.id != call_id]
            is_failed = block.get("type") == "tool-result" and text.lstrip().startswith(_FAILED)
            yield Output(
                call_id=call_id,
                text=text,
                ok=block.get("is_error") is not True and not is_failed,
                pictures=tuple(one for one in found if one is not None),
            )

    def _assistant(self, data: dict[str, Any]) -> Iterator[AnyItem]:
        self._answers += 1
        info = as_dict(data.get("modelInfo"))
        group = f"answer-{self._answers}"
        model = model_label(info.get("providerId", info.get("provider")), info.get("modelId", info.get("id")))
        records, part = self.answer(blocks_of(data.get("content")), group, model)
        yield from records
        if not part.calls and "</" in part.text:
            text, thoughts, call = self._parse_xml(part.text)
            if text != part.text:
                yield DataRecord(kind="assistant: calls as written", data=encode({"text": part.text}))
            part = replace(part, text=text, reasoning=paragraphs([part.reasoning, *thoughts]))
            if call is not None:
                part = replace(part, calls=(call,), stop="calls")
        yield part
        self._open = list(part.calls)
        if usage := as_dict(data.get("usage")):
            self._has_usage = True
            yield CallUsage(group=group, usage=anthropic_usage(usage))
        elif metrics := as_dict(data.get("metrics")):
            self._has_usage = True
            tokens = as_dict(metrics.get("tokens")) or metrics
            cached = as_count(tokens.get("cacheReadTokens", tokens.get("cached")))
            writes = as_count(tokens.get("cacheWriteTokens"))
            total = as_count(tokens.get("inputTokens", tokens.get("prompt"))) + cached + writes
            output = as_count(tokens.get("outputTokens", tokens.get("completion")))
            call_usage = Usage(total, output, cached, writes, 0, True, True)
            yield CallUsage(group=group, usage=call_usage, cost=as_cost(metrics.get("cost")))

    def _request_usage(self, message: dict[str, Any]) -> Iterator[AnyItem]:
        """Yield what a model call took, as the screen of a task says it."""
        if message.get("say") not in ("api_req_started", "deleted_api_reqs"):
            return
        request = decode_object(as_text(message.get("text")).encode("utf-8", "replace")) or {}
        cached = as_count(request.get("cacheReads"))
        writes = as_count(request.get("cacheWrites"))
        tokens = as_count(request.get("tokensIn"))
        answer = as_count(request.get("tokensOut"))
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


_KNOWN = frozenset(
    (
        *("step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "subtask"),
        *("file", "text"),
    )
)
_NOTES = frozenset(("agent-switched", "model-switched", "synthetic", "system", "shell"))
"""Kinds of messages in the second format that are kept as data."""


class OpencodeReader(Reader):
    """opencode: a session is a record of its own, and one for each message, which holds the message's parts.

    Known: the files of versions up to 1.1 in `storage/session`, `storage/message` and `storage/part`, the
    databases `opencode*.db` of versions from 1.2 on, with messages in their first format or, if that has
    none, in their second, and what `opencode export` prints. `foreign/sources.py` makes the same records of
    all of them: `{"info": …, "parts": […]}`, and the session without parts first.
    """

    agent: ForeignAgent = "opencode"

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"at_ms": time_ms(as_dict(as_dict(data.get("info")).get("time")).get("created"))}

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        info = as_dict(data.get("info"))
        parts = [as_dict(part) for part in as_list(data.get("parts"))]
        match info.get("role"):
            case "user":
                yield from self._user(info, parts)
            case "assistant":
                yield from self._assistant(info, parts)
            case None if "parts" not in data and as_text(info.get("id")):
                yield about(info, "id", "directory", "version")
                if title := as_text(info.get("title")):
                    yield Title(text=title)
                yield DataRecord(kind="session", data=raw)
            case role:
                is_known = as_text(role) in _NOTES
                yield DataRecord(kind=kind_name("message", role), data=raw, is_known=is_known)

    def _user(self, info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[AnyItem]:
        texts = []
        pictures = list[Picture]()
        for part in parts:
            is_added = part.get("synthetic") is True or part.get("ignored") is True
            if part.get("type") == "text" and not is_added:
                texts.append(as_text(part.get("text")))
            elif part.get("type") == "file" and (found := _file_picture(part)) is not None:
                pictures.append(found)
            else:
                name = "text: added by opencode" if is_added else kind_name("user", part.get("type"))
                yield DataRecord(kind=name, data=encode(part), is_known=as_text(part.get("type")) in _KNOWN)
        text = paragraphs(texts)
        if text or pictures:
            yield UserMessage(text=text, pictures=tuple(pictures))
        yield from rest_record("user: info", rest_of(info, "id", "sessionID", "role", "time"))

    def _assistant(self, info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[AnyItem]:
        if info.get("summary") is True:
            texts = (as_text(part.get("text")) for part in parts if part.get("type") == "text")
            yield Compacted(summary=paragraphs(texts))
            yield DataRecord(kind="assistant: summary", data=encode(rest_of(info, "id", "sessionID", "role")))
            return
        step = 0
        model = model_label(info.get("providerID"), info.get("modelID"))
        has_usage = False
        outputs = list[AnyItem]()  # they follow when all calls of their step are there
        for part in parts:
            group = f"{as_text(info.get('id'))}-{step}"
            match as_text(part.get("type")):
                case "text" | "reasoning" as kind:
                    text = as_text(part.get("text"))
                    answer = AnswerPart(group=group, model=model)
                    yield replace(answer, text=text) if kind == "text" else replace(answer, reasoning=text)
                    metadata = rest_of(as_dict(part.get("metadata")))
                    yield from rest_record(kind_name(kind, "metadata"), metadata)
                case "tool":
                    call, *rest = self._tool(part, group, model)
                    yield call
                    outputs += rest
                case "step-start":
                    yield from outputs
                    outputs = []
                    step = step + 1
                case "step-finish":
                    has_usage = True
                    yield _usage(part, group)
                case kind:
                    name = kind_name("assistant", kind)
                    yield DataRecord(kind=name, data=encode(part), is_known=kind in _KNOWN)
        if not has_usage and info.get("tokens"):
            yield _usage(info, f"{as_text(info.get('id'))}-{step}")
        yield from outputs
        error = as_dict(info.get("error"))
        if error:
            why = as_text(as_dict(error.get("data")).get("message")) or as_text(error.get("name"))
            is_stop = error.get("name") == "MessageAbortedError"
            yield TurnOver(how="stopped" if is_stop else "failed", why=why)

    def _tool(self, part: dict[str, Any], group: str, model: str) -> Iterator[AnyItem]:
        state = as_dict(part.get("state"))
        began, ended = (time_ms(as_dict(state.get("time")).get(name)) for name in ("start", "end"))
        fallback = as_text(part.get("id")) or f"{group}-call"
        call: ToolCall = tool_call(part.get("callID"), part.get("tool"), state.get("input"), fallback)
        yield AnswerPart(at_ms=began, group=group, model=model, calls=(call,), stop="calls")
        status = state.get("status")
        if status in ("completed", "error"):
            found = (_file_picture(as_dict(file)) for file in as_list(state.get("attachments")))
            yield Output(
                at_ms=ended,
                call_id=call.id,
                text=as_text(state.get("output" if status == "completed" else "error")),
                ok=status == "completed",
                pictures=tuple(one for one in found if one is not None),
                subagent=as_text(as_dict(state.get("metadata")).get("sessionId")),
            )
        rest = rest_of(state, "status", "input", "output", "error", "time", "title")
        if rest:
            yield DataRecord(kind="tool: metadata", data=encode({"callID": call.id, **rest}))


def of_second_format(
    message_id: str, kind: str, data: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a message of the second format as one of the first: its facts and its parts."""
    info: dict[str, Any] = {"id": message_id, "role": kind, "time": data.get("time")}
    match kind:
        case "user":
            files = [{**as_dict(file), "type": "file"} for file in as_list(data.get("files"))]
            return info, [{"type": "text", "text": data.get("text")}, *files]
        case "assistant":
            model = as_dict(data.get("model"))
            error = as_dict(data.get("error"))
            info |= {"providerID": model.get("providerID"), "modelID": model.get("id")}
            info |= {name: data[name] for name in ("cost", "tokens", "agent", "finish") if name in data}
            if error:
                info["error"] = {"name": error.get("type"), "data": error}
            return info, [_first_part(as_dict(part)) for part in as_list(data.get("content"))]
        case "compaction":
            created = as_dict(data.get("time")).get("created")
            info |= {"role": "assistant", "summary": True, "time": {"created": created, "completed": created}}
            return info, [{"type": "text", "text": data.get("summary")}]
    return {**info, **data}, []


def _first_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "tool":
        return part
    state = as_dict(part.get("state"))
    time = as_dict(part.get("time"))
    content = [as_dict(block) for block in as_list(state.get("content"))]
    texts = [as_text(block.get("text")) for block in content if block.get("type") == "text"]
    files = [*(block for block in content if block.get("type") != "text"), *as_list(state.get("attachments"))]
    first = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(texts),
        "error": as_dict(state.get("error")).get("message"),
        "attachments": files,
        "metadata": state.get("structured"),
        "time": {"start": time.get("ran") or time.get("created"), "end": time.get("completed")},
    }
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": first}


def _file_picture(part: dict[str, Any]) -> Picture | None:
    url = as_text(part.get("url") or part.get("uri"))
    return picture(url, as_text(part.get("filename"))) if url.startswith("data:image/") else None


def _usage(holder: dict[str, Any], group: str) -> CallUsage:
    tokens = as_dict(holder.get("tokens"))
    cache = as_dict(tokens.get("cache"))
    cached = as_count(cache.get("read"))
    writes = as_count(cache.get("write"))
    return CallUsage(
        group=group,
        usage=Usage(
            as_count(tokens.get("input")) + cached + writes,
            as_count(tokens.get("output")) + as_count(tokens.get("reasoning")),
            cached,
            writes,
            0,
            reports_cache=True,
            reports_writes=True,
        ),
        cost=as_cost(holder.get("cost")),
    )


_TAKEN = (
    *("role", "content", "tool_calls", "function_call", "tool_call_id", "name", "reasoning_content"),
    "model",
)


class ChatMessagesReader(Reader):
    """JSON lines with one chat message each, as OpenAI's interface takes them, or one list `messages` a line.

    Known: roles system, developer, user, assistant, tool and function; content as text or as parts; calls as
    `{"id", "function": {"name", "arguments"}}`, as `{"id", "name", "arguments"}`, and the older
    `function_call`.
    """

    agent: ForeignAgent = "chat-messages"

    def __init__(self) -> None:
        self._answers = 0
        self._calls = 0
        self._function_call = ""  # the id given to the newest call of the older kind
        self._has_list = False

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"at_ms": time_ms(data.get("timestamp") or data.get("created_at"))}

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        if "messages" not in data:
            yield from placed(self._message(data, raw), self.place(data))
            return
        if self._has_list:
            return  # it is a session of its own
        self._has_list = True
        for message in as_list(data.get("messages")):
            yield from placed(self._message(as_dict(message), encode(message)), self.place(as_dict(message)))
        yield from rest_record("fields of the conversation", rest_of(data, "messages"))

    def _message(self, message: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        content = message.get("content")
        texts = []
        pictures = list[Picture]()
        for block in blocks_of(content):
            image = block.get("image_url")
            url = as_dict(image).get("url") if isinstance(image, dict) else image
            if text := as_text(block.get("text")):
                texts.append(text)
            elif (found := picture(url)) is not None:
                pictures.append(found)
            elif block.get("type") != "text":
                yield DataRecord(kind=kind_name(message.get("role"), block.get("type")), data=encode(block))
        text = "\n\n".join(texts)
        match message.get("role"):
            case "user" if text or pictures:
                yield UserMessage(text=text, pictures=tuple(pictures))
            case "assistant":
                yield self._answer(message, text)
            case "tool" | "function":
                call_id = as_text(message.get("tool_call_id")) or self._function_call
                yield Output(call_id=call_id, text=text, pictures=tuple(pictures))
            case role:
                is_known = role in ("system", "developer", "user")
                yield DataRecord(kind=kind_name(role), data=raw, is_known=is_known)
                return
        yield from rest_record(kind_name(message.get("role"), "fields"), rest_of(message, *_TAKEN))

    def _answer(self, message: dict[str, Any], text: str) -> AnswerPart:
        self._answers += 1
        calls: list[ToolCall] = []
        for call in map(as_dict, as_list(message.get("tool_calls"))):
            function = as_dict(call.get("function")) or call
            calls.append(self._call(call.get("id"), function))
        if function := as_dict(message.get("function_call")):
            calls.append(self._call("", function))
            self._function_call = calls[-1].id
        return AnswerPart(
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

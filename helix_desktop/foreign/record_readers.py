"""Readers of agents that write one JSON record a line: Claude Code, Codex and Pi."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import StopReason, ToolCall, Usage
from helix_desktop.domain.typed_text import is_of_programs
from helix_desktop.foreign.items import (
    About,
    AnswerPart,
    AnyItem,
    BlockReader,
    CallUsage,
    Compacted,
    DataRecord,
    Output,
    Picture,
    Reader,
    RolledBack,
    Speaker,
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
    rest_of,
    rest_record,
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
        *("worktree-state", "content-replacement", "started", "result", "speculation-accept"),
        "bridge-session",
    )
)
_ENVELOPE = (
    *("type", "uuid", "parentUuid", "isSidechain", "timestamp", "sessionId", "cwd", "version", "message"),
    *("userType", "gitBranch", "slug", "agentId", "isCompactSummary", "isVisibleInTranscriptOnly"),
    *("sourceToolAssistantUUID", "logicalParentUuid", "isApiErrorMessage", "isMeta"),
)


class ClaudeCodeReader(BlockReader):
    """Claude Code: one JSON record a line, a tree by `uuid` and `parentUuid`.

    Known: the files of versions 1.0 to 2.1 in `projects/FOLDER/SESSION.jsonl`, with their subagents, which
    stand in the same file (`isSidechain`) or, from 2.0 on, in `agent-ID.jsonl` beside it or in
    `SESSION/subagents/`. An answer is written as one record for each block; they share the message's id.

    It reads the records of one file. `is_subagent`: the whole file is the conversation of a subagent.
    """

    agent: ForeignAgent = "claude-code"

    def __init__(self, *, is_subagent: bool = False) -> None:
        self._is_subagent = is_subagent
        self._is_described = False
        self._threads: dict[str, str] = {}  # of the records of subagents, by uuid
        self._boundary: Compacted | None = None  # whose summary has not come yet

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        if not self._is_described and as_text(data.get("cwd")):
            self._is_described = True
            yield about(data, "sessionId", "cwd", "version")
        kind = as_text(data.get("type"))
        message = as_dict(data.get("message"))
        match kind:
            case "user" if message:
                yield from self._user(data, message)
            case "assistant" if message:
                yield from self._boundary_summary()
                yield from self._assistant(data, message)
            case "system" if data.get("subtype") == "compact_boundary":
                yield from self._boundary_summary()
                facts = as_dict(data.get("compactMetadata"))
                tokens = as_count(facts.get("preTokens"))
                trigger = as_text(facts.get("trigger"))
                self._boundary = Compacted(**self.place(data), tokens=tokens, trigger=trigger)
            case "attachment" if as_dict(data.get("attachment")).get("type") == "queued_command":
                prompt = as_dict(data.get("attachment")).get("prompt")
                text = "\n\n".join(as_text(block.get("text")) for block in blocks_of(prompt))
                yield UserMessage(text=text, steered=True)
            case "summary" | "custom-title" | "ai-title" if title := as_text(data.get(_TITLES[kind])):
                yield Title(text=title)
            case _:
                detail = data.get("subtype") or as_dict(data.get("data")).get("type")
                detail = detail or as_dict(data.get("attachment")).get("type")
                yield DataRecord(kind=kind_name(kind, detail), data=raw, is_known=kind in _KNOWN)

    def end(self) -> Iterator[AnyItem]:
        """Yield a compaction whose summary never came."""
        yield from self._boundary_summary()

    def _boundary_summary(self) -> Iterator[AnyItem]:
        if self._boundary is not None:
            yield self._boundary
            self._boundary = None

    def links(self, data: dict[str, Any]) -> tuple[str, str]:
        parent = as_text(data.get("parentUuid")) or as_text(data.get("logicalParentUuid"))
        return as_text(data.get("uuid")), parent

    def speech(self, data: dict[str, Any]) -> tuple[Speaker, int]:
        message = as_dict(data.get("message"))
        if not message or data.get("isSidechain") is True or data.get("type") not in ("user", "assistant"):
            return "", -1
        at_ms = time_ms(data.get("timestamp"))
        if data["type"] == "assistant":
            return "" if _is_error(data, message) else "model", at_ms
        blocks = blocks_of(message.get("content"))
        text = paragraphs(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
        is_added = data.get("isMeta") is True or data.get("isCompactSummary") is True
        if not text or is_added or text.startswith((_STOPPED, *_LOCAL)):
            return "", at_ms
        return "program" if is_of_programs(text) else "user", at_ms

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return time and place of a record in the tree, and the subagent's thread that it is in."""
        node, parent = self.links(data)
        thread = ""
        if data.get("isSidechain") is True and not self._is_subagent:
            thread = self._threads.get(parent) or as_text(data.get("agentId")) or node
            self._threads[node] = thread
        return {"at_ms": time_ms(data.get("timestamp")), "node": node, "parent": parent, "thread": thread}

    def _user(self, data: dict[str, Any], message: dict[str, Any]) -> Iterator[AnyItem]:
        blocks = blocks_of(message.get("content"))
        text = paragraphs(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
        if data.get("isCompactSummary") is True:
            before = self._boundary or Compacted()
            self._boundary = None
            yield Compacted(summary=text, tokens=before.tokens, trigger=before.trigger)
            return
        yield from self._boundary_summary()
        for block in blocks:
            if block.get("type") == "tool_result":
                yield from self._output(block, as_dict(data.get("toolUseResult")))
        rest = rest_of(data, *_ENVELOPE)
        pictures = []
        for block in blocks:
            if block.get("type") in ("text", "tool_result"):
                continue
            found = _picture(block)
            if found is not None:
                pictures.append(found)
            else:
                yield DataRecord(kind=kind_name("user", block.get("type")), data=encode(block))
        if text and (data.get("isMeta") is True or text.startswith(_LOCAL)):
            yield DataRecord(kind="user: added by Claude Code", data=encode({"text": text}))
        elif text.startswith(_STOPPED):
            yield TurnOver(how="stopped")
            yield DataRecord(kind="user: interrupted", data=encode({"text": text}))
        elif text or pictures:
            yield UserMessage(text=text, pictures=tuple(pictures))
        for name, value in rest.items():
            yield DataRecord(
                kind=kind_name("user", name), data=encode({"uuid": as_text(data.get("uuid")), name: value})
            )

    def _output(self, block: dict[str, Any], details: dict[str, Any]) -> Iterator[AnyItem]:
        texts = []
        pictures = []
        for part in blocks_of(block.get("content")):
            if part.get("type") == "text":
                texts.append(as_text(part.get("text")))
            elif (found := _picture(part)) is not None:
                pictures.append(found)
            else:
                yield DataRecord(kind=kind_name("output", part.get("type")), data=encode(part))
        yield Output(
            call_id=as_text(block.get("tool_use_id")),
            text="\n".join(texts),
            ok=block.get("is_error") is not True,
            pictures=tuple(pictures),
            subagent=as_text(details.get("agentId")),
        )

    def _assistant(self, data: dict[str, Any], message: dict[str, Any]) -> Iterator[AnyItem]:
        blocks = blocks_of(message.get("content"))
        text = paragraphs(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
        model = as_text(message.get("model"))
        if _is_error(data, message):
            yield TurnOver(how="failed", why=text)
            yield DataRecord(kind="assistant: error", data=encode({"text": text}))
            return
        group = as_text(message.get("id"))
        note = {"uuid": as_text(data.get("uuid"))}
        stop = _STOPS.get(as_text(message.get("stop_reason")))
        records, part = self.answer(blocks, group, model, stop, note)
        yield from records
        yield part
        if usage := as_dict(message.get("usage")):
            yield CallUsage(group=group, usage=anthropic_usage(usage))
        for name, value in rest_of(data, *_ENVELOPE, "requestId").items():
            yield DataRecord(kind=kind_name("assistant", name), data=encode({**note, name: value}))


def _is_error(data: dict[str, Any], message: dict[str, Any]) -> bool:
    """Return True for a record that stands in the place of an answer and says why there is none."""
    return data.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"


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


_KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record")
_KEPT = frozenset(
    (
        *("world_state", "inter_agent_communication", "inter_agent_communication_metadata"),
        *("retained_context", "security_risk_score", "realtime_item"),
    )
)
_ITEMS = (
    *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
    *("custom_tool_call_output", "local_shell_call", "web_search_call", "ghost_snapshot", "compaction"),
    *("compaction_summary", "tool_search_call", "tool_search_output", "image_generation_call", "other"),
    *("context_compaction", "compaction_trigger", "additional_tools", "agent_message"),
    *("configuration_update", "local_shell_call_output"),
)
_ADDED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill"
    r"|user_shell_command|subagent_notification|collaboration_mode|INSTRUCTIONS|recommended_plugins"
    r"|agent_message_board_notification|personality_spec|apps_instructions|plugins_instructions)\b"
    r"|# AGENTS\.md instructions)"
)
"""How texts begin that Codex itself puts into user messages."""
_EVENTS = frozenset(
    (
        *("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "token_count"),
        *("patch_apply_end", "exec_command_end", "mcp_tool_call_end", "web_search_end", "context_compacted"),
        *("task_started", "turn_started", "task_complete", "turn_complete", "item_completed", "error"),
        *("entered_review_mode", "exited_review_mode", "image_generation_end", "view_image_tool_call"),
        *("turn_aborted", "thread_rolled_back", "thread_name_updated", "agent_reasoning_section_break"),
        *("thread_goal_updated", "thread_settings_applied", "sub_agent_activity", "plan_update", "warning"),
    )
)
_TURN_ENDS = ("task_complete", "turn_complete", "turn_aborted", "thread_rolled_back")
_EXIT = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d{1,10})\b")
_EXIT_WITHIN = 400  # characters at the beginning of an output that say how a command ended


class CodexReader(Reader):
    """Codex: JSON lines in `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl` and `archived_sessions/`.

    Known: records of kind and payload, as versions 0.32 to 0.160 write them, in both history modes, also
    packed (`.jsonl.zst`); and the bare items that earlier versions wrote. What the model was sent are the
    response items; most of the events say the same for the screen, and are kept as data.
    """

    agent: ForeignAgent = "codex"
    is_ordered_by_time = True

    def __init__(self) -> None:
        self._is_described = False
        self._model = ""
        self._provider = ""
        self._answers = 1
        self._calls = 0
        self._agent_path = ""  # of a subagent, as messages of other agents name it
        self._messages = set[str]()  # of other agents
        self._total: object = None  # that the newest count of tokens said
        self._records_usage = False  # of each call, apart from those counts

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"at_ms": time_ms(data.get("timestamp"))}

    def ends_turn(self, data: dict[str, Any]) -> bool:
        return as_dict(data.get("payload")).get("type") in _TURN_ENDS

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        kind = as_text(data.get("type"))
        payload = as_dict(data.get("payload"))
        if kind in _KINDS:
            yield from self._record(kind, payload, raw)
        elif kind in _ITEMS:  # as earlier versions wrote them
            yield from self._item(data, raw)
        elif not kind and as_text(data.get("id")) and not self._is_described:
            yield from self._about(data, raw)
        else:
            if kind == "inter_agent_communication":
                yield from self._agent_message(payload)
            name = kind or data.get("record_type")
            is_known = kind in _KEPT or "record_type" in data
            yield DataRecord(kind=kind_name(name), data=raw, is_known=is_known)

    def _about(self, meta: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        if not self._is_described:
            self._is_described = True
            self._provider = as_text(meta.get("model_provider"))
            self._agent_path = as_text(meta.get("agent_path"))
            yield About(
                at_ms=time_ms(meta.get("timestamp")),
                source=as_text(meta.get("id")),
                folder=as_text(meta.get("cwd")),
                version=as_text(meta.get("cli_version")),
            )
        yield DataRecord(kind="session_meta", data=raw)

    def _record(self, kind: str, payload: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        match kind:
            case "session_meta":
                yield from self._about(payload, raw)
            case "turn_context":
                self._model = as_text(payload.get("model")) or self._model
                yield DataRecord(kind=kind, data=raw)
            case "response_item":
                yield from self._item(payload, raw)
            case "token_usage_record":
                self._records_usage = True
                if usage := _usage(as_dict(payload.get("usage"))):
                    group = as_text(payload.get("response_id")) or self._group
                    yield CallUsage(group=group, usage=usage)
                yield DataRecord(kind=kind, data=raw)
            case "compacted":
                yield Compacted(summary=as_text(payload.get("message")))
                yield from rest_record("compacted: replacement history", rest_of(payload, "message"))
            case _:
                yield from self._event(payload, raw)

    def _event(self, event: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        kind = as_text(event.get("type"))
        match kind:
            case "token_count":
                info = as_dict(event.get("info"))
                total = info.get("total_token_usage")
                before = self._total
                is_news = info and (total is None or total != before)  # it is also repeated, with new limits
                self._total = total
                usage = _usage(as_dict(info.get("last_token_usage")))
                if is_news and usage and not self._records_usage:
                    window = as_count(info.get("model_context_window"))
                    yield CallUsage(group=self._group, usage=usage, window=window)
                self._answers += 1
            case "turn_aborted":
                yield TurnOver(how="stopped", why=as_text(event.get("reason")))
            case "error":
                yield TurnOver(how="failed", why=as_text(event.get("message")))
            case "task_complete" | "turn_complete":
                error = event.get("error")
                why = as_text(error) or as_text(as_dict(error).get("message"))
                yield TurnOver(how="failed" if error else "done", why=why)
            case "thread_rolled_back":
                yield RolledBack(messages=as_count(event.get("num_turns")))
            case "thread_name_updated" if title := as_text(event.get("thread_name")):
                yield Title(text=title)
        yield DataRecord(kind=kind_name("event_msg", kind), data=raw, is_known=kind in _EVENTS)

    @property
    def _group(self) -> str:
        return f"answer-{self._answers}"

    def _item(self, item: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        kind = as_text(item.get("type"))
        call_id = item.get("call_id") or item.get("id")
        match kind:
            case "message" if item.get("role") == "assistant":
                yield self._part(text=paragraphs(map(_block_text, blocks_of(item.get("content")))))
            case "message":
                yield from self._message(item, raw)
            case "reasoning":
                blocks = [*as_list(item.get("summary")), *as_list(item.get("content"))]
                yield self._part(reasoning=paragraphs(map(_block_text, map(as_dict, blocks))))
                yield from rest_record("reasoning: encrypted", rest_of(item, "type", "summary", "content"))
            case "function_call":
                yield self._call(call_id, _tool_name(item), item.get("arguments"))
            case "tool_search_call":
                yield self._call(call_id, "tool_search", item.get("arguments"))
            case "custom_tool_call":
                yield self._call(call_id, _tool_name(item), item.get("input"))
            case "local_shell_call":
                yield self._call(call_id, "local_shell", item.get("action"))
            case "image_generation_call" if (found := picture(item.get("result"))) is not None:
                part = self._call(item.get("id"), "image_generation", {"prompt": item.get("revised_prompt")})
                yield part
                yield Output(call_id=part.calls[0].id, text="", pictures=(found,))
            case "agent_message":
                yield from self._agent_message(item)
                yield DataRecord(kind=kind_name("response_item", kind), data=raw)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                yield from self._output(as_text(call_id), item.get("output"))
            case "tool_search_output":
                tools = encode(as_list(item.get("tools"))).decode()
                yield Output(call_id=as_text(call_id), text=tools)
            case "compaction" | "compaction_summary" | "context_compaction":
                yield Compacted()
                yield DataRecord(kind="compaction: encrypted", data=raw)
            case _:
                yield DataRecord(kind=kind_name("response_item", kind), data=raw, is_known=kind in _ITEMS)

    def _part(self, *, text: str = "", reasoning: str = "", calls: tuple[ToolCall, ...] = ()) -> AnswerPart:
        return AnswerPart(
            group=self._group,
            model=model_label(self._provider, self._model),
            text=text,
            reasoning=reasoning,
            calls=calls,
            stop="calls" if calls else "end",
        )

    def _call(self, call_id: object, name: object, arguments: object) -> AnswerPart:
        self._calls += 1
        return self._part(calls=(tool_call(call_id, name, arguments, f"call-{self._calls}"),))

    def _agent_message(self, message: dict[str, Any]) -> Iterator[AnyItem]:
        """Yield what another agent told this one: the task of a subagent, and what followed."""
        name = as_text(message.get("id"))
        text = paragraphs(map(_block_text, blocks_of(message.get("content"))))
        is_mine = self._agent_path != "" and message.get("recipient") == self._agent_path
        if is_mine and text and not (name and name in self._messages):
            self._messages.add(name)
            yield UserMessage(text=text, steered=True)

    def _message(self, item: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        texts = []
        pictures = []
        blocks = blocks_of(item.get("content"))
        kinds = as_list(
            as_dict(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
        )
        kinds = kinds if len(kinds) == len(blocks) else [""] * len(blocks)
        for block, kind in zip(blocks, map(as_text, kinds), strict=True):
            text = _block_text(block)
            is_named = kind not in ("", "unknown")
            is_added = not kind.startswith("user.") if is_named else bool(_ADDED.match(text))
            if text and not is_added:
                texts.append(text)
            elif block.get("type") == "input_image" and (found := picture(block.get("image_url"))):
                pictures.append(found)
            else:
                yield DataRecord(kind="message: added by Codex", data=encode(block))
        if item.get("role") != "user":
            yield DataRecord(kind=kind_name("message", item.get("role")), data=raw)
        elif texts or pictures:
            self._answers += 1
            yield UserMessage(text="\n\n".join(texts), pictures=tuple(pictures))

    def _output(self, call_id: str, output: object) -> Iterator[AnyItem]:
        text = ""
        is_ok = True
        exit_code = None
        pictures = list[Picture]()
        if isinstance(output, str):
            text = output
        elif isinstance(output, list):
            texts = []
            for block in blocks_of(output):
                if (found := picture(block.get("image_url"))) is not None:
                    pictures.append(found)
                elif words := _block_text(block):
                    texts.append(words)
                else:
                    yield DataRecord(kind=kind_name("output", block.get("type")), data=encode(block))
            text = "\n".join(texts)
        else:
            text = as_text(as_dict(output).get("content"))
            is_ok = as_dict(output).get("success") is not False
        exit_code = _exit_code(text)
        self._answers += 1
        yield Output(
            call_id=call_id,
            text=text,
            ok=is_ok and not exit_code,
            exit_code=exit_code,
            pictures=tuple(pictures),
        )


def _tool_name(item: dict[str, Any]) -> str:
    space = as_text(item.get("namespace"))
    name = as_text(item.get("name"))
    return f"{space.rstrip('_')}__{name}" if space else name


def _block_text(block: dict[str, Any]) -> str:
    return as_text(block.get("text"))


def _exit_code(text: str) -> int | None:
    """Return how a command ended, as its output says it; None for other outputs."""
    if text.startswith('{"output"'):
        value = as_dict(as_dict(decode_object(text.encode("utf-8", "replace"))).get("metadata")).get(
            "exit_code"
        )
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    found = _EXIT.search(text[:_EXIT_WITHIN])
    return int(found[1]) if found else None


def _usage(usage: dict[str, Any]) -> Usage | None:
    tokens = as_count(usage.get("input_tokens"))
    cached = as_count(usage.get("cached_input_tokens"))
    answer = as_count(usage.get("output_tokens"))
    return Usage(tokens, answer, min(cached, tokens), reports_cache=True) if tokens or answer else None


_PI_STOPS: dict[str, StopReason] = {"length": "length", "aborted": "stopped", "toolUse": "calls"}
_PI_KNOWN = frozenset(
    (
        *("model_change", "thinking_level_change", "label", "custom", "context_transform", "ephemeral"),
        "session_info",
    )
)


class PiReader(BlockReader):
    """Pi: one JSON record a line, below `sessions/` in its folder.

    Known: versions 1 (a sequence) to 3 (a tree by `id` and `parentId`).
    """

    agent: ForeignAgent = "pi"

    def __init__(self) -> None:
        self._answers = 0

    def links(self, data: dict[str, Any]) -> tuple[str, str]:
        node = "" if data.get("type") == "session" else as_text(data.get("id"))
        return node, as_text(data.get("parentId"))

    def speech(self, data: dict[str, Any]) -> tuple[Speaker, int]:
        if data.get("type") != "message":
            return "", -1
        role = as_dict(data.get("message")).get("role")
        speakers: dict[object, Speaker] = {"user": "user", "assistant": "model"}
        return speakers.get(role, ""), time_ms(data.get("timestamp"))

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        node, parent = self.links(data)
        return {"at_ms": time_ms(data.get("timestamp")), "node": node, "parent": parent}

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
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
                yield from self._message(as_dict(data.get("message")), raw)
            case "compaction":
                summary = as_text(data.get("summary"))
                tokens = as_count(data.get("tokensBefore"))
                yield Compacted(summary=summary, tokens=tokens)
                rest = rest_of(data, "type", "summary", "tokensBefore", "timestamp", "id", "parentId")
                yield from rest_record("compaction", rest)
            case "branch_summary":
                yield Compacted(summary=as_text(data.get("summary")), trigger="branch")
            case "custom_message":
                yield UserMessage(text=_text(data.get("content")), pictures=_pictures(data.get("content")))
            case "session_info" if name := as_text(data.get("name")):
                yield Title(text=name)
            case kind:
                name = kind_name(kind, data.get("customType"))
                yield DataRecord(kind=name, data=raw, is_known=kind in _PI_KNOWN)

    def _message(self, message: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        content = message.get("content")
        match message.get("role"):
            case "user":
                yield UserMessage(text=_text(content), pictures=_pictures(content))
            case "assistant":
                yield from self._answer(message)
            case "toolResult":
                yield Output(
                    call_id=as_text(message.get("toolCallId")),
                    text=_text(content, "\n"),
                    ok=message.get("isError") is not True,
                    pictures=_pictures(content),
                )
                yield from rest_record("toolResult: details", rest_of(as_dict(message.get("details"))))
            case "bashExecution" if message.get("excludeFromContext") is not True:
                command = as_text(message.get("command"))
                output = as_text(message.get("output"))
                yield UserMessage(text=f"$ {command}", pasted=((command, output),) if output else ())
                rest = rest_of(message, "role", "command", "output", "timestamp")
                yield DataRecord(kind="bashExecution", data=encode(rest))
            case "custom" | "hookMessage":
                yield UserMessage(text=_text(content), pictures=_pictures(content))
            case "branchSummary" | "compactionSummary":
                yield Compacted(summary=as_text(message.get("summary")))
            case role:
                yield DataRecord(kind=kind_name("message", role), data=raw, is_known=role == "bashExecution")

    def _answer(self, message: dict[str, Any]) -> Iterator[AnyItem]:
        self._answers += 1
        group = f"answer-{self._answers}"
        stop = as_text(message.get("stopReason"))
        model = model_label(message.get("provider"), message.get("model"))
        blocks = message.get("content")
        records, part = self.answer(blocks_of(blocks), group, model, _PI_STOPS.get(stop, "end"))
        yield from records
        yield part
        usage = as_dict(message.get("usage"))
        if usage:
            cached = as_count(usage.get("cacheRead"))
            writes = as_count(usage.get("cacheWrite"))
            tokens = as_count(usage.get("input")) + cached + writes
            yield CallUsage(
                group=group,
                usage=Usage(tokens, as_count(usage.get("output")), cached, writes, 0, True, True),
                cost=as_cost(as_dict(usage.get("cost")).get("total")),
            )
        error = as_text(message.get("errorMessage"))
        if stop == "aborted":
            yield TurnOver(how="stopped")
        elif stop == "error":
            yield TurnOver(how="failed", why=error)


def _text(content: object, separator: str = "\n\n") -> str:
    blocks = blocks_of(content)
    return separator.join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")


def _pictures(content: object) -> tuple[Picture, ...]:
    images = (block for block in blocks_of(content) if block.get("type") == "image")
    found = (picture(block.get("data")) for block in images)
    return tuple(one for one in found if one is not None)

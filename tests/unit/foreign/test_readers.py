"""Readers of other agents' sessions: what each kind of record becomes, and that none of them ever fails."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.foreign.items import (
    About,
    AnswerPart,
    AnyItem,
    CallUsage,
    Compacted,
    Damaged,
    DataRecord,
    Output,
    Reader,
    Record,
    RolledBack,
    Title,
    TurnOver,
    UserMessage,
    read_record,
    time_ms,
)
from helix_desktop.foreign.message_readers import ChatMessagesReader, ClineReader, OpencodeReader
from helix_desktop.foreign.record_readers import ClaudeCodeReader, CodexReader, PiReader

READERS: tuple[Callable[[], Reader], ...] = (
    ClaudeCodeReader, CodexReader, OpencodeReader, ClineReader, PiReader, ChatMessagesReader,
)  # fmt: skip


def png() -> bytes:
    """Return an image of 2 × 1 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\1\2"))
        + chunk(b"IEND", b"")
    )


PNG = base64.b64encode(png()).decode()


def read(reader: Reader, records: Iterable[Any]) -> list[AnyItem]:
    items = [
        item
        for number, record in enumerate(records, 1)
        for item in read_record(reader, Record(number, json.dumps(record).encode()))
    ]
    return [*items, *reader.end()]


def of(items: Iterable[AnyItem], kind: Any) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


def kinds(items: Iterable[AnyItem]) -> list[str]:
    """Return the kinds of what is kept as data."""
    return [item.kind for item in items if isinstance(item, DataRecord)]


class TestClaudeCode:
    BASE: ClassVar[dict[str, Any]] = {
        "sessionId": "s",
        "cwd": "/home/ann/shop",
        "version": "2.1.5",
        "isSidechain": False,
    }

    def test_an_answer_is_the_records_of_one_message(self) -> None:
        answer = {"id": "m1", "role": "assistant", "model": "claude-opus-4-5"}
        thought = {"type": "thinking", "thinking": "A port.", "signature": "abc"}
        call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}
        items = read(
            ClaudeCodeReader(),
            [
                {**self.BASE, "type": "user", "uuid": "1",
                 "message": {"role": "user", "content": "Which port?"}},
                {**self.BASE, "type": "assistant", "uuid": "2",
                 "message": {**answer, "content": [thought]}},
                {**self.BASE, "type": "assistant", "uuid": "3", "message": {**answer, "content": [call]}},
            ],
        )  # fmt: skip
        assert of(items, About) == [About(source="s", folder="/home/ann/shop", version="2.1.5")]
        first, second = of(items, AnswerPart)
        assert (first.group, first.reasoning) == ("m1", "A port.")
        assert (second.group, second.calls[0].arguments) == ("m1", '{"file_path":"a.py"}')
        assert kinds(items) == ["thinking: signature"]

    def test_an_output_has_its_text_and_images_and_its_details_are_kept(self) -> None:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        result = {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "a\nb"}, image],
        }
        record = {
            **self.BASE,
            "type": "user",
            "uuid": "1",
            "timestamp": "2026-02-12T07:51:13.099Z",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": {"agentId": "ae2"},
        }
        items = read(ClaudeCodeReader(), [record])
        (output,) = of(items, Output)
        assert (output.call_id, output.text, output.subagent) == ("t1", "a\nb", "ae2")
        assert output.pictures[0].data == png()
        assert output.at_ms == 1770882673099
        assert kinds(items) == ["user: toolUseResult"]

    def test_its_compaction_is_the_boundary_and_the_summary(self) -> None:
        boundary = {
            **self.BASE,
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "1",
            "compactMetadata": {"trigger": "auto", "preTokens": 155528},
        }
        summary = {
            **self.BASE,
            "type": "user",
            "uuid": "2",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "So far: a port."},
        }
        (compacted,) = of(read(ClaudeCodeReader(), [boundary, summary]), Compacted)
        assert (compacted.summary, compacted.tokens, compacted.trigger) == ("So far: a port.", 155528, "auto")
        (alone,) = of(read(ClaudeCodeReader(), [boundary]), Compacted)
        assert alone.summary == ""

    def test_a_sidechain_is_the_thread_of_a_subagent(self) -> None:
        side = {**self.BASE, "isSidechain": True, "type": "user"}
        items = read(
            ClaudeCodeReader(),
            [
                {**side, "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "Find it."}},
                {**side, "uuid": "2", "parentUuid": "1", "message": {"role": "user", "content": "Go on."}},
            ],
        )
        assert [item.thread for item in of(items, UserMessage)] == ["1", "1"]

    def test_what_it_knows_and_what_it_does_not(self) -> None:
        items = read(
            ClaudeCodeReader(),
            [
                {"type": "progress", "data": {"type": "bash_progress"}},
                {"type": "novelty", "x": 1},
                {"type": "custom-title", "customTitle": "Ports"},
                {"type": "user", "message": {"role": "user", "content": "[Request interrupted by user]"}},
                {"type": "user", "message": {"role": "user", "content": "<local-command-stdout>Bye!"}},
            ],
        )
        records = of(items, DataRecord)
        assert [(item.kind, item.is_known) for item in records[:2]] == [
            ("progress: bash_progress", True),
            ("novelty", False),
        ]
        assert of(items, Title)[0].text == "Ports"
        assert of(items, TurnOver)[0].how == "stopped"
        assert records[-1].kind == "user: added by Claude Code"
        assert not of(items, UserMessage)


class TestCodex:
    @staticmethod
    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}

    def test_a_turn_with_a_command(self) -> None:
        line = self.line
        text = "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno such file\n"
        items = read(
            CodexReader(),
            [
                line(
                    "session_meta", id="c1", cwd="/home/ann/shop", cli_version="0.65.0",
                    model_provider="openai",
                ),
                line("turn_context", model="gpt-5-codex"),
                line(
                    "response_item", type="message", role="user",
                    content=[
                        {"type": "input_text", "text": "<environment_context>x</environment_context>"},
                    ],
                ),
                line(
                    "response_item", type="message", role="user",
                    content=[{"type": "input_text", "text": "Go"}],
                ),
                line(
                    "response_item", type="reasoning", summary=[{"type": "summary_text", "text": "Hm"}],
                    encrypted_content="zzz",
                ),
                line(
                    "response_item", type="function_call", name="shell", arguments='{"command":["ls"]}',
                    call_id="k",
                ),
                line(
                    "event_msg", type="token_count",
                    info={"last_token_usage": {"input_tokens": 900, "cached_input_tokens": 800,
                                               "output_tokens": 20}},
                ),
                line("response_item", type="function_call_output", call_id="k", output=text),
                line(
                    "response_item", type="message", role="assistant",
                    content=[{"type": "output_text", "text": "Not there."}],
                ),
                line("event_msg", type="task_complete"),
            ],
        )  # fmt: skip
        assert of(items, About)[0].version == "0.65.0"
        assert [message.text for message in of(items, UserMessage)] == ["Go"]
        thought, call, answer = of(items, AnswerPart)
        assert thought.group == call.group != answer.group
        assert (thought.reasoning, call.model) == ("Hm", "openai/gpt-5-codex")
        (output,) = of(items, Output)
        assert (output.text, output.exit_code, output.ok) == (text, 1, False)
        usage = of(items, CallUsage)[0]
        assert (usage.group, usage.usage.cached) == (call.group, 800)
        assert of(items, TurnOver)[0].how == "done"
        assert "message: added by Codex" in kinds(items)
        assert "reasoning: encrypted" in kinds(items)

    def test_compactions_and_going_back(self) -> None:
        items = read(
            CodexReader(),
            [
                self.line("compacted", message="So far.", replacement_history=[{"type": "message"}]),
                self.line("event_msg", type="thread_rolled_back", num_turns=2),
                self.line("event_msg", type="turn_aborted", reason="interrupted"),
            ],
        )
        assert of(items, Compacted)[0].summary == "So far."
        assert of(items, RolledBack)[0].messages == 2
        assert of(items, TurnOver)[0].how == "stopped"
        assert "compacted: replacement history" in kinds(items)

    def test_files_of_earlier_versions_and_free_text_calls(self) -> None:
        items = read(
            CodexReader(),
            [
                {"id": "c2", "timestamp": "2025-06-01T00:00:00Z", "instructions": None, "git": {}},
                {"record_type": "state"},
                {"type": "message", "role": "user",
                 "content": [{"type": "input_text", "text": "Patch it"}]},
                {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch",
                 "call_id": "p"},
                {"type": "custom_tool_call_output", "call_id": "p",
                 "output": '{"output":"Success","metadata":{"exit_code":0}}'},
            ],
        )  # fmt: skip
        assert of(items, About)[0].source == "c2"
        assert of(items, AnswerPart)[0].calls[0].arguments == '{"input":"*** Begin Patch"}'
        assert of(items, Output)[0].exit_code == 0

    def test_calls_that_the_provider_answers_itself(self) -> None:
        line = self.line
        items = read(
            CodexReader(),
            [
                line("response_item", type="web_search_call", status="completed",
                     action={"type": "search", "query": "ports"}),
                line("response_item", type="image_generation_call", id="ig1", result=PNG),
                line("response_item", type="function_call", namespace="mcp__shop", name="find", call_id="k",
                     arguments="{}"),
                line("response_item", type="message", role="assistant",
                     content=[{"type": "output_text", "text": "Done."}]),
            ],
        )  # fmt: skip
        answers = of(items, AnswerPart)
        names = [answer.calls[0].name for answer in answers[:3]]
        assert names == ["web_search", "image_generation", "mcp__shop__find"]
        assert answers[0].calls[0].arguments == '{"type":"search","query":"ports"}'
        assert answers[0].group != answers[1].group != answers[2].group
        (output,) = of(items, Output)
        assert (output.call_id, output.pictures[0].data) == ("ig1", png())
        assert not of(items, DataRecord)

    def test_what_the_user_typed_is_named_in_newer_versions(self) -> None:
        blocks = [
            {"type": "input_text", "text": "<skill>is what I mean"},
            {"type": "input_text", "text": "Use tabs."},
        ]
        kinds_of_blocks = {"content_item_kinds": ["user.text", "instructions.agents_md"]}
        message = self.line(
            "response_item",
            type="message",
            role="user",
            content=blocks,
            internal_chat_message_metadata_passthrough=kinds_of_blocks,
        )
        items = read(CodexReader(), [message])
        assert [spoke.text for spoke in of(items, UserMessage)] == ["<skill>is what I mean"]
        assert kinds(items) == ["message: added by Codex"]

    def test_tokens_count_once(self) -> None:
        used = {"input_tokens": 900, "cached_input_tokens": 100, "output_tokens": 40}
        count = self.line(
            "event_msg", type="token_count", info={"last_token_usage": used, "total_token_usage": used}
        )
        record = self.line("token_usage_record", response_id="r1", usage=used)
        assert len(of(read(CodexReader(), [count, count]), CallUsage)) == 1
        (usage,) = of(read(CodexReader(), [record, count]), CallUsage)
        assert (usage.group, usage.usage.input, usage.usage.cached) == ("r1", 900, 100)

    def test_a_subagent_is_told_its_task_by_another_agent(self) -> None:
        line = self.line
        note = {"author": "/lead", "recipient": "/lead/tester", "content": "Test it."}
        items = read(
            CodexReader(),
            [
                line("session_meta", id="c2", agent_path="/lead/tester", parent_thread_id="c1"),
                line("inter_agent_communication", id="a1", **note),
                line("response_item", type="agent_message", id="a1", **note),
                line("response_item", type="agent_message", id="a2", author="/lead/tester",
                     recipient="/lead", content=[{"type": "input_text", "text": "It passes."}]),
                line("world_state", full=True, state={}),
                line("response_item", type="context_compaction", encrypted_content="zz"),
                line("event_msg", type="task_complete", error={"message": "No credit."}),
                line("novelty", x=1),
            ],
        )  # fmt: skip
        assert [message.text for message in of(items, UserMessage)] == ["Test it."]
        assert len(of(items, Compacted)) == 1
        assert (of(items, TurnOver)[0].how, of(items, TurnOver)[0].why) == ("failed", "No credit.")
        assert [item.kind for item in of(items, DataRecord) if not item.is_known] == ["novelty"]


class TestOpencode:
    def test_the_parts_of_a_message(self) -> None:
        info = {
            "id": "m2",
            "role": "assistant",
            "providerID": "anthropic",
            "modelID": "opus",
            "time": {"created": 1_760_000_000_000, "completed": 1_760_000_001_000},
        }
        done = {
            "status": "completed",
            "input": {"command": "ls"},
            "output": "a.py\n",
            "time": {"start": 1, "end": 2},
            "metadata": {"sessionId": "ses_child"},
        }
        parts = [
            {"type": "step-start"},
            {"type": "reasoning", "text": "Look."},
            {"type": "tool", "callID": "k1", "tool": "task", "state": done},
            {"type": "tool", "callID": "k2", "tool": "bash",
             "state": {"status": "error", "input": {}, "error": "no"}},
            {"type": "step-finish", "cost": 0.01,
             "tokens": {"input": 5, "output": 7, "reasoning": 1, "cache": {"read": 90, "write": 5}}},
            {"type": "step-start"},
            {"type": "text", "text": "One file."},
            {"type": "patch", "hash": "x", "files": []},
        ]  # fmt: skip
        items = read(
            OpencodeReader(),
            [
                {"info": {"id": "ses_1", "directory": "/home/ann/shop", "title": "Files",
                          "version": "1.1.0"}},
                {"info": {"id": "m1", "role": "user"},
                 "parts": [
                     {"type": "text", "text": "What is here?"},
                     {"type": "text", "text": "Called the tool", "synthetic": True},
                     {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PNG}"},
                 ]},
                {"info": info, "parts": parts},
                {"info": {"id": "m3", "role": "assistant", "summary": True},
                 "parts": [{"type": "text", "text": "So."}]},
            ],
        )  # fmt: skip
        assert of(items, Title)[0].text == "Files"
        (message,) = of(items, UserMessage)
        assert (message.text, message.pictures[0].data) == ("What is here?", png())
        answers, outputs = of(items, AnswerPart), of(items, Output)
        assert [answer.group for answer in answers] == ["m2-1", "m2-1", "m2-1", "m2-2"]
        assert [(output.text, output.ok, output.subagent) for output in outputs] == [
            ("a.py\n", True, "ses_child"),
            ("no", False, ""),
        ]
        assert items.index(outputs[0]) > items.index(answers[2])
        assert (of(items, CallUsage)[0].usage.input, of(items, CallUsage)[0].cost) == (100, 0.01)
        assert of(items, Compacted)[0].summary == "So."
        assert {"text: added by opencode", "assistant: patch", "tool: metadata"} <= set(kinds(items))


class TestCline:
    def test_calls_as_blocks(self) -> None:
        items = read(
            ClineReader(),
            [
                {"role": "user",
                 "content": [
                     {"type": "text", "text": "<task>\nFix it\n</task>"},
                     {"type": "text", "text": "<environment_details>…</environment_details>"},
                 ]},
                {"role": "assistant", "ts": 1_760_000_000_000,
                 "content": [
                     {"type": "text", "text": "Reading."},
                     {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}},
                 ]},
                {"role": "user",
                 "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}]},
            ],
        )  # fmt: skip
        assert [message.text for message in of(items, UserMessage)] == ["Fix it"]
        assert of(items, AnswerPart)[0].calls[0].name == "read_file"
        assert of(items, Output)[0].text == "x = 1"
        assert kinds(items) == ["user: added by the agent"]

    def test_calls_as_xml_in_the_text(self) -> None:
        written = "<thinking>I look.</thinking>Reading.\n<read_file>\n<path>a.py</path>\n</read_file>"
        items = read(
            ClineReader("roo-code"),
            [
                {"role": "user", "content": "<task>Fix it</task>"},
                {"role": "assistant", "content": written},
                {"role": "user",
                 "content": [
                     {"type": "text", "text": "[read_file for 'a.py'] Result:"},
                     {"type": "text", "text": "x = 1\n"},
                     {"type": "text", "text": "<environment_details>"},
                 ]},
                {"role": "assistant",
                 "content": "<attempt_completion>\n<result>\nFixed.\n</result>\n</attempt_completion>"},
                {"role": "user", "isSummary": True, "content": [{"type": "text", "text": "So far."}]},
            ],
        )  # fmt: skip
        first, last = of(items, AnswerPart)
        assert (first.text, first.reasoning, last.text) == ("Reading.", "I look.", "Fixed.")
        assert (first.calls[0].name, first.calls[0].arguments) == ("read_file", '{"path":"a.py"}')
        (output,) = of(items, Output)
        assert (output.call_id, output.text) == (first.calls[0].id, "x = 1\n")
        assert of(items, Compacted)[0].summary == "So far."
        assert (
            json.loads(next(item.data for item in of(items, DataRecord) if "as written" in item.kind))["text"]
            == written
        )

    def test_the_second_format_of_roo_code(self) -> None:
        items = read(
            ClineReader("roo-code"),
            [
                {"role": "assistant",
                 "content": [
                     {"type": "reasoning", "text": "Hm", "providerOptions": {"a": 1}},
                     {"type": "tool-call", "toolCallId": "t", "toolName": "ls", "input": {}},
                 ]},
                {"role": "tool",
                 "content": [
                     {"type": "tool-result", "toolCallId": "t", "toolName": "ls",
                      "output": {"type": "text", "value": "a.py"}},
                 ]},
                {"type": "reasoning", "encrypted_content": "zz"},
            ],
        )  # fmt: skip
        assert of(items, AnswerPart)[0].calls[0].id == "t"
        assert of(items, Output)[0].text == "a.py"
        assert "reasoning: encrypted" in kinds(items)


class TestPi:
    def test_messages_commands_and_branches(self) -> None:
        usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}}
        items = read(
            PiReader(),
            [
                {"type": "session", "version": 3, "id": "p1", "timestamp": "2026-01-01T00:00:00Z",
                 "cwd": "/home/ann"},
                {"type": "message", "id": "a", "parentId": None,
                 "message": {"role": "user", "content": "Hi"}},
                {"type": "message", "id": "b", "parentId": "a",
                 "message": {"role": "assistant", "provider": "anthropic", "model": "opus", "usage": usage,
                             "stopReason": "toolUse",
                             "content": [
                                 {"type": "toolCall", "id": "t", "name": "bash",
                                  "arguments": {"command": "ls"}},
                             ]}},
                {"type": "message", "id": "c", "parentId": "b",
                 "message": {"role": "toolResult", "toolCallId": "t",
                             "content": [{"type": "text", "text": "a.py"}], "isError": False,
                             "details": {"diff": "+"}}},
                {"type": "message", "id": "d", "parentId": "c",
                 "message": {"role": "bashExecution", "command": "pwd", "output": "/home/ann\n",
                             "exitCode": 0}},
                {"type": "compaction", "id": "e", "parentId": "d", "summary": "So.", "tokensBefore": 50_000,
                 "firstKeptEntryId": "c"},
                {"type": "session_info", "id": "f", "name": "Ports"},
                {"type": "message", "id": "g",
                 "message": {"role": "assistant", "content": [], "stopReason": "aborted"}},
            ],
        )  # fmt: skip
        first, command = of(items, UserMessage)
        assert (first.node, first.text) == ("a", "Hi")
        assert (command.text, command.pasted) == ("$ pwd", (("pwd", "/home/ann\n"),))
        assert of(items, AnswerPart)[0].model == "anthropic/opus"
        assert (of(items, CallUsage)[0].usage.input, of(items, CallUsage)[0].cost) == (8, 0.5)
        assert (of(items, Compacted)[0].summary, of(items, Compacted)[0].tokens) == ("So.", 50_000)
        assert of(items, Title)[0].text == "Ports"
        assert of(items, TurnOver)[0].how == "stopped"
        assert {"session", "toolResult: details", "compaction", "bashExecution"} <= set(kinds(items))


class TestChatMessages:
    def test_messages_of_either_shape(self) -> None:
        items = read(
            ChatMessagesReader(),
            [
                {"role": "system", "content": "Be brief."},
                {"role": "user",
                 "content": [
                     {"type": "text", "text": "Hi"},
                     {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                 ]},
                {"role": "assistant", "content": None,
                 "tool_calls": [
                     {"id": "t", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
                 ]},
                {"role": "tool", "tool_call_id": "t", "content": "a.py"},
                {"role": "assistant", "content": "",
                 "tool_calls": [{"id": "u", "name": "cat", "arguments": '{"p": 1}'}]},
                {"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}},
                {"role": "function", "name": "old", "content": "done"},
            ],
        )  # fmt: skip
        assert of(items, UserMessage)[0].pictures[0].data == png()
        calls = [answer.calls[0] for answer in of(items, AnswerPart)]
        assert [call.name for call in calls] == ["ls", "cat", "old"]
        assert [output.call_id for output in of(items, Output)] == ["t", calls[2].id]
        assert kinds(items) == ["system"]

    def test_one_conversation_a_line(self) -> None:
        line = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]}
        items = read(ChatMessagesReader(), [line, line])
        assert len(of(items, UserMessage)) == 1
        assert kinds(items) == ["another conversation"]

    def test_marks_thoughts_and_failures_of_roo_code(self) -> None:
        image = {"type": "content", "value": [{"type": "media", "data": PNG, "mediaType": "image/png"}]}
        results = [
            {"type": "tool-result", "toolCallId": "t", "output": {"type": "text", "value": "[ERROR] no"}},
            {"type": "tool-result", "toolCallId": "u", "output": {"type": "json", "value": {"a": 1}}},
            {"type": "tool-result", "toolCallId": "v", "output": image},
        ]
        items = read(
            ClineReader("roo-code"),
            [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "id": "rs"},
                {"role": "assistant", "content": [{"type": "text", "text": "Ok."}], "condenseParent": "c1"},
                {"role": "user", "content": "[Sliding window truncation]", "isTruncationMarker": True},
                {"role": "tool", "content": results},
                {"role": "user", "content": [{"type": "file", "path": "a.py", "content": "x = 1"}]},
            ],
        )
        thought, answer = of(items, AnswerPart)
        assert (thought.reasoning, thought.group) == ("Hm", answer.group)
        assert [compacted.summary for compacted in of(items, Compacted)] == [""]
        failed, value, shown = of(items, Output)
        assert (failed.ok, value.text, value.ok) == (False, '{"a":1}', True)
        assert (shown.text, shown.pictures[0].data) == ("", png())
        assert of(items, UserMessage)[0].pasted == (("a.py", "x = 1"),)
        assert kinds(items) == ["reasoning: encrypted", "assistant: fields", "truncation: marker"]


@pytest.mark.parametrize("make", READERS)
def test_a_line_that_is_no_record_is_damaged(make: Callable[[], Reader]) -> None:
    lines = [b"{", b"\xff\xfe\0", b"[1]", b"null", b'"x"', b"[" * 100_000, b'{"a":' * 100_000]
    items = [item for number, raw in enumerate(lines, 1) for item in read_record(make(), Record(number, raw))]
    assert items == [Damaged(record=number) for number in range(1, len(lines) + 1)]


def test_half_a_surrogate_pair_is_no_damage() -> None:
    raw = b'{"role": "user", "content": "cut \\ud83d"}'
    assert [*read_record(ChatMessagesReader(), Record(1, raw))] == [UserMessage(text="cut ?")]


_NAMES = st.sampled_from([
    "type", "message", "role", "content", "payload", "info", "parts", "state", "id", "uuid", "parentUuid",
    "metrics", "tokens", "entry", "say", "metadata", "recipient", "author", "kind", "namespace",
    "isTruncationMarker", "isSummary", "summary", "action", "result", "last_token_usage",
    "internal_chat_message_metadata_passthrough", "content_item_kinds", "error", "value", "path",
    "isSidechain", "timestamp", "tool_calls", "usage", "input", "output", "text", "thinking", "cost",
    "arguments", "call_id", "tool_use_id", "source", "data", "attachment", "subtype", "status",
    "isCompactSummary", "compactMetadata", "toolUseResult", "messages", "time", "ts", "cache",
    "attachments", "image_url", "url", "function", "function_call", "version",
])  # fmt: skip
_WORDS = st.sampled_from([
    "", "user", "assistant", "system", "tool", "message", "session", "compaction", "text", "image",
    "tool_use", "tool_result", "thinking", "toolCall", "toolResult", "response_item", "event_msg",
    "session_meta", "x", "function_call", "function_call_output", "reasoning", "token_count",
    "custom_tool_call", "step-start", "completed", "compact_boundary", "queued_command", "2026-01-01",
    "data:image/png;base64,QQ", "<task>a</task>", "<read_file><path>a</path></read_file>", "compacted",
    "turn_context", "bashExecution", "thread_rolled_back", "local_shell_call", "tool-result", "tool-call",
    "input_image", "step-finish", "9" * 30,
])  # fmt: skip
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=25,
)


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=8), max_size=5), st.integers(0, 5))
def test_no_record_makes_a_reader_fail(records: list[dict[str, Any]], number: int) -> None:
    """Whatever stands where: each reader makes items of it, with texts that can be stored."""
    for item in read(READERS[number](), records):
        for name in item.__struct_fields__:
            value = getattr(item, name)
            assert not isinstance(value, str) or value.encode() is not None


def test_a_message_of_opencode_whose_role_is_an_object_is_kept_as_data() -> None:
    (item,) = read(OpencodeReader(), [{"info": {"id": "m", "role": {"a": 1}}, "parts": []}])
    assert isinstance(item, DataRecord)
    assert not item.is_known


@given(st.binary(max_size=200), st.integers(0, 5))
def test_no_bytes_make_a_reader_fail(raw: bytes, number: int) -> None:
    assert len([*read_record(READERS[number](), Record(1, raw))]) <= 1


@given(st.text() | st.integers() | st.floats() | st.none() | st.lists(st.integers()))
def test_any_time_is_a_valid_date_or_none(value: object) -> None:
    assert 0 <= time_ms(value) < 253_370_764_800_000

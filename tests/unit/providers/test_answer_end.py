"""Calls that a model wrote as text, and texts that only look like it."""

from __future__ import annotations

import json

import pytest

from helix_desktop.providers.answers import is_written_call

TOOLS = frozenset({"read_file", "run_command"})
CALL = json.dumps({"name": "read_file", "arguments": {"path": "a.txt"}})


@pytest.mark.parametrize(
    "answer",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I'll read it first.\n\n```json\n{CALL}\n```\n",
        f"I'll read it first.\n{CALL}",
        f"Two calls:\n```json\n{CALL}\n```\n```json\n{CALL}\n```",
        f"Reading.\n[{CALL}]",
        json.dumps({"type": "function", "function": {"name": "read_file", "arguments": "{}"}}),
        json.dumps({"tool_calls": [{"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}]}),
        json.dumps({"tool": "run_command", "id": "1", "args": {"command": "ls"}}, indent=2),
        f"<tool_call>\n{CALL}\n</tool_call>",
        "Let me look.\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>",
        f"[TOOL_CALLS][{CALL}]",
        '<|python_tag|>read_file.call(path="a.txt")',
        '<function_calls><invoke name="read_file"><parameter name="path">a</parameter></invoke>',
    ],
)
def test_a_call_in_the_text_is_seen(answer: str) -> None:
    assert is_written_call(answer, TOOLS)
    assert not is_written_call(answer, frozenset())
    assert not is_written_call(answer, frozenset({"other"}))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Such a call is written `<tool_call>{...}</tool_call>`; read_file takes a path.",
        f"A call looks like this:\n```json\n{CALL}\n```\nThe server reads the name first.",
        'The file is:\n```json\n{"name": "read_file", "version": "1"}\n```',
        'The file is:\n```json\n{"name": "my-package", "arguments": {"a": 1}}\n```',
        "\n".join(['{"name": "read_file", "rows": [{}]}'] * 3000),
    ],
)
def test_a_text_about_calls_is_a_text(answer: str) -> None:
    assert not is_written_call(answer, TOOLS)

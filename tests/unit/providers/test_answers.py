"""Why answers end, and thinking between tags."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.answers import ThinkingTags, is_written_call, split_thinking

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


@pytest.mark.parametrize(
    ("answer", "text", "thought"),
    [
        ("<think>plan</think>\n\nDone.", "Done.", "plan"),
        ("\n<thinking>plan</thinking>Done.", "Done.", "plan"),
        ("<think>one</think>\n<think>two</think>Done.", "Done.", "onetwo"),
        ("[THINK]plan[/THINK]Done.", "Done.", "plan"),
        ("plan</think>Done.", "Done.", "plan"),
        ("<think>never closed", "", "never closed"),
        ("Tags such as <think>x</think> are thinking.", "Tags such as <think>x</think> are thinking.", ""),
        ("It closes with `</think>`.", "It closes with `</think>`.", ""),
        (" <thi", " <thi", ""),
        ("<p>hello</p>", "<p>hello</p>", ""),
        ("<Thinking>plan</THINKING>Done.", "Done.", "plan"),
        ("plan</Think>Done.", "Done.", "plan"),
        ("<thought>plan</thought>Done.", "Done.", "plan"),
        ("<reasoning>plan</reasoning>Done.", "Done.", "plan"),
        ("<|think|>plan<|/think|>Done.", "Done.", "plan"),
        (
            "<|begin_of_thought|>plan<|end_of_thought|>\n<|begin_of_solution|>Done.<|end_of_solution|>",
            "Done.",
            "plan",
        ),
        ("<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>Done.<|END_RESPONSE|>", "Done.", "plan"),
        (
            "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
            "Done.",
            "plan",
        ),
        ("<|channel|>final<|message|>Done.", "Done.", ""),
        ("<think>a <think>b</think> c</think>Done.", "Done.", "a <think>b</think> c"),
        ("<think>I could write <think> here</think>Done.", "Done.", "I could write <think> here"),
        ("<think>open <think>and open", "", "open <think>and open"),
    ],
)
def test_thinking_is_told_from_text(answer: str, text: str, thought: str) -> None:
    assert split_thinking(answer) == (text, thought)


@given(
    st.data(),
    st.sampled_from(
        [
            "<think>a plan</think>\n\nText",
            "  Text <think>",
            "<think>x</think><thi",
            "<Think>a <think>b</think> c</think>d",
            "<think>a <think>b</think> c",
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>T<|return|>",
        ]
    ),
)
def test_pieces_of_any_length_give_the_same(data: st.DataObject, answer: str) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=8)))
    tags, pairs = ThinkingTags(), []
    for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True):
        pairs.append(tags.add(answer[start:end]))
    pairs.append(tags.finish())
    assert tuple("".join(parts) for parts in zip(*pairs, strict=True)) == split_thinking(answer)

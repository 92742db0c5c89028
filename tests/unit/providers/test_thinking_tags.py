"""Thinking between tags in the text of an answer, however the text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.answers import ThinkingTags, split_thinking


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

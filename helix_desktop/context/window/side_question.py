"""The text of a side question, which the user asks beside the conversation."""

from __future__ import annotations

OPENING = "The user asks you something beside your work."
"""How its prompt begins."""


def side_question_text(prompt: str, question: str) -> str:
    """Return what is sent behind the present window."""
    return f"{prompt.strip()}\n{question}"


def question_in(text: str) -> str:
    """Return the question of such a text, its last line or lines; empty if it is none."""
    return text.partition("The user's question:\n")[2].strip() if text.startswith(OPENING) else ""
